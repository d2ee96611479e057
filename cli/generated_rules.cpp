// See generated_rules.h.
#include "cli/generated_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/verify_report.h"

namespace soapstone::cli {
namespace {

using generator::RuleCandidate;
using rules::Rule;
using verifier::RuleVerdict;
using verifier::VerdictKind;

std::string reason_of(const RuleVerdict& verdict) {
  if (!verdict.disagreement.empty()) return verdict.disagreement;
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

/// The text of a rule under another name.
std::string renamed(const std::string& text, const std::string& name) {
  return "rule " + name + text.substr(text.find('\n'));
}

int directions_of(const RuleCandidate& candidate) {
  return static_cast<int>(candidate.forward.has_value()) +
         static_cast<int>(candidate.backward.has_value());
}

}  // namespace

struct RuleProver::Attempt {
  RuleCandidate* candidate = nullptr;
  int wanted = 0;           ///< Directions of the most general form.
  RuleCandidate now, best;  ///< The form at hand; of those before, the one with the most.
  std::vector<std::pair<bool, UnprovedRule>> failures;  ///< Of the form at hand; true: forward.
};

void RuleProver::admit(std::span<RuleCandidate* const> candidates) {
  std::vector<Attempt> attempts;
  for (RuleCandidate* candidate : candidates)
    attempts.push_back({candidate, directions_of(*candidate), *candidate, {}, {}});
  while (!attempts.empty()) {
    prove(attempts);
    std::vector<Attempt> next;
    for (Attempt& attempt : attempts) {
      if (directions_of(attempt.now) > directions_of(attempt.best)) attempt.best = attempt.now;
      const bool done = directions_of(attempt.best) == attempt.wanted || stop_.stop_requested();
      auto less =
          done ? std::nullopt : generator::candidate_of(attempt.now.found, attempt.now.form + 1);
      if (less) {
        attempt.now = *std::move(less);
        next.push_back(std::move(attempt));
        continue;
      }
      *attempt.candidate = std::move(attempt.best);
      for (auto& [forward, failure] : attempt.failures)
        if (!done && !(forward ? attempt.candidate->forward : attempt.candidate->backward))
          unproved_.push_back(std::move(failure));
    }
    attempts = std::move(next);
  }
}

void RuleProver::prove(std::span<Attempt> attempts) {
  std::vector<std::pair<Attempt*, bool>> directions;
  std::vector<Rule> rules;
  for (Attempt& attempt : attempts) {
    attempt.failures.clear();
    for (bool forward : {true, false}) {
      const auto& direction = forward ? attempt.now.forward : attempt.now.backward;
      if (!direction) continue;
      // What has one place in a file gets one verdict.
      ++named_;
      for (Rule rule : direction->instances) {
        rule.base_name = fmt::format("found_{}", named_);
        rule.line = named_;
        rules.push_back(std::move(rule));
      }
      directions.emplace_back(&attempt, forward);
    }
  }
  const auto verdicts = verifier::verify_all(rules, options_, core::silent(), stop_);
  for (std::size_t k = 0; k < directions.size(); ++k) {
    const auto& [attempt, forward] = directions[k];
    if (k < verdicts.size()) {
      settle(*attempt, forward, verdicts[k]);
    } else {  // stopped
      (forward ? attempt->now.forward : attempt->now.backward).reset();
    }
  }
}

void RuleProver::settle(Attempt& attempt, bool forward, const RuleVerdict& verdict) {
  auto& direction = forward ? attempt.now.forward : attempt.now.backward;
  cpu_ms_ += verdict.cpu_ms;
  if (!verdict.disagreement.empty())
    status_ = core::Error{core::ErrorCode::kInternal,
                          fmt::format("a rule was proved, but {}", verdict.disagreement),
                          {},
                          "this is a fault of the prover: please report it with the rule\n" +
                              direction->text};
  if (verdict.kind == VerdictKind::kProved && verdict.disagreement.empty()) {
    direction->evidence = evidence_of(verdict);
    return;
  }
  attempt.failures.emplace_back(forward,
                                UnprovedRule{direction->text, verdict.kind, reason_of(verdict)});
  direction.reset();
}

std::vector<NamedRule> named_rules(std::span<const RuleCandidate> candidates) {
  std::vector<NamedRule> rules;
  for (const RuleCandidate& candidate : candidates)
    for (const auto* direction : {&candidate.forward, &candidate.backward}) {
      if (!*direction) continue;
      const Rule& rule = (*direction)->instances.front();
      rules.push_back({fmt::format("{}_as_{}_{}", operators_of(rule.source),
                                   operators_of(rule.target), rules.size() + 1),
                       {},
                       **direction});
    }
  return rules;
}

std::string rule_file_text(std::span<const NamedRule> rules, const std::string& heading) {
  std::string text = heading;
  std::vector<rules::EvidenceEdit> edits;
  for (const NamedRule& named : rules) {
    text += "\n";
    if (!named.comment.empty()) text += "# " + named.comment + "\n";
    edits.push_back({static_cast<int>(std::ranges::count(text, '\n')) + 1, named.rule.evidence});
    text += renamed(named.rule.text, named.name);
  }
  return rules::with_evidence(text, edits);
}

nlohmann::ordered_json unproved_json(std::span<const UnprovedRule> unproved) {
  auto json = nlohmann::ordered_json::array();
  for (const UnprovedRule& u : unproved)
    json.push_back(
        {{"verdict", verifier::to_string(u.kind)}, {"reason", u.reason}, {"rule", u.text}});
  return json;
}

}  // namespace soapstone::cli
