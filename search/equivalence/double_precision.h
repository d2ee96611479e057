// A graph with doubles for all its real numbers: what rounding in f32 or f16 is measured against.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::search {

/// The same nodes, inputs and constants; f32, f16 and bf16 become f64.
core::Graph in_double_precision(const core::Graph& graph);

/// The same with a factor for each result of a node that has real numbers and for each matrix of
/// weights: another input, of their own size, behind those of the graph. Factors near one are what
/// rounding between nodes is like (Parker, Monte Carlo Arithmetic, 1997).
struct NoisyGraph {
  core::Graph graph;
  std::vector<core::DataType> types;  ///< By factor: what is rounded to.
};
/// `short_inputs`: all real inputs are numbers of few digits (is_short), so what is made of them by
/// copies, choices, sums and products with such numbers is exact and has no factor.
NoisyGraph with_noise(const core::Graph& graph, bool short_inputs = false);

/// How long the reference kernels take for a run, in operations of their plainest kind, constant
/// expressions included.
double reference_work(const core::Graph& graph);
/// Elements of all constants.
double constant_elements(const core::Graph& graph);

/// Runs it on reference kernels, by the operators' definitions. Empty: that would be too much work
/// or memory. Errors: those of running.
class DoublePrecision {
 public:
  enum class Between : std::uint8_t {
    kExact,
    kNoise,  ///< Each result is off by chance, by as much as rounding to its own type may leave.
    kNoiseBehindShort,  ///< Likewise, for inputs of few digits: see with_noise().
  };
  DoublePrecision(const core::Graph& graph, double most_work, Between between = Between::kExact);
  ~DoublePrecision();
  DoublePrecision(DoublePrecision&&) noexcept;

  bool is_affordable() const;
  /// The results as doubles. `inputs` are of the graph's own types; `seed`: of the noise.
  std::optional<std::vector<std::vector<double>>> run(const std::vector<core::Literal>& inputs,
                                                      std::uint64_t seed = 0);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace soapstone::search
