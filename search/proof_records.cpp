// Records for the report: how the result was made, and which rules had no proof.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>

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

void Optimizer::record_chain() {
  ProofChain& chain = report_.chain;
  chain.input = original_.hash();
  for (const SimplifyStep& step : report_.simplify.steps) {
    if (step.rule) {
      chain.add_rule(baseline_.rules()[*step.rule], step.match, step.hash);
    } else {
      chain.add(ChainStep::Kind::kMergeDuplicates, step.hash);
    }
  }
  if (!chosen_) return;
  for_each_graph(report_.baseline, rules_.rules(), report_.steps,
                 [&](const Step& step, const Graph& graph) {
                   if (step.lemma) {
                     chain.add_lemma(*step.lemma, rules_.rules(), step.match, graph.hash());
                   } else {
                     chain.add_rule(rules_.rules()[step.id], step.match, graph.hash());
                   }
                   return true;
                 });
  if (chain.steps.empty() || chain.steps.back().result != report_.graph.hash())
    chain.add(ChainStep::Kind::kMergeDuplicates, report_.graph.hash());
}

/// Tells of rules without proofs, and of proofs that were not found.
void Optimizer::note_proofs() {
  std::set<std::string> applied;
  for (const SimplifyStep& step : report_.simplify.steps)
    if (step.rule && !baseline_.is_proved(*step.rule))
      applied.insert(baseline_.rules()[*step.rule].base_name);
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
