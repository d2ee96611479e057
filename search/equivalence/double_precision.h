// A graph with doubles for all its real numbers: what rounding in f32 or f16 is measured against.
#pragma once

#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::search {

/// The same nodes, inputs and constants; f32, f16 and bf16 become f64.
core::Graph in_double_precision(const core::Graph& graph);

/// How long the reference kernels take for a run, in operations of their plainest kind, constant
/// expressions included.
double reference_work(const core::Graph& graph);
/// Elements of all constants.
double constant_elements(const core::Graph& graph);

/// Runs it on reference kernels, by the operators' definitions. Empty: that would be too much work
/// or memory. Errors: those of running.
class DoublePrecision {
 public:
  DoublePrecision(const core::Graph& graph, double most_work);
  ~DoublePrecision();
  DoublePrecision(DoublePrecision&&) noexcept;

  bool is_affordable() const;
  /// The results as doubles. `inputs` are of the graph's own types.
  std::optional<std::vector<std::vector<double>>> run(const std::vector<core::Literal>& inputs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace soapstone::search
