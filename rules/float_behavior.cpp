// See float_behavior.h.
#include "rules/float_behavior.h"

#include <algorithm>
#include <cmath>

#include "ops/evaluate.h"
#include "ops/registry.h"
#include "rules/noise.h"
#include "rules/sample.h"

namespace soapstone::rules {
namespace {

using Tensor = std::vector<double>;
using Values = std::vector<Tensor>;

struct Inputs {
  double magnitude;
  bool positive;
  bool integers = false;  ///< Few of them, so that some are equal; not 0, which has a sign.
};
/// Large enough for exp to overflow in f32, too small for a polynomial of small degree to do so.
constexpr double kLarge = 200;
/// The largest are there to get beyond bounds such as those of a clip.
constexpr Inputs kInputs[] = {{1, false},      {1, true},    {0.01, false}, {4, false, true},
                              {kLarge, false}, {1e7, false}, {1e13, false}};
/// Integers may be beyond such bounds too.
constexpr std::int64_t kLargestInteger = 9;

double rounded(double value) { return static_cast<double>(static_cast<float>(value)); }

/// A double in [0, 1) with 53 random bits.
double unit(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

Values draw(const Graph& side, const Inputs& wanted, Random& random) {
  Values inputs;
  for (TensorId id : side.inputs()) {
    const core::TensorType& type = side.tensor(id).type;
    const auto count = static_cast<std::size_t>(core::element_count(*core::concrete(type.shape)));
    Tensor values(count);
    for (double& v : values) {
      const double low = wanted.positive ? 0.1 : -1;
      v = rounded(wanted.magnitude * (low + (1 - low) * unit(random)));
      if (wanted.integers) v = std::round(v) == 0 ? 1 : std::round(v);
      if (type.data_type == core::DataType::kBool)
        v = static_cast<double>(random.between(0, 1));
      else if (!core::is_floating(type.data_type))
        v = static_cast<double>(random.between(-kLargestInteger, kLargestInteger));
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

double largest(const Tensor& values) {
  double most = 0;
  for (double v : values)
    if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  return most;
}

/// One side compiled node by node, so that results may be rounded in between.
class Side {
 public:
  explicit Side(const Graph& graph) : graph_(graph) {
    for (NodeId id : graph.order()) {
      std::vector<core::Dims> dims;
      for (TensorId input : graph.node(id).inputs)
        dims.push_back(input.valid() ? *core::concrete(graph.tensor(input).type.shape)
                                     : core::Dims());
      programs_.emplace_back(ops::semantics_of(graph, id), dims);
    }
  }

  /// `largest_seen` grows to the largest finite number on the way.
  Values run(const Values& inputs, bool round, double& largest_seen) const {
    std::vector<Tensor> values(graph_.tensor_bound());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (graph_.contains(TensorId(i)) && graph_.tensor(TensorId(i)).value)
        values[i] = graph_.tensor(TensorId(i)).value->to_doubles();
    for (std::size_t k = 0; k < inputs.size(); ++k) values[graph_.inputs()[k].index()] = inputs[k];
    for (std::size_t n = 0; n < programs_.size(); ++n) run_node(n, values, round);
    for (const Tensor& tensor : values) largest_seen = std::max(largest_seen, largest(tensor));
    Values outputs;
    for (TensorId id : graph_.outputs()) outputs.push_back(values[id.index()]);
    return outputs;
  }

 private:
  void run_node(std::size_t n, std::vector<Tensor>& values, bool round) const {
    const core::Node& node = graph_.node(graph_.order()[n]);
    std::vector<std::span<const double>> inputs;
    for (TensorId id : node.inputs)
      inputs.push_back(id.valid() ? std::span<const double>(values[id.index()])
                                  : std::span<const double>());
    std::vector<std::span<double>> outputs;
    for (TensorId id : node.outputs) {
      const auto dims = *core::concrete(graph_.tensor(id).type.shape);
      values[id.index()].resize(static_cast<std::size_t>(core::element_count(dims)));
      outputs.push_back(values[id.index()]);
    }
    programs_[n].run(inputs, outputs);
    if (round)
      for (std::span<double> output : outputs)
        std::ranges::transform(output, output.begin(), rounded);
  }

  const Graph& graph_;
  std::vector<ops::CompiledSemantics<double>> programs_;
};

/// Beyond the square root of the largest double.
constexpr double kNearOverflow = 1e150;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool both_finite(double a, double b) { return std::isfinite(a) && std::isfinite(b); }

void compare_rounded(const Tensor& source, const Tensor& target, double magnitude,
                     FloatObservation& seen) {
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (same(source[i], target[i])) continue;
    const bool range = magnitude == kLarge && !both_finite(source[i], target[i]);
    seen.behavior = std::max(seen.behavior,
                             range ? FloatBehavior::kChangesRange : FloatBehavior::kReassociates);
  }
}

/// Of the runs in doubles. An overflow that only one side has, as exp(1/x) has for small x, changes
/// the range, and so does a source without a value, where nothing is promised of the target; large
/// inputs are left to the rounded runs. What rounding the largest number on the
/// way can do is no difference.
void find_difference(const Tensor& source, const Tensor& target, std::size_t output,
                     double magnitude, double largest_seen, FloatObservation& seen) {
  const double tolerance =
      std::max(1e-7 * std::max(largest(source), largest(target)), 1e-13 * largest_seen);
  for (std::size_t i = 0; i < source.size() && !seen.difference; ++i) {
    const double a = source[i], b = target[i];
    const bool finite = both_finite(a, b);
    if (same(a, b) || (finite && std::fabs(a - b) <= tolerance)) continue;
    if (!std::isfinite(a) || (!finite && largest_seen > kNearOverflow)) {
      seen.behavior = FloatBehavior::kChangesRange;
    } else if (finite || magnitude < kLarge) {
      seen.difference = FloatDifference{output, i, a, b};
    }
  }
}

/// Whether no rounding on the way explains the difference.
bool survives_noise(const Rule& sides, const Values& inputs, const FloatDifference& difference,
                    std::uint64_t seed) {
  const auto source = run_with_noise(sides.source, inputs, seed),
             target = run_with_noise(sides.target, inputs, seed);
  return differ_beyond_noise(source.outputs[difference.output][difference.element],
                             target.outputs[difference.output][difference.element]);
}

}  // namespace

FloatObservation observe_floats(const Rule& sides, std::uint64_t seed) {
  Random random(seed);
  FloatObservation seen;
  const Side source(sides.source), target(sides.target);
  for (const Inputs& wanted : kInputs) {
    const Values inputs = draw(sides.source, wanted, random);
    for (bool round : {false, true}) {
      if (round && wanted.magnitude > kLarge) continue;
      const bool known = seen.difference.has_value();
      double largest_seen = 0;
      const Values left = source.run(inputs, round, largest_seen);
      const Values right = target.run(inputs, round, largest_seen);
      for (std::size_t k = 0; k < left.size(); ++k)
        if (round)
          compare_rounded(left[k], right[k], wanted.magnitude, seen);
        else
          find_difference(left[k], right[k], k, wanted.magnitude, largest_seen, seen);
      if (!known && seen.difference &&
          !survives_noise(sides, inputs, *seen.difference, random.next()))
        seen.difference.reset();
    }
  }
  return seen;
}

}  // namespace soapstone::rules
