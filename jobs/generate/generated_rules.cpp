// See generated_rules.h.
#include "jobs/generate/generated_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/tasks/tasks.h"
#include "verifier/verdict_evidence.h"

namespace soapstone::jobs {
namespace {

using generator::DirectedRule;
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

/// Adds the instances so that verify_all() gives them one verdict: they share a place in a file.
void add_as_one(std::span<const Rule> instances, int number, std::vector<Rule>& rules) {
  for (Rule rule : instances) {
    rule.base_name = fmt::format("found_{}", number);
    rule.line = number;
    rules.push_back(std::move(rule));
  }
}

int directions_of(const RuleCandidate& candidate) {
  return static_cast<int>(candidate.forward.has_value()) +
         static_cast<int>(candidate.backward.has_value());
}

}  // namespace

struct RuleProver::Attempt {
  enum class ProofForm : std::uint8_t { kGeneral, kLeast, kBetween };
  RuleCandidate* candidate = nullptr;
  int wanted = 0;           ///< Directions that there may be.
  RuleCandidate now, best;  ///< The form at hand; of those before, the one with the most.
  ProofForm stage = ProofForm::kGeneral;
  int last_form = 0, least_form = 0;
  /// Unproved directions of the form at hand and of the least general one; true: forward.
  std::vector<std::pair<bool, UnprovedRule>> failures, unproved;

