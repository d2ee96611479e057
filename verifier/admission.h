// May this match of a rule be replaced? Nothing unproved is applied to a user's graph.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/ranges/special_values.h"
#include "rules/rule/rule.h"
#include "verifier/proof/verify.h"

namespace soapstone::verifier {

/// Keeps what was found of rules without parameters, for other runs. Thread-safe.
class ProofMemory {
 public:
  virtual ~ProofMemory() = default;
  /// Why the rule is not proved; empty: it is. None: nothing is known of it.
  virtual std::optional<std::string> find(const rules::Rule& rule) const = 0;
  virtual void put(const rules::Rule& rule, const std::string& reason) = 0;
};

struct AdmissionOptions {
  /// Rules without a proof are admitted, too.
  bool allow_unproved = false;
  /// Believe the proof line of a rule file. Otherwise every rule is proved, and tried at the edges
  /// of floating types, when it is first used.
  bool believe_files = true;
  /// Rules are admitted, too, whose target has lost a value that the source has.
  bool allow_range_changes = false;
  /// No rule is admitted that does anything else with NaN, infinities, overflow or the sign of zero
  /// than its source, wherever it matches.
  bool strict_ieee = false;
  VerifyOptions verify = {};
  /// If set, and files are believed: is asked before a proof is tried. Must outlive the admission.
  ProofMemory* memory = nullptr;
};

/// The decision about a match. In an e-graph both sides are one, and each may stand for the other.
enum class RuleUse : std::uint8_t { kReplace, kBothWays };

/// Whether NaN and infinities matter (ops::SpecialValues) in what a match reads, and in its
/// results.
struct SpecialsAt {
  bool inputs = false, results = false;
  bool any() const { return inputs || results; }
};
SpecialsAt specials_at(const ops::SpecialValues& values, const rules::Match& match);

/// Why a rule with this label must not be used where its f32 inputs stand for that type. Empty: it
/// may. What is not known of a label forbids nothing.
std::string refusal_by_label(const rules::Rule& rule, core::DataType type, RuleUse use,
                             const AdmissionOptions& options = {});

/// A set of rules, and what is known of their proofs. A rule with parameters (strides,
/// permutations) was proved for some values; those that a match has are proved when they are first
/// met.
class Admission {
 public:
  explicit Admission(const rules::RuleSet& rules, const AdmissionOptions& options = {});
  ~Admission();

  const rules::RuleSet& rules() const { return rules_; }
  /// Adds placed rules to the set, of which all copies have them: RuleSet::add_placed(). Not
  /// thread-safe.
  void add_placed(std::vector<rules::Rule> rules);

  /// Thread-safe; the answers do not depend on the order of the questions. Precondition: the match
  /// is one of that rule, whose guard holds.
  /// Complexity: constant or one look into a table, but for the proof of new values.
  bool admits(core::RuleId rule, const rules::Match& match, RuleUse use = RuleUse::kReplace,
              SpecialsAt specials = {}) {
    if (is_plain_[rule.index()] && !specials.any()) return true;
    return refusal(rule, match, use, specials).empty();
  }
  bool admits(core::RuleId rule, const rules::Match& match, SpecialsAt specials) {
    return admits(rule, match, RuleUse::kReplace, specials);
  }
  /// Empty: admitted; else why not.
  std::string refusal(core::RuleId rule, const rules::Match& match, RuleUse use = RuleUse::kReplace,
                      SpecialsAt specials = {});

  /// Whether its file says that it is proved.
  bool is_proved(core::RuleId rule) const;

  /// From now on no match of the rules of that Rule::base_name is admitted. Not thread-safe.
  void exclude(std::string_view base_name) { set_excluded(base_name, true); }
  void readmit(std::string_view base_name) { set_excluded(base_name, false); }
  bool is_excluded(core::RuleId rule) const { return excluded_[rule.index()]; }

  struct Refusal {
    std::string rule;    ///< Rule::name
    std::string values;  ///< Values of its parameters: `s = 2, t = 2`.
    std::string reason;
  };
  /// Values for which a proof was tried in vain, in the order of rules and values.
  std::vector<Refusal> refusals() const;
  /// A rule that matched tensors of a type for which its label forbids it.
  struct LabelRefusal {
    std::string rule;  ///< Rule::base_name
    core::DataType type = core::DataType::kFloat32;
    std::string reason;
    RuleUse use = RuleUse::kReplace;  ///< kBothWays: it may replace, and was left out of e-graphs.
  };
  /// Each rule and type once, in their order.
  std::vector<LabelRefusal> label_refusals() const;
  /// Rule::base_name of those that were refused where NaN and infinities matter, for what they make
  /// of them, in alphabetical order.
  std::vector<std::string> refused_for_specials() const;
  /// What the rule does at the edges of the type of the match. None: nobody knows.
  std::optional<rules::Edges> effects(core::RuleId rule, const rules::Match& match);
  /// From now on proofs end when it says so, and what is not proved then is not admitted, without
  /// being a refusal. The function is for all threads; an empty one ends none. Not thread-safe.
  void stop_proofs_when(std::function<bool()> stopped) {
    options_.verify.stopped = std::move(stopped);
  }
  /// How many proofs were tried, and what they took.
  std::size_t proofs_tried() const;
  double cpu_ms() const;
  /// How many were known from the memory.
  std::size_t proofs_kept() const;

 private:
  void set_excluded(std::string_view base_name, bool excluded);
  enum class State : std::uint8_t { kAdmitted, kRefused, kOnDemand };
  struct Entry;
  using Values = std::vector<std::int64_t>;

  std::string refusal_by_proof(core::RuleId rule, const rules::Match& match, RuleUse use,
                               SpecialsAt specials);
  void note_label_refusal(core::RuleId rule, core::DataType type, RuleUse use);
  void note_specials(const rules::Rule& rule);
  /// The subject of a proof: a rule, its parameters, and if it may depend on what f32 stands for,
  /// that.
  struct Key {
    std::size_t rule = 0;
    Values values;
    core::DataType type = core::DataType::kFloat32;
    auto operator<=>(const Key&) const = default;
  };
  bool has_label(const rules::Rule& rule, core::DataType type) const;
  Key key_of(core::RuleId rule, const rules::Match& match) const;
  Entry& entry_of(const Key& key);
  core::Result<rules::Rule> special_rule(const Key& key) const;
  void observe(const Key& key, Entry& entry) const;
  std::string proof_of(const rules::Rule& special, Entry& entry) const;
  void prove(const Key& key, Entry& entry) const;

  /// What is known of the rules behind those that are.
  void note_new_rules();

  rules::RuleSet rules_;
  AdmissionOptions options_;
  std::vector<State> state_;    ///< By rule.
  std::vector<bool> excluded_;  ///< Likewise.
  /// By rule: admitted whatever the match.
  std::vector<bool> is_plain_;
  /// By rule: bits of what its label has forbidden so far, types times uses.
  std::deque<std::atomic<std::uint8_t>> forbidden_;
  std::set<std::string, std::less<>> excluded_names_;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> refused_for_specials_;
  /// Entries stay where they are; each is proved by the thread that is there first.
  std::map<Key, std::unique_ptr<Entry>> entries_;
};

}  // namespace soapstone::verifier
