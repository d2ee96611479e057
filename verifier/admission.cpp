// Proofs on demand, each made once; and what labels say of the types that a match has.
#include "verifier/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "core/base/clock.h"
#include "core/base/memory_limit.h"
#include "rules/floats/float_types.h"
#include "rules/floats/rounded_side.h"
#include "verifier/questions/z3_solver.h"
#include "verifier/refutation/parameter_values.h"

namespace soapstone::verifier {
namespace {

using rules::Rule;

using core::DataType;
using rules::FloatBehavior;

constexpr DataType kFloatingTypes[] = {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16,
                                       DataType::kBFloat16};
constexpr RuleUse kUses[] = {RuleUse::kReplace, RuleUse::kBothWays};

/// The bit that stands for a type and a use.
std::uint8_t bit_of(DataType type, RuleUse use) {
  const auto at = std::ranges::find(kFloatingTypes, type) - std::begin(kFloatingTypes);
  return static_cast<std::uint8_t>(1U << (2 * at + static_cast<int>(use)));
}

/// Whether the rule has a label that forbids no match of any type or use.
bool forbids_nothing(const Rule& rule, const AdmissionOptions& options) {
  return !rule.is_placed && std::ranges::all_of(kFloatingTypes, [&](DataType type) {
    return refusal_by_label(rule, type, RuleUse::kBothWays, options).empty();
  });
}

/// For a rule of unknown label: sizes, and inputs at each, for a look at the edges of types.
constexpr int kEdgeSizes = 4, kEdgeTriesAtASize = 100;
/// With more elements in all its tensors such a look takes too long for a search.
constexpr std::int64_t kMostElementsInSearch = 1 << 14,
                       kAnyElements = std::numeric_limits<std::int64_t>::max();

/// Of tensors whose sizes are numbers.
std::int64_t element_count(const core::Graph& side) {
  std::int64_t count = 0;
  const auto add = [&](core::TensorId id) {
    if (const auto dims = core::concrete(side.tensor(id).type.shape))
      count += core::element_count(*dims);
  };
  for (const core::TensorId id : side.inputs()) add(id);
  for (const core::NodeId id : side.order()) std::ranges::for_each(side.node(id).outputs, add);
  return count;
}

/// The label that a file would give a proved rule, less its types. Errors: kUnsupported: no sizes
/// satisfy it, or more elements than these.
core::Status observe_label(Rule& rule, const VerifyOptions& options, std::int64_t most_elements) {
  if (element_count(rule.source) + element_count(rule.target) > most_elements)
    return core::unsupported("its tensors are too large to be tried at the limits of their type");
  const int sizes = rule.source.symbols().size() > 0 ? kEdgeSizes : 1;
  SOAPSTONE_ASSIGN_OR_RETURN(
      const auto report, rules::check(rule, sizes, options.seed + 1, sizes * kEdgeTriesAtASize));
  rule.floats = report.floats;
  rule.edges = report.edges;
  return core::Done{};
}

/// The type at whose edges the type was tried.
DataType tried_type(DataType type) {
  return std::ranges::find(rules::kEdgeTypes, type) != std::end(rules::kEdgeTypes)
             ? type
             : DataType::kFloat32;
}

/// Whether the effect changes what NaN and infinities become, where that matters.
bool changes_specials(const rules::Edge& edge, SpecialsAt specials) {
  using rules::EdgeEffect;
  switch (edge.effect) {
  case EdgeEffect::kNan:
  case EdgeEffect::kDropsNan:
  case EdgeEffect::kInfinity:
  case EdgeEffect::kOtherValue:
    return specials.any();
  case EdgeEffect::kOverflow:
  case EdgeEffect::kRecovers:
    return specials.results;
  case EdgeEffect::kUnderflow:
  case EdgeEffect::kZeroSign:
    return false;
  }
  return true;
}

std::string refusal_by_effects(const Rule& rule, DataType type, SpecialsAt specials) {
  if (!rule.edges) return "nobody knows what it makes of NaN and infinities, which matter here";
  const auto changes = [&](const rules::Edge& edge) {
    return edge.type == tried_type(type) && changes_specials(edge, specials);
  };
  if (std::ranges::none_of(rule.edges->all(), changes)) return {};
  return fmt::format("it makes something else of NaN or infinities, which matter here ({})",
                     to_string(*rule.edges));
}

/// Why the rule must not be used if everything is kept as IEEE 754 has it.
std::string refusal_by_any_effect(const Rule& rule, DataType type) {
  if (!rule.edges) return "nobody knows what it does at the edges of its type";
  const auto has_type = [&](const rules::Edge& edge) { return edge.type == tried_type(type); };
  if (std::ranges::none_of(rule.edges->all(), has_type)) return {};
  return fmt::format("it changes NaN, infinities, overflow or the sign of zero ({})",
                     to_string(*rule.edges));
}

}  // namespace

SpecialsAt specials_at(const ops::SpecialValues& values, const rules::Match& match) {
  if (values.none()) return {};
  const auto matter = [&](core::TensorId id) { return id.valid() && values.matter_in(id); };
  return {std::ranges::any_of(match.inputs, matter), std::ranges::any_of(match.outputs, matter)};
}

std::string refusal_by_label(const Rule& rule, DataType type, RuleUse use,
                             const AdmissionOptions& options) {
  const std::string_view name = core::to_string(type);
  if (rule.types.known() && !rule.types.hold_for(type) && !options.allow_unproved)
    return fmt::format("its proof is for {} tensors, these are {}", to_string(rule.types), name);
  if (options.strict_ieee) return refusal_by_any_effect(rule, type);
  if (options.allow_range_changes) return {};
  const FloatBehavior of_type =
      rule.edges ? range_behavior(*rule.edges, type) : FloatBehavior::kExact;
  const FloatBehavior range = std::max(rule.floats, of_type);
  if (range == FloatBehavior::kChangesRange)
    return fmt::format("it loses values that its source has in {}", name);
  if (range == FloatBehavior::kExtendsRange && use == RuleUse::kBothWays)
    return fmt::format("its source loses values that its target has in {}, and here each may stand "
                       "for the other",
                       name);
  return {};
}

struct Admission::Entry {
  std::once_flag once;
  std::string reason;  ///< Empty: proved. Valid once it was asked for.
  std::once_flag observed;
  /// If its label is unknown: the rule with what was seen of it as its label, or why nothing was.
  /// Valid once that was asked for.
  Rule labeled = {};
  std::string why_not_labeled = {};
  double cpu_ms = 0;
  bool is_kept = false;  ///< The memory knew it.
};

Admission::Admission(const rules::RuleSet& rules, const AdmissionOptions& options)
    : rules_(rules), options_(options) {
  note_new_rules();
}

void Admission::note_new_rules() {
  for (const Rule& rule : rules_.rules().subspan(state_.size())) {
    const bool proved = rule.evidence.kind == rules::Evidence::Kind::kProved;
    if (!options_.believe_files ||
        (proved && (!rule.parameters.empty() || rule.is_proved_on_demand))) {
      state_.push_back(State::kOnDemand);
    } else {
      state_.push_back(proved || options_.allow_unproved ? State::kAdmitted : State::kRefused);
    }
    excluded_.push_back(excluded_names_.contains(rule.base_name));
    is_plain_.push_back(!excluded_.back() && state_.back() == State::kAdmitted &&
                        forbids_nothing(rule, options_));
    forbidden_.emplace_back(0);
  }
}

void Admission::add_placed(std::vector<Rule> rules) {
  rules_.add_placed(std::move(rules));
  note_new_rules();
}

Admission::~Admission() = default;

bool Admission::is_proved(core::RuleId rule) const {
  return rules_[rule].evidence.kind == rules::Evidence::Kind::kProved;
}

/// Whether the rule is believed what it says of the edges of this type. A rule that was made for a
/// graph says nothing; the order of sums and products, which is all that such rules change, matters
/// to a type of few binades.
bool Admission::has_label(const Rule& rule, DataType type) const {
  if (!options_.believe_files || (options_.strict_ieee && rule.is_placed)) return false;
  return !rule.is_placed || type != DataType::kFloat16 || options_.allow_range_changes;
}

Admission::Key Admission::key_of(core::RuleId id, const rules::Match& match) const {
  const Rule& rule = rules_[id];
  Key key{id.index(), {}};
  key.values.reserve(rule.parameters.size());
  for (const core::Symbol s : rule.parameters) key.values.push_back(match.sizes[s.id]);
  if (rule.is_placed || rules::depends_on_float_type(rule)) key.type = match.float_type;
  return key;
}

/// Why the rule has no proof; empty: it has one.
std::string Admission::proof_of(const Rule& special, Entry& entry) const {
  ProofMemory* const memory = options_.believe_files ? options_.memory : nullptr;
  const auto known = memory != nullptr ? memory->find(special) : std::nullopt;
  entry.is_kept = known.has_value();
  if (known) return *known;
  // A solver of its own: what it was asked before must not change its answers.
  std::string reason = attempt_proof(special, *make_z3_solver(), options_.verify);
  if (memory != nullptr && reason != kProofStopped) memory->put(special, reason);
  return reason;
}

/// The rule for the values and the type of the key.
core::Result<Rule> Admission::special_rule(const Key& key) const {
  const Rule& rule = rules_[core::RuleId(key.rule)];
  rules::Bindings bindings(rule.source.symbols().size());
  for (std::size_t k = 0; k < key.values.size(); ++k)
    bindings[rule.parameters[k].id] = key.values[k];
  auto special = rule.parameters.empty() ? core::Result<Rule>(rule) : specialize(rule, bindings);
  if (special && key.type != DataType::kFloat32 && rules::depends_on_float_type(rule))
    special = rules::with_float_type(*special, key.type);
  return special;
}

void Admission::observe(const Key& key, Entry& entry) const {
  const double before = core::thread_cpu_ms();
  try {
    auto special = special_rule(key);
    const auto most = options_.believe_files ? kMostElementsInSearch : kAnyElements;
    const auto seen =
        special ? observe_label(*special, options_.verify, most) : core::Status(special.error());
    if (!seen) entry.why_not_labeled = seen.error().message;
    if (special) entry.labeled = *std::move(special);
  } catch (const std::exception& failure) {  // no memory left
    entry.why_not_labeled = failure.what();
  }
  entry.cpu_ms += core::thread_cpu_ms() - before;
}

void Admission::prove(const Key& key, Entry& entry) const {
  const double before = core::thread_cpu_ms();
  try {
    const auto special = special_rule(key);
    entry.reason = special ? proof_of(*special, entry) : special.error().message;
  } catch (const std::exception& failure) {  // of the solver, or no memory left
    entry.reason = failure.what();
  }
  entry.cpu_ms = core::thread_cpu_ms() - before;
  constexpr double kLongMs = 100;
  if (entry.cpu_ms > kLongMs) core::give_back_freed_memory();
}

void Admission::set_excluded(std::string_view base_name, bool excluded) {
  if (excluded)
    excluded_names_.emplace(base_name);
  else
    excluded_names_.erase(std::string(base_name));
  const auto rules = rules_.rules();
  for (std::size_t k = 0; k < rules.size(); ++k) {
    if (rules[k].base_name != base_name) continue;
    excluded_[k] = excluded;
    is_plain_[k] =
        !excluded && state_[k] == State::kAdmitted && forbids_nothing(rules[k], options_);
  }
}

std::string Admission::refusal(core::RuleId id, const rules::Match& match, RuleUse use,
                               SpecialsAt specials) {
  const Rule& rule = rules_[id];
  if (excluded_[id.index()]) return "it was taken out";
  if (state_[id.index()] == State::kRefused)
    return rule.evidence.detail.empty() ? "the rule has no proof" : rule.evidence.detail;
  if (has_label(rule, match.float_type)) {
    // A label costs nothing to ask, a proof does.
    std::string reason = refusal_by_label(rule, match.float_type, use, options_);
    if (!reason.empty()) note_label_refusal(id, match.float_type, use);
    if (reason.empty() && specials.any() && !rule.is_placed) {
      reason = refusal_by_effects(rule, match.float_type, specials);
      if (!reason.empty()) note_specials(rule);
    }
    if (!reason.empty()) return reason;
    if (state_[id.index()] == State::kAdmitted && !(rule.is_placed && specials.any())) return {};
  }
  return refusal_by_proof(id, match, use, specials);
}

void Admission::note_label_refusal(core::RuleId id, DataType type, RuleUse use) {
  forbidden_[id.index()].fetch_or(bit_of(type, use), std::memory_order_relaxed);
}

std::string Admission::refusal_by_proof(core::RuleId id, const rules::Match& match, RuleUse use,
                                        SpecialsAt specials) {
  const Rule& rule = rules_[id];
  const Key key = key_of(id, match);
  Entry& entry = entry_of(key);
  std::call_once(entry.once, [&] { prove(key, entry); });
  if (!entry.reason.empty()) return entry.reason;
  const bool asks_for_effects = rule.is_placed && (options_.strict_ieee || specials.any());
  if (has_label(rule, match.float_type) && !asks_for_effects) return {};
  // Where both sides round once, they round the same number.
  if (!asks_for_effects && rules::rounds_once(rule.source) && rules::rounds_once(rule.target))
    return refusal_by_label(rule, match.float_type, use, options_);
  std::call_once(entry.observed, [&] { observe(key, entry); });
  if (!entry.why_not_labeled.empty()) {
    if (specials.any()) note_specials(rule);
    return entry.why_not_labeled;
  }
  std::string reason = refusal_by_label(entry.labeled, match.float_type, use, options_);
  if (reason.empty() && specials.any()) {
    reason = refusal_by_effects(entry.labeled, match.float_type, specials);
    if (!reason.empty()) note_specials(rule);
  }
  return reason;
}

Admission::Entry& Admission::entry_of(const Key& key) {
  const std::lock_guard lock(mutex_);
  auto& slot = entries_[key];
  if (!slot) slot = std::make_unique<Entry>();
  return *slot;
}

void Admission::note_specials(const Rule& rule) {
  const std::lock_guard lock(mutex_);
  refused_for_specials_.insert(rule.base_name);
}

std::vector<std::string> Admission::refused_for_specials() const {
  const std::lock_guard lock(mutex_);
  return {refused_for_specials_.begin(), refused_for_specials_.end()};
}

std::optional<rules::Edges> Admission::effects(core::RuleId id, const rules::Match& match) {
  const Rule* rule = &rules_[id];
  if (rule->is_placed || !has_label(*rule, match.float_type)) {
    const Key key = key_of(id, match);
    Entry& entry = entry_of(key);
    std::call_once(entry.observed, [&] { observe(key, entry); });
    if (!entry.why_not_labeled.empty()) return std::nullopt;
    rule = &entry.labeled;
  }
  if (!rule->edges) return std::nullopt;
  rules::Edges of_type;
  for (const rules::Edge& edge : rule->edges->all())
    if (edge.type == tried_type(match.float_type)) of_type.note(edge);
  return of_type;
}

std::vector<Admission::LabelRefusal> Admission::label_refusals() const {
  std::vector<LabelRefusal> refusals;
  for (std::size_t k = 0; k < forbidden_.size(); ++k) {
    const Rule& rule = rules_[core::RuleId(k)];
    for (const DataType type : kFloatingTypes) {
      for (const RuleUse use : kUses) {
        if ((forbidden_[k].load(std::memory_order_relaxed) & bit_of(type, use)) == 0) continue;
        const bool known = std::ranges::any_of(refusals, [&](const LabelRefusal& other) {
          return other.rule == rule.base_name && other.type == type;
        });
        if (known) continue;
        refusals.push_back(
            {rule.base_name, type, refusal_by_label(rule, type, use, options_), use});
      }
    }
  }
  return refusals;
}

std::vector<Admission::Refusal> Admission::refusals() const {
  const std::lock_guard lock(mutex_);
  std::vector<Refusal> refusals;
  for (const auto& [key, entry] : entries_) {
    if (entry->reason.empty() || entry->reason == kProofStopped) continue;
    const Rule& rule = rules_[core::RuleId(key.rule)];
    rules::Bindings values(rule.source.symbols().size());
    for (std::size_t k = 0; k < key.values.size(); ++k)
      values[rule.parameters[k].id] = key.values[k];
    refusals.push_back({rule.name, parameter_text(rule, values), entry->reason});
  }
  return refusals;
}

std::size_t Admission::proofs_tried() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const auto& entry) { return !entry.second->is_kept; }));
}

std::size_t Admission::proofs_kept() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const auto& entry) { return entry.second->is_kept; }));
}

double Admission::cpu_ms() const {
  const std::lock_guard lock(mutex_);
  double total = 0;
  for (const auto& [key, entry] : entries_) total += entry->cpu_ms;
  return total;
}

}  // namespace soapstone::verifier
