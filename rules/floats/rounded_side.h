// One side of a rule run node by node, with the result of each operator rounded once. The model: an
// operator computes as if exactly. The order in which a kernel adds is its own affair and changes
// with sizes anyway; what a rule adds or removes are roundings.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/float_format.h"
#include "rules/floats/stepwise_side.h"

namespace soapstone::rules {

/// The type to which results are rounded.
struct Rounding {
  core::DataType type = core::DataType::kFloat32;  ///< The type that f32 stands for in the rule.
  bool limited = true;  ///< Exponents are; otherwise only digits are rounded.
};

/// Whether no number that an operator has computed is computed with again: each output is an exact
/// function of the inputs, rounded once. Operators that only move numbers do not compute.
bool rounds_once(const Graph& side);

class RoundedSide {
 public:
  /// Precondition: all sizes are numbers; no opaque node. The graph must outlive it.
  explicit RoundedSide(const Graph& graph) : side_(graph) {}

  /// Values of the outputs. Without a rounding everything is in doubles. `largest_met` grows to the
  /// magnitude of the largest finite number among inputs, constants and all results. None: an
  /// operator does not admit the inputs.
  std::optional<std::vector<Tensor>> run(const std::vector<Tensor>& inputs,
                                         std::optional<Rounding> rounding,
                                         double& largest_met) const;

 private:
  void round(TensorId id, const Rounding& rounding, Tensor& tensor) const;

  StepwiseSide side_;
};

}  // namespace soapstone::rules
