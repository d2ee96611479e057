// Making a chain, and replaying it. The replay believes nothing but the matcher, the prover, and
// what applies rules; the numbers in a step only say where to look.
#include "search/proofs/proof_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "rules/matching/match_at.h"
#include "rules/text/evidence.h"
#include "search/baseline/simplify.h"
#include "search/proofs/derivation.h"
#include "search/proofs/resized_rule.h"
#include "transforms/base/rewrite_sequence.h"
#include "verifier/admission.h"

namespace soapstone::search {

using core::Graph;
using core::Result;
using rules::Rule;

/// A rule of the chain, ready to be matched and proved.
struct ProvableRule {
  ProvableRule(const Rule& rule, const verifier::AdmissionOptions& options)
      : set({rule}), admission(set, options) {}
  rules::RuleSet set;
  verifier::Admission admission;
};

struct ReplayMemory::Rules {
  using ByText = std::map<std::string, std::unique_ptr<ProvableRule>>;
  ByText as_written, resized;
};

ReplayMemory::ReplayMemory() : rules_(std::make_unique<Rules>()) {}
ReplayMemory::~ReplayMemory() = default;

/// Takes the steps of a chain one by one.
class Replayer {
 public:
  /// `resizes`: rules that name other sizes than the graph has are taken for those of the graph.
  Replayer(const ProofChain& chain, runtime::Backend& backend, const ReplayOptions& options,
           bool resizes)
      : chain_(chain), backend_(backend), resizes_(resizes),
        allow_unproved_(options.allow_unproved), options_{.believe_files = false,
                                                          .allow_range_changes =
                                                              options.allow_range_changes,
                                                          .verify = options.verify},
        known_(options.memory != nullptr ? *options.memory->rules_ : *own_.rules_),
        rules_(chain.rules.size()), derived_(chain.rules.size()) {}

  Result<Graph> run(const Graph& graph, const ChainStep& step) {
    switch (step.kind) {
    case ChainStep::Kind::kDecideChoices:
      if (auto decided = decide_choices(graph, step.nodes)) return *std::move(decided);
      return refused("a choice is not made in one way everywhere");
    case ChainStep::Kind::kMergeDuplicates:
      return merge_duplicates(graph);
    case ChainStep::Kind::kFoldConstants:
      return fold_constants(graph, backend_, step.nodes);
    case ChainStep::Kind::kDerive:
      SOAPSTONE_RETURN_IF_ERROR(derive(step));
      return graph;
    case ChainStep::Kind::kRule:
      return derived_[step.rule] ? apply_derived(graph, step) : apply(graph, step);
    }
    return graph;
  }

  void count(Replay& replay) const {
    for (const ProvableRule* const rule : rules_) {
      if (rule == nullptr) continue;
      replay.proofs += rule->admission.proofs_tried();
      replay.proof_cpu_ms += rule->admission.cpu_ms();
    }
  }

 private:
  static core::Error refused(std::string message) {
    return {core::ErrorCode::kNotEquivalent, std::move(message), {}, {}};
  }

  Result<Graph> apply(const Graph& graph, const ChainStep& step) {
    ProvableRule& rule = provable(step.rule);
    const std::string& name = chain_.rules[step.rule].name;
    const auto match =
        rules::find_match_at(graph, rule.set, core::RuleId(0), step.nodes, step.inputs);
    if (!match && resizes_) return apply_resized(graph, step);
    if (!match) return refused(fmt::format("rule {} does not match there", name));
    const std::string reason = rule.admission.refusal(core::RuleId(0), *match);
    if (!reason.empty() && !allow_unproved_)
      return refused(fmt::format("rule {} is not admitted: {}", name, reason));
    auto result = rules::apply(graph, rule.set[core::RuleId(0)], *match);
    if (!result) return refused(fmt::format("rule {}: {}", name, result.error().message));
    return result;
  }

  /// A proof for numbers may take too many steps where one for all sizes takes few.
  Result<Graph> apply_resized(const Graph& graph, const ChainStep& step) {
    const Rule& original = chain_.rules[step.rule];
    std::string reason = "it does not match there";
    for (const Rule& rule : resized(original, graph, step.nodes, step.inputs)) {
      std::vector<std::string> texts{rules::print(rule)};
      std::ranges::move(transforms::with_open_sizes(texts.front()), std::back_inserter(texts));
      for (const std::string& text : texts) {
        ProvableRule* const provable = resized_rule(text, original);
        if (provable == nullptr) continue;
        const Rule& made = provable->set[core::RuleId(0)];
        const auto match = rules::match_at(graph, made, step.nodes, step.inputs);
        if (!match) continue;
        reason = provable->admission.refusal(core::RuleId(0), *match);
        if (reason.empty()) return rules::apply(graph, made, *match);
      }
    }
    return refused(fmt::format("rule {} at other sizes: {}", original.name, reason));
  }

  /// The rule is proved when it is asked for; what is known of it at the edges of types is the same
  /// for all sizes. Null: the text has no types.
  ProvableRule* resized_rule(const std::string& text, const Rule& original) {
    const auto [known, is_new] = known_.resized.emplace(text, nullptr);
    if (!is_new) return known->second.get();
    transforms::RewriteStep step;
    step.floats = original.floats;
    auto rule = transforms::made_rule(step, text);
    if (!rule) return nullptr;
    rule->is_placed = true;
    verifier::AdmissionOptions options = options_;
    options.believe_files = true;
    known->second = std::make_unique<ProvableRule>(*rule, options);
    return known->second.get();
  }

