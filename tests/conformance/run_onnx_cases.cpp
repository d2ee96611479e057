// Runs cases of ONNX's backend test suite and prints what came of each as a line of JSON:
//
//   run-onnx-cases reference|cpu < CASES
//
// A line of CASES is a name, a folder with model.onnx and test_data_set_0, a relative and an
// absolute tolerance, with tabs between them, and 1 where the signs of zeros count too. A case is
// not applicable if something in it lies outside what Soapstone runs: an operator, an element type,
// a shape that depends on data.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "cpu/cpu_backend.h"
#include "models/onnx/format/onnx_model.h"
#include "models/onnx/format/tensor_file.h"
#include "runtime/execution/executor.h"

namespace soapstone {
namespace {

namespace fs = std::filesystem;
using core::Literal;
using core::Result;
using core::TensorId;

struct Case {
  std::string name;
  fs::path folder;
  double rtol = 0, atol = 0;
  bool signed_zeros = false;
};

struct Verdict {
  std::string status, reason;
};
Verdict passed() { return {"passed", ""}; }
Verdict failed(std::string reason) { return {"failed", std::move(reason)}; }
Verdict not_applicable(std::string reason) { return {"not_applicable", std::move(reason)}; }
/// An error of unsupported models makes the case not applicable; any other error on a valid model
/// is a fault.
Verdict verdict_of(const core::Error& error) {
  if (error.code == core::ErrorCode::kUnsupported) return not_applicable(error.to_string());
  return failed(error.to_string());
}

/// input_0.pb, input_1.pb … of the case, or output_….
Result<std::vector<Literal>> read_tensors(const fs::path& folder, const std::string& prefix) {
  std::vector<Literal> tensors;
  for (std::size_t i = 0;; ++i) {
    const fs::path path = folder / "test_data_set_0" / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(path)) return tensors;
    SOAPSTONE_ASSIGN_OR_RETURN(Literal tensor, models::read_tensor(path));
    tensors.push_back(std::move(tensor));
  }
}

/// Open dimensions are those of the given inputs. A model that leaves none open ignores them, so
/// it is read without them first, to learn the names of its inputs.
Result<models::OnnxModel> read_model(const fs::path& path, const std::vector<Literal>& inputs) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto closed,
                             models::read_onnx(path, {.shapes = {}, .assume_ones = true}));
  const auto ids = closed.graph.inputs();
  if (ids.size() != inputs.size()) {
    return core::invalid_input(
        fmt::format("has {} inputs, the data has {}", ids.size(), inputs.size()));
  }
  models::ImportOptions options;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    options.shapes[closed.graph.tensor(ids[i]).name] = inputs[i].dims();
  }
  return models::read_onnx(path, options);
}

bool close(double got, double wanted, const Case& test) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted);
  if (test.signed_zeros && got == 0 && wanted == 0)
    return std::signbit(got) == std::signbit(wanted);
  return got == wanted || std::abs(got - wanted) <= test.atol + test.rtol * std::abs(wanted);
}

/// Says what is wrong with an output; empty if nothing is.
std::string difference(const Literal& got, const Literal& wanted, const Case& test) {
  if (got.data_type() != wanted.data_type()) {
    return fmt::format("type {} where {} is right", core::to_string(got.data_type()),
                       core::to_string(wanted.data_type()));
  }
  if (got.dims() != wanted.dims()) {
    return fmt::format("shape {} where {} is right", core::to_string(got.dims()),
                       core::to_string(wanted.dims()));
  }
  const auto ours = got.to_doubles(), theirs = wanted.to_doubles();
  const bool exact = !core::is_floating(got.data_type());
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (exact ? ours[i] == theirs[i] : close(ours[i], theirs[i], test)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  return fmt::format("{} of {} elements differ; element {} is {} where {} is right", wrong,
                     ours.size(), first, ours[first], theirs[first]);
}

Verdict compare(const std::vector<Literal>& got, const std::vector<Literal>& wanted,
                const Case& test) {
  if (got.size() != wanted.size()) {
    return failed(fmt::format("{} outputs where {} are right", got.size(), wanted.size()));
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string wrong = difference(got[i], wanted[i], test);
    if (!wrong.empty()) return failed(fmt::format("output {}: {}", i, wrong));
  }
  return passed();
}

/// Why a graph cannot be run at all; empty if it can be.
std::string why_not(const models::OnnxModel& model) {
  for (const auto& node : model.opaque_nodes) {
    return fmt::format("opaque {}: {}", node.op_type, node.reason);
  }
  for (const auto ids : {model.graph.inputs(), model.graph.outputs()}) {
    for (const TensorId id : ids) {
      const auto& type = model.graph.tensor(id).type;
      if (core::size_bytes(type.data_type) == 0) return "elements that are no numbers";
      if (!type.shape_known || !core::concrete(type.shape)) return "a shape that is not known";
    }
  }
  return "";
}

Verdict run(const Case& test, runtime::Backend& backend) {
  auto inputs = read_tensors(test.folder, "input");
  if (!inputs) return not_applicable(inputs.error().message);
  const auto wanted = read_tensors(test.folder, "output");
  if (!wanted) return not_applicable(wanted.error().message);
  const auto model = read_model(test.folder / "model.onnx", *inputs);
  if (!model) return verdict_of(model.error());
  if (const auto reason = why_not(*model); !reason.empty()) return not_applicable(reason);
  auto executable = runtime::Executable::make(model->graph, backend);
  if (!executable) return verdict_of(executable.error());
  const auto got = executable->run(*inputs);
  if (!got) return verdict_of(got.error());
  return compare(*got, *wanted, test);
}

std::string json_string(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      json += fmt::format("\\u{:04x}", c);
    } else {
      json += c;
    }
  }
  return json + '"';
}

Result<std::unique_ptr<runtime::Backend>> make_backend(const std::string& name) {
  if (name == "reference") return runtime::make_reference_backend();
  if (name == "cpu") return cpu::make_cpu_backend();
  return core::Error{core::ErrorCode::kUsage, "there is no backend " + name, {}, {}};
}

int run_all(const std::string& backend_name) {
  const auto backend = make_backend(backend_name);
  if (!backend) {
    std::cerr << "run-onnx-cases: " << backend.error().to_string() << '\n';
    return static_cast<int>(backend.error().code);
  }
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream fields(line);
    Case test;
    std::string folder;
    std::getline(fields, test.name, '\t');
    std::getline(fields, folder, '\t');
    test.folder = folder;
    fields >> test.rtol >> test.atol >> test.signed_zeros;
    const Verdict verdict = run(test, **backend);
    // Flushed, so that after a crash it is known which case did it.
    std::cout << fmt::format(R"({{"case": {}, "status": "{}", "reason": {}}})",
                             json_string(test.name), verdict.status, json_string(verdict.reason))
              << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace soapstone

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: run-onnx-cases reference|cpu < CASES\n";
    return 2;
  }
  return soapstone::run_all(argv[1]);
}
