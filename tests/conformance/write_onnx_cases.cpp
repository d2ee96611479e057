// Writes models for tests/conformance/opset_test.py and contrib_test.py, which run them elsewhere:
//
//   write-onnx-cases copies < PATHS   reads each model and writes it twice beside itself: as
//                                     PATH.kept, with nodes as they were read, and as PATH.mapped,
//                                     with every node written by its operator's mapping
//   write-onnx-cases examples FOLDER  writes the example of every operator for every opset
//   write-onnx-cases contrib FOLDER   writes the examples of composite operators, each without and
//                                     with operators of ONNX Runtime's own
//
// Prints a line of JSON for each model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/text/text.h"
#include "models/onnx/format/onnx_model.h"
#include "models/onnx/reading/onnx_document.h"
#include "models/onnx/writing/contrib.h"
#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "tests/ops/op_examples.h"
#include "tests/ops/op_test.h"

namespace soapstone {
namespace {

using nlohmann::ordered_json;

void print(const ordered_json& line) { std::cout << line.dump() << std::endl; }

ordered_json outcome(const core::Status& status) {
  if (status) return {{"status", "written"}};
  const bool refused = status.error().code == core::ErrorCode::kUnsupported;
  return {{"status", refused ? "refused" : "failed"}, {"reason", status.error().to_string()}};
}

ordered_json copy(const std::string& path) {
  ordered_json line{{"path", path}};
  const auto model = models::read_onnx(path);
  if (!model) {
    line["read"] = outcome(model.error());
    return line;
  }
  line["read"] = outcome(core::Done{});
  line["opaque"] = ordered_json::array();
  for (const auto& node : model->opaque_nodes) line["opaque"].push_back(node.reason);
  line["kept"] = outcome(models::write_onnx(model->graph, *model->header, path + ".kept"));
  line["mapped"] =
      outcome(models::write_onnx(model->graph, *model->header, path + ".mapped", {false}));
  return line;
}

std::size_t result_count(const std::string& types) {
  std::size_t count = 1;
  for (std::size_t at = 0; (at = types.find("  ", at)) != std::string::npos; at += 2) ++count;
  return count;
}

/// Numbers that JSON can hold: no example yields others.
std::vector<std::vector<double>> plain(const std::vector<ops::test::Values>& values) {
  return {values.begin(), values.end()};
}

/// Writes an example once for each opset.
void write_example(const ops::test::OpExample& example, int first, int last, bool contrib,
                   const std::string& prefix) {
  const core::Graph graph =
      ops::test::graph_of(example.inputs, example.call, result_count(example.results));
  const auto inputs = ops::test::random_inputs(graph, 3, example.positive);
  const auto outputs = ops::test::run(graph, inputs);
  for (int opset = first; opset <= last; ++opset) {
    const std::string path = fmt::format("{}-{}.onnx", prefix, opset);
    ordered_json line{{"call", example.call}, {"types", example.inputs}, {"opset", opset}};
    line["path"] = path;
    line["contrib"] = contrib;
    auto header = models::new_header(opset);
    if (contrib) header = models::with_contrib(*header);
    line["written"] = outcome(models::write_onnx(graph, *header, path));
    line["inputs"] = plain(inputs);
    line["outputs"] = plain(outputs);
    print(line);
  }
}

void write_examples(const std::string& folder) {
  int number = 0;
  for (const ops::test::OpExample& example : ops::test::op_examples())
    write_example(example, models::kOldestOpset, models::kNewestOpset, false,
                  fmt::format("{}/{}", folder, number++));
}

void write_contrib(const std::string& folder) {
  constexpr int kOpset = 17;
  int number = 0;
  for (const ops::test::OpExample& example : ops::test::composite_examples())
    for (const bool contrib : {false, true})
      write_example(example, kOpset, kOpset, contrib, fmt::format("{}/{}", folder, number++));
}

}  // namespace
}  // namespace soapstone

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "copies" && argc == 2) {
    for (std::string line; std::getline(std::cin, line);) soapstone::print(soapstone::copy(line));
    return 0;
  }
  if (mode == "contrib" && argc == 3) {
    soapstone::write_contrib(argv[2]);
    return 0;
  }
  if (mode == "examples" && argc == 3) {
    soapstone::write_examples(argv[2]);
    return 0;
  }
  std::cerr
      << "usage: write-onnx-cases copies < PATHS, or write-onnx-cases examples|contrib FOLDER\n";
  return 2;
}
