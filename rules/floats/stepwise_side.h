// One side of a rule, run operator by operator in doubles. What happens to values between two
// operators, such as rounding, is the caller's.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ops/evaluation/evaluate.h"
#include "rules/rule/rule.h"

namespace soapstone::rules {

using Tensor = std::vector<double>;

class StepwiseSide {
 public:
  enum class Origin : std::uint8_t { kConstant, kInput, kResult };
  /// Changes the values of a tensor before anything reads them.
  using Change = std::function<void(TensorId, Origin, Tensor&)>;

  /// Precondition: all sizes are numbers; no opaque node. The graph must outlive it.
  explicit StepwiseSide(const Graph& graph);

  const Graph& graph() const { return graph_; }
  /// Values of the outputs. None: an operator does not admit what it was given.
  std::optional<std::vector<Tensor>> run(const std::vector<Tensor>& inputs,
                                         const Change& change) const;

 private:
  bool run_node(std::size_t n, std::vector<Tensor>& values) const;

  const Graph& graph_;
  std::vector<ops::CompiledSemantics<double>> programs_;
};

}  // namespace soapstone::rules
