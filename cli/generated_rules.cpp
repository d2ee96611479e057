// See generated_rules.h.
#include "cli/generated_rules.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/verify_report.h"

namespace soapstone::cli {
namespace {

using generator::RuleCandidate;
using rules::Rule;
using verifier::RuleVerdict;
using verifier::VerdictKind;

/// The rule that its text stands for.
core::Result<Rule> read_back(const Rule& rule) {
  SOAPSTONE_ASSIGN_OR_RETURN(rules::RuleFile file, rules::parse_rules(rules::print(rule)));
  if (file.rules.size() != 1) return core::invalid_input("the text is no single rule");
  return std::move(file.rules[0]);
}

std::string reason_of(const RuleVerdict& verdict) {
  if (verdict.kind == VerdictKind::kUnknown) return verdict.reason;
  std::string sizes;
  for (const auto& [name, value] : verdict.refutation->sizes)
    sizes += fmt::format(" {}={}", name, value);
  return "a counterexample at" + (sizes.empty() ? " all sizes" : sizes);
}

/// `concat_matmul`; an operator that follows itself is named once.
std::string operators_of(const core::Graph& side) {
  std::string text, last;
  for (core::NodeId id : side.order()) {
    const std::string& op = side.node(id).op->name;
    if (op == last) continue;
    text += (text.empty() ? "" : "_") + op;
    last = op;
  }
  return text.empty() ? "input" : text;
}

}  // namespace

void RuleProver::admit(std::span<RuleCandidate* const> candidates) {
  std::vector<std::optional<Rule>*> directions;
  std::vector<Rule> rules;
  for (RuleCandidate* candidate : candidates)
    for (auto* direction : {&candidate->forward, &candidate->backward}) {
      if (!*direction) continue;
      Rule rule = **direction;
      rule.name = rule.base_name = fmt::format("found_{}", named_++);
      auto read = read_back(rule);
      if (!read) {
        unproved_.push_back({rules::print(rule), VerdictKind::kUnknown, read.error().message});
        direction->reset();
        continue;
      }
      *direction = *read;
      directions.push_back(direction);
      rules.push_back(*std::move(read));
    }
  const auto verdicts = verifier::verify_all(rules, options_, core::silent(), stop_);
  for (std::size_t k = 0; k < directions.size(); ++k) {
    if (k < verdicts.size())
      settle(*directions[k], verdicts[k]);
    else
      directions[k]->reset();  // stopped
  }
}

void RuleProver::settle(std::optional<Rule>& direction, const RuleVerdict& verdict) {
  cpu_ms_ += verdict.cpu_ms;
  if (!verdict.disagreement.empty())
    status_ = core::Error{core::ErrorCode::kInternal,
                          fmt::format("a rule was proved, but {}", verdict.disagreement),
                          {},
                          "this is a fault of the prover: please report it with the rule\n" +
                              rules::print(*direction)};
  if (verdict.kind == VerdictKind::kProved && verdict.disagreement.empty()) {
    const rules::EvidenceLine line = evidence_of(verdict);
    direction->evidence = line.evidence;
    direction->floats = line.floats;
    ++proved_;
    return;
  }
  if (verdict.disagreement.empty())
    unproved_.push_back({rules::print(*direction), verdict.kind, reason_of(verdict)});
  direction.reset();
}

std::vector<Rule> named_rules(std::span<const RuleCandidate> candidates) {
  std::vector<Rule> rules;
  for (const RuleCandidate& candidate : candidates)
    for (const auto* direction : {&candidate.forward, &candidate.backward}) {
      if (!*direction) continue;
      Rule rule = **direction;
      rule.name = rule.base_name = fmt::format("{}_as_{}_{}", operators_of(rule.source),
                                               operators_of(rule.target), rules.size() + 1);
      rules.push_back(std::move(rule));
    }
  return rules;
}

std::string rule_file_text(std::span<const Rule> rules, const std::string& heading) {
  std::string text = heading;
  for (const Rule& rule : rules) text += "\n" + rules::print(rule);
  return text;
}

nlohmann::ordered_json unproved_json(std::span<const UnprovedRule> unproved) {
  auto json = nlohmann::ordered_json::array();
  for (const UnprovedRule& u : unproved)
    json.push_back(
        {{"verdict", verifier::to_string(u.kind)}, {"reason", u.reason}, {"rule", u.text}});
  return json;
}

}  // namespace soapstone::cli
