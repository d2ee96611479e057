// Finds sources of rules in a graph: for each node the rules whose source may start there, then
// step by step along edges, undoing what a failed step has bound. Nothing is allocated per attempt.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "rules/matching/pattern_binding.h"
#include "rules/matching/rule_index.h"
#include "rules/rule/constraints.h"

namespace soapstone::rules {

using core::Node;
using core::RuleId;

namespace {

/// Up to so many siblings all subsets are tried, for rules of few.
constexpr std::size_t kManySiblings = 5, kFewSiblings = 4;

/// The state of one search through one graph.
class Search {
 public:
  using Index = RuleSet::Index;

  Search(const Graph& graph, std::span<const Rule> rules, const Index& index,
         const RuleSet::Found& found)
      : graph_(graph), rules_(rules), index_(index), found_(found), nodes_(index.node_bound),
        binding_(graph, index.slot_bound, index.symbol_bound, index.equation_bound) {}

  /// All matches that include one of these nodes, each once.
  void run_at(std::span<const NodeId> nodes) {
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      earlier_ = nodes.first(k);
      const bool repeated = std::ranges::find(earlier_, nodes[k]) != earlier_.end();
      if (!repeated && graph_.contains(nodes[k]) && !start_at(nodes[k], false)) return;
    }
  }

  /// All matches that start at the node. False: the caller has seen enough.
  bool start_at(NodeId id, bool anchors_only) {
    return index_.for_each_start(graph_, id, anchors_only,
                                 [&](const Index::Entry& entry) { return start(entry, id); });
  }

 private:
  bool start(const Index::Entry& entry, NodeId id) {
    pattern_ = &index_.patterns[entry.rule];
    rule_ = entry.rule;
    plan_ = &pattern_->plans[entry.node];
    binding_.use(*pattern_);
    return visit(0, id);
  }

  bool step(std::size_t k) {
    if (k == plan_->size()) return complete();
    const Step& step = (*plan_)[k];
    const TensorId via = binding_.slot(static_cast<std::size_t>(step.via));
    if (step.to_producer) {
      const NodeId producer = graph_.tensor(via).producer;
      return !producer.valid() || visit(k, producer);
    }
    if (const auto sibling = determined_sibling(k, via))
      return !sibling->valid() || visit(k, *sibling);
    for (NodeId consumer : graph_.consumers(via))
      if (!visit(k, consumer)) return false;
    return true;
  }

  /// Of many siblings, runs of neighbors in the order of ids are matched instead of all subsets,
  /// and only by the instance of a rule that takes most of them. Returns the one that a sibling
  /// matched before leaves for this step, or none if there is no such; nothing if any will do.
  std::optional<NodeId> determined_sibling(std::size_t k, TensorId via) const {
    const NodePattern& wanted = pattern_->nodes[static_cast<std::size_t>((*plan_)[k].node)];
    const bool few = wanted.siblings <= kFewSiblings;
    if (wanted.siblings < 2 || wanted.op->commutative ||
        binding_.slot(static_cast<std::size_t>(wanted.inputs[wanted.shared])) != via)
      return std::nullopt;
    for (std::size_t i = k; i-- > 0;) {
      const auto which = static_cast<std::size_t>((*plan_)[i].node);
      const NodePattern& known = pattern_->nodes[which];
      if (known.op != wanted.op || known.siblings != wanted.siblings ||
          known.shared != wanted.shared ||
          known.inputs[known.shared] != wanted.inputs[wanted.shared])
        continue;
      const std::vector<NodeId> all = siblings_of(nodes_[which], known.shared, via);
      const auto& larger = pattern_->larger_families;
      if (!larger.empty() && larger.front() <= all.size()) return NodeId::none();
      if (few && all.size() <= kManySiblings) return std::nullopt;
      const auto at = std::ranges::lower_bound(all, nodes_[which]) - all.begin();
      const auto place = at + static_cast<std::ptrdiff_t>(wanted.sibling) -
                         static_cast<std::ptrdiff_t>(known.sibling);
      const bool is_there = place >= 0 && place < static_cast<std::ptrdiff_t>(all.size());
      return is_there ? all[static_cast<std::size_t>(place)] : NodeId::none();
    }
    return std::nullopt;
  }

