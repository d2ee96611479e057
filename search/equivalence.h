// The last check before a model is written: both graphs run on the same inputs. It shares no code
// with rules or proofs.
#pragma once

#include <string>
#include <vector>

#include "core/graph.h"
#include "core/progress.h"
#include "core/result.h"
#include "runtime/backend.h"

namespace soapstone::search {

struct EquivalenceOptions {
  int samples = 8;     ///< Signed normal, then extremes, zeros, ones, tiny values, in turn.
  double rtol = 1e-3;  ///< Of the larger of |expected| and the output's root mean square.
  double atol = 1e-6;
  std::uint64_t seed = 0;
  /// Inputs of the user's own, run in addition: one set a sample, one literal a graph input.
  std::vector<std::vector<core::Literal>> inputs;
};

struct OutputError {
  std::string name;
  double max_abs_error = 0;
  double max_rel_error = 0;  ///< |a − b| over the larger of |a| and the output's root mean square.
  bool equal = true;         ///< Within tolerance on all samples; NaN and infinity must agree.
};

struct EquivalenceReport {
  bool equal = true;
  int samples = 0;
  std::vector<OutputError> outputs;
  /// Opaque nodes cannot be run: their results were fresh random inputs, their operands compared.
  int cut_nodes = 0;
  double max_rel_error() const;
};

/// Errors: kInvalidInput if inputs or outputs differ in number, name order or type; kNotEquivalent
/// never (that is a report); kInterrupted if stopped before the first sample was done.
core::Result<EquivalenceReport> check_equivalence(const core::Graph& a, const core::Graph& b,
                                                  runtime::Backend& backend,
                                                  const EquivalenceOptions& options,
                                                  core::ProgressSink& progress,
                                                  const core::StopToken& stop);

/// How the elements of a sample's inputs are drawn.
enum class SampleKind : std::uint8_t { kNormal, kExtreme, kZero, kOne, kTiny };
/// One literal an input of the graph. Indices that a gather reads stay within its data; other
/// integers are 0 or 1.
std::vector<core::Literal> sample_inputs(const core::Graph& graph, SampleKind kind,
                                         std::uint64_t seed);

}  // namespace soapstone::search
