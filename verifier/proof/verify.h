// The verdict on a rule: proved for all sizes, refuted by an example, or unknown with the reason.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ops/language/comprehension.h"
#include "rules/rule/rule.h"
#include "verifier/questions/oracle.h"
#include "verifier/refutation/refute.h"

namespace soapstone::verifier {

enum class VerdictKind : std::uint8_t { kProved, kRefuted, kUnknown };
std::string_view to_string(VerdictKind kind);

/// Why a rule is unknown whose proof was stopped.
inline constexpr std::string_view kProofStopped = "its proof was stopped";

struct Verdict {
  VerdictKind kind = VerdictKind::kUnknown;
  std::string reason;  ///< Why it is unknown.
  /// The float label that the proof gives. Overflows are found with numbers (rules::check).
  rules::FloatBehavior floats = rules::FloatBehavior::kExact;
  std::optional<Refutation> refutation;
  /// Further conditions on the sizes of a refuted rule under which it is proved.
  std::vector<ops::SizeConstraint> saving_guard;
  std::shared_ptr<const ProofRecord> record;  ///< The proof's answers, if they were to be kept.
  double cpu_ms = 0;
  std::uint64_t steps = 0;  ///< Steps of the proof: the same on every machine.
  std::uint64_t pairs = 0;  ///< Pairs of expressions that it tried to match: likewise.
};

struct VerifyOptions {
  /// Most proofs of shipped rules take less than 6,000, the longest a little over 20,000.
  std::uint64_t max_steps = 30'000;
  /// Pairs of expressions to match, of which those proofs try up to 5,000.
  std::uint64_t max_pairs = 200'000;
  int refutation_sizes = 40;  ///< At how many sizes a counterexample is looked for.
  std::uint64_t seed = 0;
  /// Ask the solver again for every refutation that an accepted proof rests on.
  bool certify = true;
  bool keep_record = false;
  /// Numbers in comprehensions that stand for any real number (real_parameters.h).
  std::vector<ops::Rational> unknown_numbers = {};
  /// Look for sizes that must be equal for a refuted rule to hold.
  bool look_for_guard = true;
  /// If set, is asked at every step: a proof may take minutes. What was proved until then stays so,
  /// with a label that may be weaker than it would be. Thread-safe.
  std::function<bool()> stopped = {};
};

/// Precondition: no parameters left (rules::specialize). `solver` is for one thread.
Verdict verify(const rules::Rule& rule, Solver& solver, const VerifyOptions& options);

/// Only the attempt at a proof, without a look at numbers: what a mutation score must ask.
/// Empty: proved; else why not.
std::string attempt_proof(const rules::Rule& rule, Solver& solver, const VerifyOptions& options);
/// The proof again with these answers instead of a search for them: no guesser, no elimination; the
/// solver confirms every answer. Empty: the rule is proved; else why not.
std::string replay_proof(const rules::Rule& rule, const ProofRecord& record, Solver& solver);

}  // namespace soapstone::verifier