  ProvableRule& provable(std::size_t rule) {
    if (rules_[rule] == nullptr) {
      auto& known = known_.as_written[rules::print(chain_.rules[rule])];
      if (!known) known = std::make_unique<ProvableRule>(chain_.rules[rule], options_);
      rules_[rule] = known.get();
    }
    return *rules_[rule];
  }

  /// Its source is made equal to its target by the rules that are used, and by nothing else.
  core::Status derive(const ChainStep& step) {
    const Rule& lemma = chain_.rules[step.rule];
    if (lemma.source.symbols().size() > 0)
      return refused(fmt::format("{} has sizes that are not given", lemma.name));
    Derivation derivation(lemma.source);
    for (std::size_t k = 0; k < step.uses.size(); ++k) {
      const ChainStep::Use& use = step.uses[k];
      const auto wrong = [&](std::string_view why) {
        return refused(fmt::format("use {} of {}: rule {}: {}", k + 1, step.uses.size(),
                                   chain_.rules[use.rule].name, why));
      };
      std::vector<core::TensorType> types;
      for (const std::size_t tensor : use.inputs) {
        if (tensor >= derivation.size()) return wrong("there is no such tensor yet");
        types.push_back(derivation.type(tensor));
      }
      const auto equation =
          equation_at(provable(use.rule).admission, core::RuleId(0), types, use.sizes);
      if (!equation) return wrong(equation.error().message);
      derivation.assume(*equation, use.inputs);
    }
    if (!derivation.gives(lemma.target))
      return refused(fmt::format("{} does not follow from these", lemma.name));
    derived_[step.rule] = true;
    return core::Done{};
  }

  Result<Graph> apply_derived(const Graph& graph, const ChainStep& step) {
    const Rule& lemma = chain_.rules[step.rule];
    const auto match = rules::match_at(graph, lemma, step.nodes, step.inputs);
    if (!match && resizes_) return apply_resized(graph, step);
    if (!match) return refused(fmt::format("{} does not match there", lemma.name));
    auto result = rules::apply(graph, lemma, *match);
    if (!result) return refused(fmt::format("{}: {}", lemma.name, result.error().message));
    return result;
  }

  const ProofChain& chain_;
  runtime::Backend& backend_;
  bool resizes_;
  bool allow_unproved_;
  verifier::AdmissionOptions options_;
  ReplayMemory own_;  // of a replay without one
  ReplayMemory::Rules& known_;
  std::vector<ProvableRule*> rules_;  // by rule of the chain; null: not asked for yet
  std::vector<bool> derived_;         // likewise
};

namespace {

std::string place(std::size_t step, const ProofChain& chain) {
  return fmt::format("step {} of {}", step + 1, chain.steps.size());
}

}  // namespace

void ProofChain::add(ChainStep::Kind kind, std::uint64_t result) {
  ChainStep step;
  step.kind = kind;
  step.result = result;
  steps.push_back(std::move(step));
}

/// The position of the rule in the chain. A rule that is not there is added.
std::size_t ProofChain::index_of(const Rule& rule) {
  Rule plain = rule;
  rules::put_label({}, plain);
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
  return static_cast<std::size_t>(known - rules.begin());
}

void ProofChain::add_choices(const std::vector<core::NodeId>& choices, std::uint64_t result) {
  add(ChainStep::Kind::kDecideChoices, result);
  steps.back().nodes = choices;
}

void ProofChain::add_rule(const Rule& rule, const rules::Match& match, std::uint64_t result) {
  steps.push_back({ChainStep::Kind::kRule, index_of(rule), match.nodes, match.inputs, {}, result});
}

void ProofChain::add_lemma(const Lemma& lemma, const rules::RuleSet& set, const rules::Match& match,
                           std::uint64_t result) {
  const std::size_t count = rules.size();
  const std::size_t proved = index_of(lemma.rule);
  if (rules.size() > count) {
    ChainStep step;
    step.kind = ChainStep::Kind::kDerive;
    step.rule = proved;
    for (const LemmaStep& used : lemma.steps)
      step.uses.push_back({index_of(set[used.rule]), used.inputs, used.sizes});
    step.result = steps.empty() ? input : steps.back().result;
    steps.push_back(std::move(step));
  }
  steps.push_back({ChainStep::Kind::kRule, proved, match.nodes, match.inputs, {}, result});
}

Result<Replay> replay(const ProofChain& chain, const Graph& input, runtime::Backend& backend,
                      const ReplayOptions& options, core::ProgressSink& progress,
                      const core::StopToken& stop) {
  using core::Error, core::ErrorCode;
  if (input.hash() != chain.input)
    return Error{ErrorCode::kNotEquivalent,
                 "the chain begins at another graph",
                 {},
                 "give the original model, and the same --shape as to optimize-graph"};
  Replayer replayer(chain, backend, options, false);
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

Result<Graph> replay_at_other_sizes(const ProofChain& chain, const Graph& input,
                                    runtime::Backend& backend, const ReplayOptions& options,
                                    const core::StopToken& stop) {
  Replayer replayer(chain, backend, options, true);
  Graph graph = input;
  for (std::size_t k = 0; k < chain.steps.size(); ++k) {
    if (stop.stop_requested())
      return core::Error{core::ErrorCode::kInterrupted, "interrupted", {}, {}};
    auto next = replayer.run(graph, chain.steps[k]);
    if (!next) return next.error().at(place(k, chain));
    graph = *std::move(next);
  }
  return graph;
}

}  // namespace soapstone::search
