// Making a chain, and replaying it. The replay believes nothing but the matcher, the prover, and
// what applies rules; the numbers in a step only say where to look.
#include "search/proof_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "search/simplify.h"
#include "verifier/admission.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Result;
using rules::Rule;

/// A rule of the chain, ready to be matched and proved.
struct ProvableRule {
  ProvableRule(const Rule& rule, const verifier::VerifyOptions& options)
      : set({rule}), admission(set, {.believe_files = false, .verify = options}) {}
  rules::RuleSet set;
  verifier::Admission admission;
};

class Replayer {
 public:
  Replayer(const ProofChain& chain, runtime::Backend& backend,
           const verifier::VerifyOptions& options)
      : chain_(chain), backend_(backend) {
    for (const Rule& rule : chain.rules)
      rules_.push_back(std::make_unique<ProvableRule>(rule, options));
  }

  Result<Graph> run(const Graph& graph, const ChainStep& step) {
    switch (step.kind) {
    case ChainStep::Kind::kMergeDuplicates:
      return merge_duplicates(graph);
    case ChainStep::Kind::kFoldConstants:
      return fold_constants(graph, backend_);
    case ChainStep::Kind::kRule:
      return apply(graph, step);
    }
    return graph;
  }

  void count(Replay& replay) const {
    for (const auto& rule : rules_) {
      replay.proofs += rule->admission.proofs_tried();
      replay.proof_cpu_ms += rule->admission.cpu_ms();
    }
  }

 private:
  static core::Error refused(std::string message) {
    return {core::ErrorCode::kNotEquivalent, std::move(message), {}, {}};
  }

  Result<Graph> apply(const Graph& graph, const ChainStep& step) {
    ProvableRule& rule = *rules_[step.rule];
    const std::string& name = chain_.rules[step.rule].name;
    const auto match = find(graph, rule.set, step);
    if (!match) return refused(fmt::format("rule {} does not match there", name));
    const std::string reason = rule.admission.refusal(core::RuleId(0), *match);
    if (!reason.empty()) return refused(fmt::format("rule {} is not proved: {}", name, reason));
    auto result = rules::apply(graph, rule.set[core::RuleId(0)], *match);
    if (!result) return refused(fmt::format("rule {}: {}", name, result.error().message));
    return result;
  }

  static std::optional<rules::Match> find(const Graph& graph, const rules::RuleSet& rule,
                                          const ChainStep& step) {
    std::optional<rules::Match> found;
    rule.for_each_match_at(graph, std::span(step.nodes).first(1),
                           [&](core::RuleId, const rules::Match& match) {
                             if (match.nodes == step.nodes && match.inputs == step.inputs)
                               found = match;
                             return !found;
                           });
    return found;
  }

  const ProofChain& chain_;
  runtime::Backend& backend_;
  std::vector<std::unique_ptr<ProvableRule>> rules_;
};

std::string place(std::size_t step, const ProofChain& chain) {
  return fmt::format("step {} of {}", step + 1, chain.steps.size());
}

}  // namespace

void ProofChain::add(ChainStep::Kind kind, std::uint64_t result) {
  steps.push_back({kind, 0, {}, {}, result});
}

void ProofChain::add_rule(const Rule& rule, const rules::Match& match, std::uint64_t result) {
  Rule plain = rule;
  plain.evidence = {};
  plain.floats = {};
  auto known = rules.begin();
  // Another rule may have the name: of the baseline, say.
  for (; known != rules.end(); ++known) {
    if (known->base_name != rule.base_name) continue;
    plain.name = known->name;
    if (rules::print(*known) == rules::print(plain)) break;
  }
  if (known == rules.end()) {
    const auto taken = [&] {
      return std::ranges::find(rules, plain.name, &Rule::name) != rules.end();
    };
    plain.name = rule.name;
    for (int k = 2; taken(); ++k) plain.name = fmt::format("{} {}", rule.name, k);
    known = rules.insert(rules.end(), std::move(plain));
  }
  steps.push_back({ChainStep::Kind::kRule, static_cast<std::size_t>(known - rules.begin()),
                   match.nodes, match.inputs, result});
}

Result<Replay> replay(const ProofChain& chain, const Graph& input, runtime::Backend& backend,
                      const verifier::VerifyOptions& options, core::ProgressSink& progress,
                      const core::StopToken& stop) {
  using core::Error, core::ErrorCode;
  if (input.hash() != chain.input)
    return Error{ErrorCode::kNotEquivalent,
                 "the chain begins at another graph",
                 {},
                 "give the original model, and the same --shape as to optimize-graph"};
  Replayer replayer(chain, backend, options);
  Replay result{input, 0, 0};
  for (std::size_t k = 0; k < chain.steps.size(); ++k) {
    if (stop.stop_requested()) return Error{ErrorCode::kInterrupted, "interrupted", {}, {}};
    const ChainStep& step = chain.steps[k];
    progress.update(k, chain.steps.size(), place(k, chain));
    auto next = replayer.run(result.graph, step);
    if (!next) return next.error().at(place(k, chain));
    result.graph = *std::move(next);
    if (result.graph.hash() == step.result) continue;
    const bool folds = step.kind == ChainStep::Kind::kFoldConstants;
    return Error{
        ErrorCode::kNotEquivalent, "it leads to another graph than the chain says", place(k, chain),
        folds ? "constants are compared bit by bit: use the device that computed them" : ""};
  }
  replayer.count(result);
  return result;
}

}  // namespace soapstone::search