  /// Whether the results are read by the same operators.
  bool are_read_alike(const Node& a, const Node& b) const {
    const auto op_of = [&](NodeId id) { return graph_.node(id).op; };
    return std::ranges::equal(graph_.consumers(a.outputs[0]), graph_.consumers(b.outputs[0]), {},
                              op_of, op_of);
  }

  /// The readers of a tensor that are like this one, in the order of their ids.
  std::vector<NodeId> siblings_of(NodeId id, std::size_t operand, TensorId via) const {
    const Node& model = graph_.node(id);
    std::vector<NodeId> all;
    for (const NodeId reader : graph_.consumers(via)) {
      const Node& node = graph_.node(reader);
      if (node.op == model.op && node.inputs.size() > operand && node.inputs[operand] == via &&
          node.attributes == model.attributes && are_read_alike(node, model))
        all.push_back(reader);
    }
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
  }

  /// Takes the node for the k-th of the plan, if it fits, and goes on from there.
  bool visit(std::size_t k, NodeId id) {
    const auto which = static_cast<std::size_t>((*plan_)[k].node);
    const NodePattern& wanted = pattern_->nodes[which];
    const Node& node = graph_.node(id);
    if (node.op != wanted.op || node.outputs.size() != wanted.outputs.size()) return true;
    std::size_t inputs = node.inputs.size();
    while (inputs > 0 && !node.inputs[inputs - 1].valid()) --inputs;
    if (inputs != wanted.inputs.size() || is_taken(id, k)) return true;
    const auto before = binding_.mark();
    nodes_[which] = id;
    bool go_on = true;
    if (binding_.match_attributes(wanted, node.attributes) && binding_.bind_outputs(wanted, node)) {
      const auto without_inputs = binding_.mark();
      if (binding_.bind_inputs(wanted, node, false)) go_on = step(k + 1);
      const bool exchange = go_on && wanted.op->commutative && inputs >= 2 &&
                            node.inputs[0] != node.inputs[1] &&
                            wanted.inputs[0] != wanted.inputs[1];
      if (exchange) {
        binding_.undo(without_inputs);
        if (binding_.bind_inputs(wanted, node, true)) go_on = step(k + 1);
      }
    }
    binding_.undo(before);
    return go_on;
  }

  bool is_taken(NodeId id, std::size_t k) const {
    for (std::size_t i = 0; i < k; ++i)
      if (nodes_[static_cast<std::size_t>((*plan_)[i].node)] == id) return true;
    return false;
  }

  // A whole pattern is there: what remains are equations, guards and symmetries.

  bool complete() {
    if (!includes_first_turn() || !is_first_of_symmetric() || !binding_.solve_equations())
      return true;
    const Rule& rule = rules_[rule_];
    if (!guard_holds(rule, binding_.numbers())) return true;
    const auto float_type = common_float_type(*pattern_, [&](std::size_t slot) {
      return graph_.tensor(binding_.slot(slot)).type.data_type;
    });
    if (!float_type) return true;
    match_.float_type = *float_type;
    const auto slots = binding_.slots().begin();
    const auto inputs = static_cast<std::ptrdiff_t>(rule.source.inputs().size());
    match_.inputs.assign(slots, slots + inputs);
    match_.nodes.assign(nodes_.begin(),
                        nodes_.begin() + static_cast<std::ptrdiff_t>(pattern_->nodes.size()));
    match_.outputs.clear();
    for (std::int32_t slot : pattern_->outputs)
      match_.outputs.push_back(binding_.slot(static_cast<std::size_t>(slot)));
    const auto numbers = binding_.numbers().begin();
    const auto symbols = static_cast<std::ptrdiff_t>(rule.source.symbols().size());
    match_.sizes.assign(numbers, numbers + symbols);
    return found_(RuleId(rule_), match_);
  }

