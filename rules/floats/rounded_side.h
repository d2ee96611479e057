// One side of a rule run node by node, with the result of each operator rounded once. The model: an
// operator computes as if exactly. The order in which a kernel adds is its own affair and changes
// with sizes anyway; what a rule adds or removes are roundings.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/float_format.h"
#include "rules/floats/stepwise_side.h"
#include "rules/floats/typed_run.h"

namespace soapstone::rules {

/// The type to which results are rounded.
struct Rounding {
  core::DataType type = core::DataType::kFloat32;  ///< The type that f32 stands for in the rule.
  bool limited = true;                ///< Exponents are; otherwise only digits are rounded.
  Filling filling = Filling::kFirst;  ///< Stands for the integers that a machine may choose.
};

/// Numbers that a run has met among inputs, constants and all results.
struct Met {
  double largest = 0;           ///< The magnitude of the largest finite number.
  bool has_infinities = false;  ///< Or NaN.
  bool has_choices = false;     ///< Integers that a machine may choose.
};

/// Whether no number that an operator has computed is computed with again: each output is an exact
/// function of the inputs, rounded once. Operators that only move numbers do not compute.
bool rounds_once(const Graph& side);

class RoundedSide {
 public:
  /// Precondition: all sizes are numbers; no opaque node. The graph must outlive it.
  explicit RoundedSide(const Graph& graph) : side_(graph) {}

  /// Values of the outputs. Without a rounding everything is in doubles; with one integers are
  /// those of their types. Adds to what was met. None: an operator does not admit the inputs.
  std::optional<std::vector<Tensor>> run(const std::vector<Tensor>& inputs,
                                         std::optional<Rounding> rounding, Met& met) const;

 private:
  void round(TensorId id, const Rounding& rounding, Tensor& tensor) const;
  void put_into_type(TensorId id, Filling filling, Tensor& tensor, Met& met) const;

  StepwiseSide side_;
};

}  // namespace soapstone::rules
