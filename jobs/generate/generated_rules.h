// Proves what the generator found, and writes what is proved as a rule file.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "generator/generalization/candidates.h"
#include "verifier/batch.h"

namespace soapstone::jobs {

/// A direction that was not proved.
struct UnprovedRule {
  std::string text;
  verifier::VerdictKind kind = verifier::VerdictKind::kUnknown;
  std::string reason;
};

/// Admits what the verifier proves: of each candidate the most general form of which all directions
/// are proved, else the one with the most.
class RuleProver {
 public:
  RuleProver(verifier::BatchOptions options, const core::StopToken& stop)
      : options_(std::move(options)), stop_(stop) {
    options_.verify.look_for_guard = false;
  }

  void admit(std::span<generator::RuleCandidate* const> candidates);
  /// Puts what numbers say of rounding and of the edges of types into the evidence of rules that
  /// were admitted. It takes about as long as their proofs did, and is only worth it for what is
  /// written. Stopped: what was not looked at loses its direction.
  void label(std::span<generator::RuleCandidate> kept, core::ProgressSink& progress,
             const core::StopToken& stop);
  const std::vector<UnprovedRule>& unproved() const { return unproved_; }
  double cpu_ms() const { return cpu_ms_; }
  /// kInternal if numbers contradict a proof.
  const core::Status& status() const { return status_; }

 private:
  struct Attempt;
  void prove(std::span<Attempt> attempts);
  /// True: forward.
  void prove(std::span<const std::pair<Attempt*, bool>> directions);
  static bool goes_on(Attempt& attempt);
  void settle(Attempt& attempt, bool forward, verifier::RuleVerdict verdict);
  void note_disagreement(const generator::DirectedRule& rule, const verifier::RuleVerdict& verdict);

  verifier::BatchOptions options_;
  const core::StopToken& stop_;
  std::vector<UnprovedRule> unproved_;
  std::unordered_map<std::string, verifier::RuleVerdict> proved_;  ///< By the text of a direction.
  int named_ = 0;
  double cpu_ms_ = 0;
  core::Status status_ = core::Done{};
};

/// A rule as it goes into a file.
struct NamedRule {
  std::string name;     ///< Made of its operators: `relu_concat_as_concat_relu_3`.
  std::string comment;  ///< A line above it; may be empty.
  generator::DirectedRule rule;
};
/// All directions of the candidates.
std::vector<NamedRule> named_rules(std::span<const generator::RuleCandidate> candidates);
/// The text of a rule file with proofs. `heading` is put in front as a comment.
std::string rule_file_text(std::span<const NamedRule> rules, const std::string& heading);

}  // namespace soapstone::jobs
