// The last check before a model is written: both graphs run here on the same inputs, and, if there
// is a judge, both files in a runtime that is not ours. It shares no code with rules or proofs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "runtime/launches/backend.h"
#include "search/equivalence/judge.h"
#include "search/equivalence/pairing.h"
#include "search/equivalence/rounding.h"
#include "search/equivalence/sample_inputs.h"

namespace soapstone::search {

/// Random samples of the first round, in which each kind has its turn.
inline constexpr int kSampleKinds = 12;

struct EquivalenceOptions {
  int samples = kSampleKinds;  ///< Number of random samples; see sample_kind().
  /// Tolerances of the user's own: relative to the larger of |expected| and the output's root mean
  /// square. Without either, what the types and the original's own rounding explain (rounding.h).
  std::optional<double> rtol, atol;
  std::uint64_t seed = 0;
  /// By input of the graph: the value that it has where nobody gives another, which it has in half
  /// of the samples; null, or beyond the end: none.
  std::vector<core::LiteralPtr> defaults;
  /// Inputs of the user's own, run in addition: one set a sample, one literal a graph input.
  std::vector<std::vector<core::Literal>> inputs;
  /// Samples are drawn about these numbers, too.
  Landmarks landmarks;
  /// The constants of both graphs are the same, not folded and rounded in one of them: then double
  /// precision must show the same results far more closely than the graphs' own types do.
  bool same_constants = false;
  /// What rules say of themselves: on inputs up to the ends of their types the second graph may
  /// overflow where the first does not. It is counted.
  Latitude latitude{.may_overflow = true};
};

/// The first difference between two models.
struct Difference {
  int sample = 0;
  std::string input;   ///< "ordinary values (input 1, seed 0)"
  std::string output;  ///< Its name; empty if there is no result.
  std::string what;    ///< "is off by 0.1 of its size"
};

struct EquivalenceReport {
  bool equal = true;
  int samples = 0;
  std::vector<OutputError> outputs;
  /// Opaque nodes cannot be run: their results were fresh random inputs, their operands compared.
  int cut_nodes = 0;
  /// Results that hang on opaque ones of unknown shape were not compared here.
  int cut_outputs = 0;
  /// Opaque nodes of one graph to which none of the other corresponds (CutPair::unmatched).
  std::vector<std::string> unmatched;
  /// Samples on which rounding in the original alone is worth more than 5 % of an output's size:
  /// that the graphs agree there says little.
  int ill_conditioned = 0;
  /// The largest relative error on these where it is within tolerance; no output counts it.
  double ill_conditioned_rel_error = 0;
  std::optional<Difference> difference;
  /// Of all outputs.
  double max_rel_error() const;
  /// One more sample, by output; `ill`: it is ill-conditioned.
  void add(std::span<const OutputError> errors, bool ill);
  /// Whether outputs differ that hang on opaque nodes, and no others do: whether the graphs compute
  /// the same is up to what these compute then.
  bool differs_behind_opaque_alone() const;
  /// Whether an operand of an opaque node differs.
  bool operands_differ() const;
  /// Elements that overflowed on inputs up to the ends of their types, as their rules say.
  std::size_t overflowed() const;
};

/// The kind of a random sample, from 0. Behind the first round those kinds take turns in which more
/// samples see more.
SampleKind sample_kind(int turn);
/// So many random samples are worth their time: more where inputs hold few numbers and runs are
/// short.
int default_samples(const core::Graph& graph);
/// The kind of a sample; none: it is the user's own.
std::optional<SampleKind> kind_of(const EquivalenceOptions& options, int sample);
/// Whether it is a random sample of a wide kind (is_wide()).
bool has_wide_inputs(const EquivalenceOptions& options, int sample);
/// Whether all real inputs are numbers of few digits, which rounding leaves as they are.
bool has_short_inputs(const EquivalenceOptions& options, int sample);
/// The inputs of sample number `sample`; the user's own samples come first.
std::vector<core::Literal> inputs_of_sample(const core::Graph& graph,
                                            const EquivalenceOptions& options, int sample);
/// Inputs of the sample as rounding might have left them.
std::vector<core::Literal> moved_inputs(const EquivalenceOptions& options, int sample,
                                        std::vector<core::Literal> inputs, std::uint64_t seed);
std::string describe_sample(const EquivalenceOptions& options, int sample);

/// Holds the original ready to be compared with several graphs.
class EquivalenceCheck {
 public:
  /// Both must outlive it. Errors: kInvalidInput: the user's inputs do not fit; kUnsupported: it
  /// cannot be run.
  static core::Result<EquivalenceCheck> make(const core::Graph& original, runtime::Backend& backend,
                                             const EquivalenceOptions& options);
  /// For graphs that were not made from one another: opaque nodes are matched (cut_pair), and run()
  /// takes `other` alone.
  static core::Result<EquivalenceCheck>
  make_pair(const core::Graph& original, const core::Graph& other, const OpaqueFacts& facts,
            runtime::Backend& backend, const EquivalenceOptions& options);
  ~EquivalenceCheck();
  EquivalenceCheck(EquivalenceCheck&&) noexcept;
  EquivalenceCheck& operator=(EquivalenceCheck&&) noexcept;

  /// Errors: kInvalidInput if inputs or outputs differ in number, name order or type; never
  /// kNotEquivalent (that is a report). Stopped, it does one sample at least.
  core::Result<EquivalenceReport> run(const core::Graph& other, core::ProgressSink& progress,
                                      const core::StopToken& stop);
  /// On that sample alone.
  core::Result<bool> differs_on(const core::Graph& other, int sample);
  /// By output: whether in either graph numbers on the way to it leave the range of their types.
  std::vector<bool> leaves_range(const core::Graph& other, int sample);
  /// Sets the latitude of the graphs that are compared from now on.
  void allow(Latitude latitude);

 private:
  struct State;
  explicit EquivalenceCheck(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// EquivalenceCheck for one pair.
core::Result<EquivalenceReport> check_equivalence(const core::Graph& a, const core::Graph& b,
                                                  runtime::Backend& backend,
                                                  const EquivalenceOptions& options,
                                                  core::ProgressSink& progress,
                                                  const core::StopToken& stop);

}  // namespace soapstone::search
