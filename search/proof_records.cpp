// Records for the report: how the result was made, and which rules had no proof.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "core/base/clock.h"
#include "search/optimizer.h"

namespace soapstone::search {
namespace {

using core::Graph;

/// Rules as written, not instances.
std::size_t count_unproved(const verifier::Admission& admission) {
  std::set<std::string> names;
  const auto all = admission.rules().rules();
  for (std::size_t k = 0; k < all.size(); ++k)
    if (!admission.is_proved(core::RuleId(k))) names.insert(all[k].base_name);
  return names.size();
}

}  // namespace

/// The first steps from the original towards the baseline.
ProofChain Optimizer::chain_of_baseline(std::size_t steps) const {
  ProofChain chain;
  chain.input = original_.hash();
  for (const SimplifyStep& step : std::span(report_.simplify.steps).first(steps)) {
    switch (step.kind) {
    case SimplifyStep::Kind::kRule:
      chain.add_rule(baseline_.rules()[step.rule], step.match, step.hash);
      break;
    case SimplifyStep::Kind::kDecideChoices:
      chain.add_choices(step.match.nodes, step.hash);
      break;
    case SimplifyStep::Kind::kMergeDuplicates:
      chain.add(ChainStep::Kind::kMergeDuplicates, step.hash);
      break;
    }
  }
  return chain;
}

/// From the original to a graph that these steps make of the baseline.
ProofChain Optimizer::chain_of(const Graph& graph, const std::vector<Step>& steps) const {
  ProofChain chain = chain_of_baseline(report_.simplify.steps.size());
  for_each_graph(report_.baseline, rules_.rules(), steps,
                 [&](const Step& step, const Graph& after) {
                   if (step.lemma) {
                     chain.add_lemma(*step.lemma, rules_.rules(), step.match, after.hash());
                   } else {
                     chain.add_rule(rules_.rules()[step.id], step.match, after.hash());
                   }
                   return true;
                 });
  if (chain.steps.empty() || chain.steps.back().result != graph.hash())
    chain.add(ChainStep::Kind::kMergeDuplicates, graph.hash());
  return chain;
}

void Optimizer::record_chain() {
  report_.chain = chosen_ ? chain_of(report_.graph, report_.steps)
                          : chain_of_baseline(report_.simplify.steps.size());
}

void Optimizer::for_each_use(
    const std::function<void(verifier::Admission&, core::RuleId, const rules::Match&)>& use) const {
  for (const SimplifyStep& step : report_.simplify.steps)
    if (step.kind == SimplifyStep::Kind::kRule) use(baseline_, step.rule, step.match);
  if (!chosen_) return;
  for (const Step& step : report_.steps) {
    if (!step.lemma) use(rules_, step.id, step.match);
    for (std::size_t k = 0; step.lemma && k < step.lemma->steps.size(); ++k)
      use(rules_, step.lemma->steps[k].rule, step.match);
  }
}

/// Tells what the result does with NaN and infinities that the original does not.
void Optimizer::note_specials() {
  // Rules that were made for this graph are observed on numbers, which whoever interrupts does not
  // wait for.
  constexpr double kMostCpuS = 0.3;
  const double begin_s = core::process_cpu_s();
  const auto is_over = [&] { return interrupted() && core::process_cpu_s() - begin_s > kMostCpuS; };
  std::map<std::string, std::optional<rules::Edges>> changes;
  for_each_use([&](verifier::Admission& rules, core::RuleId id, const rules::Match& match) {
    const rules::Rule& rule = rules.rules()[id];
    if (const auto known = changes.find(rule.base_name); known != changes.end() && !known->second)
      return;
    const auto effects = is_over() ? std::nullopt : rules.effects(id, match);
    if (effects && effects->empty()) return;
    const auto [known, is_new] = changes.try_emplace(rule.base_name, effects);
    if (!is_new && known->second && effects) known->second->note(*effects);
    if (!effects) known->second.reset();
  });
  for (auto& [rule, effects] : changes)
    report_.special_changes.push_back({rule, std::move(effects)});
  std::set<std::string> left_out;
  for (const verifier::Admission* admission : {&baseline_, &rules_})
    for (std::string& name : admission->refused_for_specials()) left_out.insert(std::move(name));
  report_.left_out_for_specials.assign(left_out.begin(), left_out.end());
}

/// Tells of rules without proofs, and of proofs that were not found.
void Optimizer::note_proofs() {
  std::set<std::string> applied;
  for (const SimplifyStep& step : report_.simplify.steps)
    if (step.kind == SimplifyStep::Kind::kRule && !baseline_.is_proved(step.rule))
      applied.insert(baseline_.rules()[step.rule].base_name);
  if (chosen_) {
    for (const Step& step : chosen().steps) {
      if (!step.lemma && !rules_.is_proved(step.id)) applied.insert(step.base_rule);
      if (!step.lemma) continue;
      for (const LemmaStep& used : step.lemma->steps)
        if (!rules_.is_proved(used.rule)) applied.insert(rules_.rules()[used.rule].base_name);
    }
  }
  report_.unproved_rules_applied.assign(applied.begin(), applied.end());
  for (const verifier::Admission* admission : {&baseline_, &rules_}) {
    report_.unproved_rules += count_unproved(*admission);
    report_.proofs_tried += admission->proofs_tried();
    report_.proofs_kept += admission->proofs_kept();
    report_.proof_cpu_s += 1e-3 * admission->cpu_ms();
    std::ranges::move(admission->refusals(), std::back_inserter(report_.refusals));
  }
}

}  // namespace soapstone::search
