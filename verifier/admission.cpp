// Proofs on demand, each made once.
#include "verifier/admission.h"

#include <exception>
#include <utility>

#include "core/clock.h"
#include "verifier/parameter_values.h"
#include "verifier/z3_solver.h"

namespace soapstone::verifier {
namespace {

using rules::Rule;

}  // namespace

struct Admission::Entry {
  std::once_flag once;
  std::string reason;  ///< Empty: proved. Valid once it was asked for.
  double cpu_ms = 0;
};

Admission::Admission(const rules::RuleSet& rules, const AdmissionOptions& options)
    : rules_(rules), options_(options), excluded_(rules.rules().size()) {
  for (const Rule& rule : rules.rules()) {
    const bool proved = rule.evidence.kind == rules::Evidence::Kind::kProved;
    if (!options.believe_files || (proved && !rule.parameters.empty())) {
      state_.push_back(State::kOnDemand);
    } else {
      state_.push_back(proved || options.allow_unproved ? State::kAdmitted : State::kRefused);
    }
  }
}

Admission::~Admission() = default;

bool Admission::is_proved(core::RuleId rule) const {
  return rules_[rule].evidence.kind == rules::Evidence::Kind::kProved;
}

Admission::Values Admission::values_of(const Rule& rule, const rules::Match& match) const {
  Values values;
  values.reserve(rule.parameters.size());
  for (const core::Symbol s : rule.parameters) values.push_back(match.sizes[s.id]);
  return values;
}

void Admission::prove(const Rule& rule, const Values& values, Entry& entry) const {
  const double before = core::thread_cpu_ms();
  rules::Bindings bindings(rule.source.symbols().size());
  for (std::size_t k = 0; k < values.size(); ++k) bindings[rule.parameters[k].id] = values[k];
  try {
    auto special = rule.parameters.empty() ? core::Result<Rule>(rule) : specialize(rule, bindings);
    // A solver of its own: what it was asked before must not change its answers.
    entry.reason = special ? attempt_proof(*special, *make_z3_solver(), options_.verify)
                           : special.error().message;
  } catch (const std::exception& failure) {  // of the solver, or no memory left
    entry.reason = failure.what();
  }
  entry.cpu_ms = core::thread_cpu_ms() - before;
}

void Admission::exclude(std::string_view base_name) {
  const auto rules = rules_.rules();
  for (std::size_t k = 0; k < rules.size(); ++k) {
    if (rules[k].base_name != base_name) continue;
    excluded_[k] = true;
    state_[k] = State::kRefused;
  }
}

std::string Admission::refusal(core::RuleId id, const rules::Match& match) {
  const Rule& rule = rules_[id];
  if (excluded_[id.index()]) return "it was taken out, since results differed after it";
  switch (state_[id.index()]) {
  case State::kAdmitted:
    return {};
  case State::kRefused:
    return rule.evidence.detail.empty() ? "the rule has no proof" : rule.evidence.detail;
  case State::kOnDemand:
    break;
  }
  Values values = values_of(rule, match);
  Entry* entry = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& slot = entries_[{id.index(), values}];
    if (!slot) slot = std::make_unique<Entry>();
    entry = slot.get();
  }
  std::call_once(entry->once, [&] { prove(rule, values, *entry); });
  return entry->reason;
}

std::vector<Admission::Refusal> Admission::refusals() const {
  const std::lock_guard lock(mutex_);
  std::vector<Refusal> refusals;
  for (const auto& [key, entry] : entries_) {
    if (entry->reason.empty()) continue;
    const Rule& rule = rules_[core::RuleId(key.first)];
    rules::Bindings values(rule.source.symbols().size());
    for (std::size_t k = 0; k < key.second.size(); ++k)
      values[rule.parameters[k].id] = key.second[k];
    refusals.push_back({rule.name, parameter_text(rule, values), entry->reason});
  }
  return refusals;
}

std::size_t Admission::proofs_tried() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

double Admission::cpu_ms() const {
  const std::lock_guard lock(mutex_);
  double total = 0;
  for (const auto& [key, entry] : entries_) total += entry->cpu_ms;
  return total;
}

}  // namespace soapstone::verifier
