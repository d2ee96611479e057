// check-device [cuda:0]: runs every operator's examples in three types, and random graphs, on a
// device and compares what they compute with the operators' definitions.
#include <cmath>
#include <string>
#include <vector>

#include "ops/evaluation/evaluate.h"
#include "tests/device/device.h"
#include "tests/ops/op_examples.h"
#include "tests/runtime/random_graph_text.h"
#include "tests/runtime/typed_graphs.h"

namespace {

using namespace soapstone;
using core::DataType;
using runtime::test::inputs_of;
using runtime::test::text_over;
using runtime::test::tolerance_of;

constexpr unsigned kRandomGraphs = 300;

class Checks {
 public:
  explicit Checks(runtime::Backend& backend) : backend_(backend) {}

  void check(const std::string& text, double tolerance, bool positive) {
    ++graphs_;
    if (const std::string what = fault_of(text, tolerance, positive); !what.empty()) {
      ++wrong_;
      std::printf("WRONG: %s\n%s\n", what.c_str(), text.c_str());
    }
  }
  int conclude() const {
    std::printf("%s: %d graphs, %d wrong, %d not supported\n", backend_.device().key().c_str(),
                graphs_, wrong_, unsupported_);
    if (unsupported_ > graphs_ / 20) std::printf("WRONG: a device that runs hardly anything\n");
    return wrong_ > 0 || unsupported_ > graphs_ / 20 ? device::kWrong : 0;
  }

 private:
  std::string fault_of(const std::string& text, double tolerance, bool positive) {
    const auto graph = device::parse(text);
    if (!graph) return graph.error().to_string();
    auto program = runtime::Executable::make(*graph, backend_);
    if (!program && program.error().code == core::ErrorCode::kUnsupported) {
      ++unsupported_;
      return {};
    }
    if (!program) return program.error().to_string();
    const auto inputs = inputs_of(*graph, positive);
    std::vector<std::vector<double>> values;
    for (const core::Literal& input : inputs) values.push_back(input.to_doubles());
    const auto wanted = ops::evaluate_graph<double>(*graph, values);
    if (!wanted) return wanted.error().to_string();
    const auto actual = program->run(inputs);
    if (!actual) return actual.error().to_string();
    for (std::size_t k = 0; k < wanted->size(); ++k)
      if (const std::string what = difference((*actual)[k].to_doubles(), (*wanted)[k], tolerance);
          !what.empty())
        return what;
    return {};
  }

  static std::string difference(const std::vector<double>& actual,
                                const std::vector<double>& wanted, double tolerance) {
    if (actual.size() != wanted.size()) return "another number of elements";
    for (std::size_t i = 0; i < actual.size(); ++i)
      if (!(std::fabs(actual[i] - wanted[i]) <= tolerance * std::max(1.0, std::fabs(wanted[i]))))
        return "element " + std::to_string(i) + " is " + std::to_string(actual[i]) +
               " instead of " + std::to_string(wanted[i]);
    return {};
  }

  runtime::Backend& backend_;
  int graphs_ = 0, wrong_ = 0, unsupported_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fprintf(stderr, "usage: check-device [cuda:0|reference]\n");
    return device::kUsage;
  }
  const auto backend = device::open(argc > 1 ? argv[1] : "cuda:0");
  if (!backend) return device::kNoDevice;
  Checks checks(*backend);
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16})
    for (const auto& example : ops::test::op_examples())
      checks.check(text_over(example.graph_text(), type), tolerance_of(type), example.positive);
  for (unsigned seed = 0; seed < kRandomGraphs; ++seed)
    checks.check(runtime::test::RandomGraphText(seed).make(4 + seed % 12), 1e-3, false);
  return checks.conclude();
}
