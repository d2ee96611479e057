// See spread.h. A trial is a sample of ordinary values with something in one of the inputs that is
// not finite.
#include "search/equivalence/spread.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/stop_scope.h"
#include "ops/onnx/onnx_reading.h"
#include "runtime/execution/executor.h"
#include "search/equivalence/comparison.h"
#include "search/equivalence/cut.h"
#include "search/equivalence/sample_inputs.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Literal;
using core::Result;

/// Inputs that get a single element each; a model with more of them takes turns by its seed.
constexpr std::size_t kMostInputs = 2;

/// The literal with that value in elements first … first + count − 1.
Literal replaced(const Literal& literal, std::size_t first, std::size_t count, double value) {
  const Literal element = ops::filled_literal(literal.data_type(), {1}, value);
  const std::size_t size = core::size_bytes(literal.data_type());
  std::vector<std::byte> bytes(literal.bytes().begin(), literal.bytes().end());
  for (std::size_t k = first; k < first + count; ++k)
    std::memcpy(bytes.data() + k * size, element.bytes().data(), size);
  return Literal::copy(literal.data_type(), literal.dims(), bytes);
}

Result<runtime::Executable> spread_executable(const Graph& graph, runtime::Backend& backend) {
  return runtime::Executable::make(
      graph, backend, {.fusion = runtime::Fusion::kFull, .hold_shared_weights = false});
}

}  // namespace

struct SpreadCheck::State {
  struct Trial {
    std::size_t input = 0;
    bool is_item = false;  ///< All of one item of the batch; otherwise one element.
    double value = 0;
  };

  State(const Graph& graph, runtime::Backend& device, std::uint64_t number)
      : original(graph), backend(device), seed(number) {}

  /// Some elements of one input, and all of one item where the batch has several.
  void plan_trials() {
    std::vector<std::size_t> real;
    const auto inputs = original.inputs();  // not those that stand for opaque nodes
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (core::is_floating(cut.graph.tensor(cut.graph.inputs()[k]).type.data_type))
        real.push_back(k);
    for (std::size_t k = 0; k < std::min(real.size(), kMostInputs); ++k) {
      const std::size_t input = real[(seed + k) % real.size()];
      const auto dims = core::concrete(cut.graph.tensor(cut.graph.inputs()[input]).type.shape);
      if (!dims || core::element_count(*dims) < 2) continue;
      constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
      constexpr double kInfinite = std::numeric_limits<double>::infinity();
      if (dims->size() > 1 && dims->front() > 1) trials.push_back({input, true, kNotANumber});
      trials.push_back({input, false, kNotANumber});
      trials.push_back({input, false, kInfinite});
    }
  }

  std::vector<Literal> inputs(int number) const {
    const Trial& trial = trials[static_cast<std::size_t>(number)];
    std::vector<Literal> all = sample_inputs(cut.graph, SampleKind::kNormal, seed);
    Literal& input = all[trial.input];
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(number));
    const auto count = static_cast<std::size_t>(input.count());
    const std::size_t run =
        trial.is_item ? count / static_cast<std::size_t>(input.dims().front()) : 1;
    input = replaced(input, run * (random() % (count / run)), run, trial.value);
    return all;
  }

  Result<std::vector<std::vector<double>>> expected(int trial) {
    if (const auto known = results.find(trial); known != results.end()) return known->second;
    SOAPSTONE_ASSIGN_OR_RETURN(const auto literals, executable->run(inputs(trial)));
    return results.emplace(trial, to_doubles(literals)).first->second;
  }

  Result<std::optional<Difference>> compare(runtime::Executable& other, int trial) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto before, expected(trial));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto literals, other.run(inputs(trial)));
    const auto after = to_doubles(literals);
    for (std::size_t k = 0; k < before.size(); ++k) {
      for (std::size_t i = 0; i < before[k].size(); ++i) {
        if (!std::isfinite(before[k][i]) || std::isfinite(after[k][i])) continue;
        const Trial& what = trials[static_cast<std::size_t>(trial)];
        return std::optional(
            Difference{trial,
                       fmt::format("{} in {} of input {}", what.value,
                                   what.is_item ? "one item" : "one element",
                                   original.tensor(original.inputs()[what.input]).name),
                       cut.output_names[k],
                       fmt::format("element {} is {}, and was {}", i, after[k][i], before[k][i])});
      }
    }
    return std::optional<Difference>();
  }

  const Graph& original;
  runtime::Backend& backend;
  std::uint64_t seed;
  CutGraph cut;
  std::optional<runtime::Executable> executable;
  std::vector<Trial> trials;
  std::map<int, std::vector<std::vector<double>>> results;  ///< Those of the original, by trial.
};

Result<SpreadCheck> SpreadCheck::make(const Graph& original, runtime::Backend& backend,
                                      std::uint64_t seed) {
  auto state = std::make_unique<State>(original, backend, seed);
  SOAPSTONE_ASSIGN_OR_RETURN(state->cut, cut_at_opaque(original));
  SOAPSTONE_ASSIGN_OR_RETURN(state->executable, spread_executable(state->cut.graph, backend));
  state->plan_trials();
  return SpreadCheck(std::move(state));
}

SpreadCheck::SpreadCheck(std::unique_ptr<State> state) : state_(std::move(state)) {}
SpreadCheck::~SpreadCheck() = default;
SpreadCheck::SpreadCheck(SpreadCheck&&) noexcept = default;
SpreadCheck& SpreadCheck::operator=(SpreadCheck&&) noexcept = default;

Result<std::optional<Difference>> SpreadCheck::run(const Graph& other,
                                                   const core::StopToken& stop) {
  if (state_->trials.empty()) return std::optional<Difference>();
  SOAPSTONE_ASSIGN_OR_RETURN(const CutGraph cut, cut_at_opaque(other));
  SOAPSTONE_ASSIGN_OR_RETURN(auto executable, spread_executable(cut.graph, state_->backend));
  for (int trial = 0; trial < static_cast<int>(state_->trials.size()); ++trial) {
    if (stop.stop_requested()) break;
    const core::StopScope scope(&stop);
    auto difference = state_->compare(executable, trial);
    if (scope.has_interrupted()) break;
    if (!difference || *difference) return difference;
  }
  return std::optional<Difference>();
}

Result<bool> SpreadCheck::differs_on(const Graph& other, int trial) {
  SOAPSTONE_ASSIGN_OR_RETURN(const CutGraph cut, cut_at_opaque(other));
  SOAPSTONE_ASSIGN_OR_RETURN(auto executable, spread_executable(cut.graph, state_->backend));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto difference, state_->compare(executable, trial));
  return difference.has_value();
}

}  // namespace soapstone::search
