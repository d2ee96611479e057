// Verdicts for many rules at once, on several threads. What a rule file calls one rule gets one
// verdict, whatever number of instances it expands to.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "rules/rule/rule.h"
#include "verifier/proof/proof_log.h"
#include "verifier/proof/verify.h"
#include "verifier/refutation/parameter_values.h"

namespace soapstone::verifier {

/// The version of the prover that rule files name. It goes up when older proofs must not be
/// believed.
inline constexpr int kVersion = 3;

/// The finding of another look at a proved rule.
struct SecondLookResult {
  int sizes = 0;  ///< At how many sizes it looked.
  std::string disagreement;
};
/// Looks at a proved rule without parameters in a way of its own.
using SecondLook = std::function<SecondLookResult(const rules::Rule&)>;

struct BatchOptions {
  VerifyOptions verify = {};
  int jobs = 0;             ///< Threads; 0: all cores. The result does not depend on it.
  int specializations = 8;  ///< Values of the parameters that a rule with parameters is proved for.
  /// Random sizes at which numbers are compared: for a rule with all its instances, 20 at least
  /// for one.
  int check_sizes = 20;
  std::uint64_t check_seed = 1;
  /// Inputs at the edges of each floating type on which both sides are tried: for a rule with all
  /// its instances, 64 at least for one; fewer for rules that keep every bit.
  int edge_tries = 3000;
  /// False: only numbers are looked at. The rules are known to be proved, and have the label that
  /// their proofs gave them.
  bool proves = true;
  /// Called once in each thread; none: none.
  std::function<SecondLook()> make_second_look = {};
};

/// On a rule as it stands in a file: proved if all of its instances are, refuted if one is.
struct RuleVerdict {
  std::string rule;  ///< Rule::base_name
  std::filesystem::path file;
  int line = 0;
  /// Rules without parameters that the verdict is about: instances, times values of parameters. Up
  /// to the refuted one if there is one.
  std::size_t instances = 0;
  int check_sizes = 0;   ///< At how many sizes numbers were compared.
  int second_sizes = 0;  ///< And by the second look, if there was one.
  /// The numbers agree in doubles only: the rule is a law of a function that is random in the
  /// field.
  bool law_of_function = false;
  VerdictKind kind = VerdictKind::kUnknown;
  /// The first that is refuted, or the first that is unknown, and for which parameters.
  std::string instance;
  std::string reason;  ///< Why it is unknown.
  rules::FloatBehavior floats = rules::FloatBehavior::kExact;
  rules::FloatTypes types = rules::FloatTypes::any();  ///< For which all instances are proved.
  rules::Edges edges;                                  ///< All instances together.
  /// Values of parameters for which alone it is proved: strides, epsilon. Empty: for all.
  std::vector<NamedValues> only_values;
  std::vector<std::string> guard;  ///< Conditions on sizes, as in a `where` clause.
  std::optional<Refutation> refutation;
  std::vector<std::string> saving_guard;  ///< Conditions with which a refuted rule is proved.
  /// Numbers contradict a proof: a fault of the prover or of the numbers. The rule is unknown.
  std::string disagreement;
  /// If VerifyOptions::keep_record says so: of all instances.
  std::vector<LoggedProof> proofs;
  double cpu_ms = 0;  ///< Without the trials at the edges of types.
};

/// One verdict a rule, in the order of `rules`, whose instances follow each other. A rule with
/// parameters (strides, permutations) is proved for the values that parameter_grid() lists.
/// Stopped: the rules that were finished.
std::vector<RuleVerdict> verify_all(std::span<const rules::Rule> rules, const BatchOptions& options,
                                    core::ProgressSink& progress, const core::StopToken& stop);

}  // namespace soapstone::verifier
