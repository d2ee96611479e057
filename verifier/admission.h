// May this match of a rule be replaced? Nothing unproved is applied to a user's graph.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"
#include "verifier/verify.h"

namespace soapstone::verifier {

struct AdmissionOptions {
  /// Rules without a proof are admitted, too.
  bool allow_unproved = false;
  /// Believe the proof line of a rule file. Otherwise every rule is proved when it is first used.
  bool believe_files = true;
  VerifyOptions verify = {};
};

/// A set of rules, and what is known of their proofs. A rule with parameters (strides,
/// permutations) was proved for some values; those that a match has are proved when they are first
/// met.
class Admission {
 public:
  /// `rules` must outlive it.
  explicit Admission(const rules::RuleSet& rules, const AdmissionOptions& options = {});
  ~Admission();

  const rules::RuleSet& rules() const { return rules_; }

  /// Thread-safe; the answers do not depend on the order of the questions. Precondition: the match
  /// is one of that rule, whose guard holds.
  /// Complexity: constant or one look into a table, but for the proof of new values.
  bool admits(core::RuleId rule, const rules::Match& match) {
    return state_[rule.index()] == State::kAdmitted || refusal(rule, match).empty();
  }
  /// Empty: admitted; else why not.
  std::string refusal(core::RuleId rule, const rules::Match& match);

  /// Whether its file says that it is proved.
  bool is_proved(core::RuleId rule) const;

  /// From now on no match of the rules of that Rule::base_name is admitted. Not thread-safe.
  void exclude(std::string_view base_name);
  bool is_excluded(core::RuleId rule) const { return excluded_[rule.index()]; }

  struct Refusal {
    std::string rule;    ///< Rule::name
    std::string values;  ///< Of its parameters: `s = 2, t = 2`.
    std::string reason;
  };
  /// Values for which a proof was tried in vain, in the order of rules and values.
  std::vector<Refusal> refusals() const;
  /// How many proofs were tried, and what they took.
  std::size_t proofs_tried() const;
  double cpu_ms() const;

 private:
  enum class State : std::uint8_t { kAdmitted, kRefused, kOnDemand };
  struct Entry;
  using Values = std::vector<std::int64_t>;

  Values values_of(const rules::Rule& rule, const rules::Match& match) const;
  void prove(const rules::Rule& rule, const Values& values, Entry& entry) const;

  const rules::RuleSet& rules_;
  AdmissionOptions options_;
  std::vector<State> state_;    ///< By rule.
  std::vector<bool> excluded_;  ///< Likewise.
  mutable std::mutex mutex_;
  /// Entries stay where they are; each is proved by the thread that is there first.
  std::map<std::pair<std::size_t, Values>, std::unique_ptr<Entry>> entries_;
};

}  // namespace soapstone::verifier
