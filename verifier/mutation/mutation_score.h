// Scores prover and refutation on mutants. Both look at every mutant, neither knows the other's
// answer.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "verifier/mutation/mutation.h"
#include "verifier/proof/verify.h"

namespace soapstone::verifier {

struct MutationCounts {
  std::size_t made = 0;
  std::size_t refuted = 0;       ///< By is_refuted().
  std::size_t missed = 0;        ///< Only the slow search finds a witness.
  std::size_t wrong_proved = 0;  ///< Wrong and proved all the same. Must be 0.
  /// Proved, and nobody finds a witness, or only one without a value on one side and the proof has
  /// the label changes-range.
  std::size_t equal = 0;
  std::size_t open = 0;  ///< Neither proved nor a witness.
  std::size_t wrong() const { return refuted + missed; }
};

/// A mutant worth showing.
struct MutationNote {
  std::string what, text;  ///< How it was made; the rule.
  std::string detail;      ///< The example, or why the proof failed.
  double proof_ms = 0;
};

struct MutationScore {
  std::size_t origins = 0, origins_proved = 0;
  MutationCounts total;
  std::array<MutationCounts, kMutationKinds> by_kind;  ///< Two changes count for both.
  std::vector<MutationNote> wrong_and_proved;          ///< All of them.
  std::vector<MutationNote> missed;                    ///< The first few.
  std::vector<MutationNote> open;                      ///< The first few.
  std::vector<MutationNote> slowest_failures;          ///< Proofs that failed late, slowest first.
  double origins_cpu_s = 0, making_cpu_s = 0, proof_cpu_s = 0, refute_cpu_s = 0, search_cpu_s = 0;
  /// Share of refuted mutants among those with a witness; 1 if there are none.
  double share_refuted() const;
};

struct ScoreOptions {
  std::size_t mutants = 12'000;
  std::uint64_t seed = 1;
  int jobs = 1;
  std::uint64_t max_steps = 30'000;  ///< For one attempt at a proof.
  int refutation_sizes = 40;
  /// Sizes for the slow search: for mutants that are not proved, and for those that are, most of
  /// which are equal.
  int witness_sizes = 150, proved_witness_sizes = 25;
  /// Called now and then from any one thread; false ends the run early.
  std::function<bool(std::size_t done)> progress;
};

/// Instances of rules whose parameters have values: of each base name at most `per_rule`, spread
/// over its instances.
std::vector<rules::Rule> mutation_origins(const std::vector<rules::Rule>& rules,
                                          std::size_t per_rule, std::uint64_t seed);

/// Mutates the origins that are proved within the step budget. The result is the same for any
/// number of jobs, times apart.
MutationScore score_mutants(const std::vector<rules::Rule>& origins, const ScoreOptions& options);

}  // namespace soapstone::verifier
