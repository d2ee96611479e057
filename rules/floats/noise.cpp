// See noise.h.
#include "rules/floats/noise.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/definition/registry.h"
#include "rules/sampling/sample.h"

namespace soapstone::rules {
namespace {

using Tensor = std::vector<double>;

constexpr int kRuns = 8;
/// Relative, of constants.
constexpr double kConstant = 0x1p-24;

/// By how much, relative, what is computed is moved; and which numbers have so few digits that sums
/// and products have them exactly: below `largest`, multiples of 1/scale.
struct Noise {
  double relative, scale, largest;
};
constexpr Noise kDoubleNoise{0x1p-46, 0x1p16, 0x1p40}, kSingleNoise{0x1p-18, 0x1p6, 0x1p12};

double moved(double value, double by, const Noise& noise, Random& random) {
  const double scaled = value * noise.scale;
  const bool exact = std::fabs(value) < noise.largest && scaled == std::floor(scaled);
  if (exact || !std::isfinite(value)) return value;
  const double unit = static_cast<double>(random.next() >> 11) * 0x1p-53;
  return value * (1 + by * (2 * unit - 1));
}

class NoisySide {
 public:
  NoisySide(const Graph& graph, const Noise& noise) : graph_(graph), noise_(noise) {
    for (NodeId id : graph.order()) {
      std::vector<core::Dims> dims;
      for (TensorId input : graph.node(id).inputs)
        dims.push_back(input.valid() ? *core::concrete(graph.tensor(input).type.shape)
                                     : core::Dims());
      programs_.emplace_back(ops::semantics_of(graph, id), dims);
    }
  }

  /// None: an operator does not admit what it was given.
  std::optional<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, Random& random) const {
    std::vector<Tensor> values(graph_.tensor_bound());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const TensorId id(i);
      if (!graph_.contains(id) || !graph_.tensor(id).value) continue;
      values[i] = graph_.tensor(id).value->to_doubles();
      move_all(id, kConstant, values[i], random);
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) values[graph_.inputs()[k].index()] = inputs[k];
    for (std::size_t n = 0; n < programs_.size(); ++n)
      if (!run_node(n, values, random)) return std::nullopt;
    std::vector<Tensor> outputs;
    for (TensorId id : graph_.outputs()) outputs.push_back(values[id.index()]);
    return outputs;
  }

 private:
  void move_all(TensorId id, double by, Tensor& tensor, Random& random) const {
    if (!core::is_floating(graph_.tensor(id).type.data_type)) return;
    for (double& value : tensor) value = moved(value, by, noise_, random);
  }

  bool run_node(std::size_t n, std::vector<Tensor>& values, Random& random) const {
    const core::Node& node = graph_.node(graph_.order()[n]);
    std::vector<std::span<const double>> inputs;
    for (TensorId id : node.inputs)
      inputs.push_back(id.valid() ? std::span<const double>(values[id.index()])
                                  : std::span<const double>());
    std::vector<std::span<double>> outputs;
    for (TensorId id : node.outputs) {
      const auto dims = *core::concrete(graph_.tensor(id).type.shape);
      values[id.index()].resize(static_cast<std::size_t>(core::element_count(dims)));
      outputs.emplace_back(values[id.index()]);
    }
    if (!programs_[n].run(inputs, outputs)) return false;
    for (TensorId id : node.outputs) move_all(id, noise_.relative, values[id.index()], random);
    return true;
  }

  const Graph& graph_;
  const Noise& noise_;
  std::vector<ops::CompiledSemantics<double>> programs_;
};

void add(double value, NoisyOutputs::Element& element) {
  if (!std::isfinite(value)) {
    element.finite = false;
    return;
  }
  element.least = element.missing ? value : std::min(element.least, value);
  element.most = element.missing ? value : std::max(element.most, value);
  element.missing = false;
}

}  // namespace

NoisyOutputs run_with_noise(const Graph& side, const std::vector<std::vector<double>>& inputs,
                            std::uint64_t seed, NoisePrecision precision) {
  const NoisySide noisy(side, precision == NoisePrecision::kDouble ? kDoubleNoise : kSingleNoise);
  Random random(seed);
  NoisyOutputs result;
  for (TensorId id : side.outputs())
    result.outputs.emplace_back(
        static_cast<std::size_t>(core::element_count(*core::concrete(side.tensor(id).type.shape))));
  for (int run = 0; run < kRuns; ++run) {
    const auto outputs = noisy.run(inputs, random);
    for (std::size_t k = 0; k < result.outputs.size(); ++k)
      for (std::size_t i = 0; i < result.outputs[k].size(); ++i)
        add(outputs ? (*outputs)[k][i] : std::nan(""), result.outputs[k][i]);
  }
  return result;
}

namespace {

/// A difference counts if it is so many times as large as what noise does.
constexpr double kMargin = 8;

}  // namespace

bool is_steady(const NoisyOutputs::Element& element, double difference) {
  return element.finite && kMargin * (element.most - element.least) < difference;
}

bool differ_beyond_noise(const NoisyOutputs::Element& source, const NoisyOutputs::Element& target) {
  if (source.finite && target.finite) {
    const double apart = std::max(source.least - target.most, target.least - source.most);
    const double spread = (source.most - source.least) + (target.most - target.least);
    return apart > kMargin * spread;
  }
  return (source.finite && target.missing) || (source.missing && target.finite);
}

}  // namespace soapstone::rules