  /// Makes this form the one at hand. False: there is none.
  bool take(std::optional<RuleCandidate> form, ProofForm next) {
    if (!form) return false;
    now = *std::move(form);
    stage = next;
    return true;
  }
};

void RuleProver::admit(std::span<RuleCandidate* const> candidates) {
  std::vector<Attempt> attempts;
  for (RuleCandidate* candidate : candidates) {
    Attempt& attempt = attempts.emplace_back();
    attempt.candidate = candidate;
    attempt.wanted = directions_of(*candidate);
    attempt.now = *candidate;
  }
  core::TaskArena arena(options_.jobs);
  while (!attempts.empty()) {
    prove(attempts);
    std::vector<std::uint8_t> going_on(attempts.size());
    arena.parallel_for(0, attempts.size(), [&](std::size_t k) {
      going_on[k] = !stop_.stop_requested() && goes_on(attempts[k]) ? 1 : 0;
    });
    std::vector<Attempt> next;
    for (std::size_t k = 0; k < attempts.size(); ++k) {
      Attempt& attempt = attempts[k];
      if (going_on[k] != 0) {
        next.push_back(std::move(attempt));
        continue;
      }
      *attempt.candidate = std::move(attempt.best);
      for (auto& [forward, failure] : attempt.unproved)
        if (!(forward ? attempt.candidate->forward : attempt.candidate->backward))
          unproved_.push_back(std::move(failure));
    }
    attempts = std::move(next);
  }
}

/// Notes what was proved of the form at hand. After the most general form comes the least general
/// one: what is not proved of that is not proved of those between them either.
bool RuleProver::goes_on(Attempt& attempt) {
  const int proved = directions_of(attempt.now);
  const int form = std::exchange(attempt.last_form, attempt.now.form);
  const bool is_best = attempt.stage == Attempt::ProofForm::kBetween
                           ? proved >= attempt.wanted
                           : proved > directions_of(attempt.best);
  if (is_best) attempt.best = attempt.now;
  switch (attempt.stage) {
  case Attempt::ProofForm::kGeneral: {
    if (proved == attempt.wanted) return false;
    attempt.unproved = attempt.failures;
    auto least = generator::narrowest_candidate_of(attempt.now.found);
    if (least) attempt.least_form = least->form;
    return attempt.last_form != attempt.least_form &&
           attempt.take(std::move(least), Attempt::ProofForm::kLeast);
  }
  case Attempt::ProofForm::kLeast:
    attempt.unproved = attempt.failures;
    attempt.wanted = proved;
    attempt.last_form = form;
    if (!is_best) return false;
    break;
  case Attempt::ProofForm::kBetween:
    if (is_best) return false;
    break;
  }
  auto between = generator::candidate_of(attempt.now.found, attempt.last_form + 1);
  return between && between->form != attempt.least_form &&
         attempt.take(std::move(between), Attempt::ProofForm::kBetween);
}

/// The prover compares the sides in the same way from right to left. If it can say nothing about
/// the first direction, the other one is not tried.
void RuleProver::prove(std::span<Attempt> attempts) {
  std::vector<std::pair<Attempt*, bool>> first, second;
  for (Attempt& attempt : attempts) {
    attempt.failures.clear();
    first.emplace_back(&attempt, attempt.now.forward.has_value());
    if (attempt.now.forward && attempt.now.backward) second.emplace_back(&attempt, false);
  }
  prove(first);
  std::erase_if(second, [&](const auto& entry) {
    Attempt& attempt = *entry.first;
    if (attempt.failures.empty() || attempt.failures[0].second.kind != VerdictKind::kUnknown)
      return false;
    UnprovedRule failure = attempt.failures[0].second;
    failure.text = attempt.now.backward->text;
    attempt.now.backward.reset();
    attempt.failures.emplace_back(false, std::move(failure));
    return true;
  });
  prove(second);
}

void RuleProver::prove(std::span<const std::pair<Attempt*, bool>> directions) {
  std::vector<Rule> rules;
  for (const auto& [attempt, forward] : directions)
    add_as_one((forward ? attempt->now.forward : attempt->now.backward)->instances, ++named_,
               rules);
  verifier::BatchOptions options = options_;
  // Enough to see that there are sizes. The rest is for label().
  constexpr int kSizesOfProof = 4;
  options.check_sizes = kSizesOfProof;
  options.edge_tries = 0;
  auto verdicts = verifier::verify_all(rules, options, core::silent(), stop_);
  for (std::size_t k = 0; k < directions.size(); ++k) {
    const auto& [attempt, forward] = directions[k];
    if (k < verdicts.size()) {
      settle(*attempt, forward, std::move(verdicts[k]));
    } else {  // stopped
      (forward ? attempt->now.forward : attempt->now.backward).reset();
    }
  }
}

void RuleProver::settle(Attempt& attempt, bool forward, RuleVerdict verdict) {
  auto& direction = forward ? attempt.now.forward : attempt.now.backward;
  cpu_ms_ += verdict.cpu_ms;
  note_disagreement(*direction, verdict);
  if (verdict.kind == VerdictKind::kProved && verdict.disagreement.empty()) {
    proved_.insert_or_assign(direction->text, std::move(verdict));
    return;
  }
  attempt.failures.emplace_back(forward,
                                UnprovedRule{direction->text, verdict.kind, reason_of(verdict)});
  direction.reset();
}

void RuleProver::note_disagreement(const DirectedRule& rule, const RuleVerdict& verdict) {
  if (verdict.disagreement.empty()) return;
  status_ =
      core::Error{core::ErrorCode::kInternal,
                  fmt::format("a rule was proved, but {}", verdict.disagreement),
                  {},
                  "this is a fault of the prover: please report it with the rule\n" + rule.text};
}

void RuleProver::label(std::span<RuleCandidate> kept, core::ProgressSink& progress,
                       const core::StopToken& stop) {
  std::vector<std::optional<DirectedRule>*> directions;
  std::vector<Rule> rules;
  for (RuleCandidate& candidate : kept)
    for (auto* direction : {&candidate.forward, &candidate.backward}) {
      if (!*direction) continue;
      directions.push_back(direction);
      const std::size_t first = rules.size();
      add_as_one((*direction)->instances, static_cast<int>(directions.size()), rules);
      const RuleVerdict& proof = proved_.at((*direction)->text);
      for (std::size_t k = first; k < rules.size(); ++k) {
        rules[k].floats = proof.floats;
        rules[k].types = proof.types;
      }
    }
  verifier::BatchOptions options = options_;
  options.proves = false;
  const auto verdicts = verifier::verify_all(rules, options, progress, stop);
  for (std::size_t k = 0; k < directions.size(); ++k) {
    std::optional<DirectedRule>& direction = *directions[k];
    if (k >= verdicts.size()) {
      direction.reset();
      continue;
    }
    note_disagreement(*direction, verdicts[k]);
    RuleVerdict proof = proved_.at(direction->text);
    proof.law_of_function = proof.law_of_function || verdicts[k].law_of_function;
    proof.floats = verdicts[k].floats;
    proof.edges = verdicts[k].edges;
    direction->evidence = verifier::evidence_of(proof);
  }
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

}  // namespace soapstone::jobs