  /// With several nodes to include, a match belongs to the first of them that is in it.
  bool includes_first_turn() const {
    for (std::size_t k = 0; k < pattern_->nodes.size() && !earlier_.empty(); ++k)
      if (std::ranges::find(earlier_, nodes_[k]) != earlier_.end()) return false;
    return true;
  }

  bool is_first_of_symmetric() const {
    for (const Symmetry& symmetry : index_.symmetries[rule_]) {
      auto order = std::strong_ordering::equal;
      for (std::size_t k = 0; k < symmetry.nodes.size() && order == 0; ++k)
        order = nodes_[k] <=> nodes_[symmetry.nodes[k]];
      for (std::size_t k = 0; k < symmetry.inputs.size() && order == 0; ++k)
        order = binding_.slot(k) <=> binding_.slot(symmetry.inputs[k]);
      if (order > 0) return false;
    }
    return true;
  }

  const Graph& graph_;
  std::span<const Rule> rules_;
  const Index& index_;
  const RuleSet::Found& found_;

  std::vector<NodeId> nodes_;
  PatternBinding binding_;

  const Pattern* pattern_ = nullptr;
  const Plan* plan_ = nullptr;
  std::uint32_t rule_ = 0;
  std::span<const NodeId> earlier_;  // run_at's nodes before this one
  Match match_;
};

/// Ranks of results that depend on parameters, from some values of them.
void find_ranks(const Rule& rule, Pattern& pattern) {
  const auto values = sample_parameters(rule, 1);
  if (!values) return;
  const auto special = specialize(rule, *values);
  if (!special) return;
  for (NodePattern& wanted : pattern.nodes) {
    const core::Node& node = special->source.node(special->source.order()[wanted.place]);
    wanted.result_rank =
        static_cast<int>(special->source.tensor(node.outputs[0]).type.shape.size());
  }
}

/// Notes in each pattern which other instances of its rule have more siblings.
void compare_families(std::span<const Rule> rules, std::vector<Pattern>& patterns) {
  std::map<std::string_view, std::set<std::uint32_t>> sizes;
  for (std::size_t k = 0; k < rules.size(); ++k)
    sizes[rules[k].base_name].insert(patterns[k].siblings);
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const std::set<std::uint32_t>& all = sizes[rules[k].base_name];
    patterns[k].larger_families.assign(all.upper_bound(patterns[k].siblings), all.end());
  }
}

}  // namespace

RuleSet::RuleSet(std::vector<Rule> rules)
    : rules_(std::make_shared<std::vector<Rule>>(std::move(rules))) {
  auto index = std::make_shared<Index>();
  for (const Rule& rule : *rules_) {
    if (rule.is_placed) {
      index->add_placed();
      continue;
    }
    auto pattern = compile_pattern(rule, Numbers::kConstants);
    CHECK(pattern, "rule `" + rule.name + "`: " + pattern.error().to_string());
    if (!rule.parameters.empty()) find_ranks(rule, *pattern);
    index->add(rule, *std::move(pattern));
  }
  compare_families(*rules_, index->patterns);
  index_ = std::move(index);
}

void RuleSet::add_placed(std::vector<Rule> rules) {
  for (Rule& rule : rules) {
    CHECK(rule.is_placed, "rule `" + rule.name + "` is not placed");
    rules_->push_back(std::move(rule));
  }
}

void RuleSet::for_each_match(const Graph& graph, const Found& found) const {
  Search search(graph, *rules_, *index_, found);
  for (NodeId node : graph.order())
    if (!search.start_at(node, true)) return;
}

void RuleSet::for_each_match_at(const Graph& graph, std::span<const NodeId> nodes,
                                const Found& found) const {
  Search(graph, *rules_, *index_, found).run_at(nodes);
}

}  // namespace soapstone::rules
