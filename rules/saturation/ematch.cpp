// See ematch.h. From each e-node all rules whose source may start there at once, step by step along
// operands and readers in a tree of their sources; at its leaves a rule alone, with its sizes.
#include "rules/saturation/ematch.h"

#include <algorithm>

#include "core/base/hash.h"
#include "rules/matching/symbol_binding.h"
#include "rules/rule/constraints.h"

namespace soapstone::rules {

using core::hash_combine;

namespace {

void prepare_target(PreparedRule& prepared) {
  const Graph& target = prepared.rule.target;
  std::vector<std::int32_t> slot_of(target.tensor_bound(), -1);
  std::int32_t slots = 0;
  for (TensorId id : target.inputs()) slot_of[id.index()] = slots++;
  const auto note_constant = [&](TensorId id) {
    if (!id.valid() || slot_of[id.index()] >= 0 || !target.tensor(id).value) return;
    const auto known = std::ranges::find_if(
        prepared.constants, [&](const auto& value) { return *value == *target.tensor(id).value; });
    if (known != prepared.constants.end()) {
      slot_of[id.index()] = static_cast<std::int32_t>(
          target.inputs().size() + static_cast<std::size_t>(known - prepared.constants.begin()));
      return;
    }
    slot_of[id.index()] = slots++;
    prepared.constants.push_back(target.tensor(id).value);
  };
  for (NodeId id : target.order())
    for (TensorId operand : target.node(id).inputs) note_constant(operand);
  for (TensorId id : target.outputs()) note_constant(id);
  for (NodeId id : target.order()) {
    PreparedRule::TargetNode node{&target.node(id), {}};
    for (TensorId operand : node.node->inputs)
      node.operands.push_back(operand.valid() ? slot_of[operand.index()] : -1);
    while (!node.operands.empty() && node.operands.back() < 0) node.operands.pop_back();
    for (TensorId result : node.node->outputs) slot_of[result.index()] = slots++;
    prepared.target.push_back(std::move(node));
  }
  for (TensorId id : target.outputs()) prepared.results.push_back(slot_of[id.index()]);
}

}  // namespace

SaturationRules::SaturationRules(std::span<const Rule> rules, bool once) : once_(once) {
  // A rule that cannot be matched is of no use; a caller that wants to know adds rules one by one.
  for (const Rule& rule : rules) static_cast<void>(add(rule));
}

core::Status SaturationRules::add(const Rule& rule) {
  auto prepared = std::make_shared<PreparedRule>();
  prepared->rule = rule;
  if (rule.is_placed) {  // It has a number, and no place to start from.
    rules_.push_back(std::move(prepared));
    return core::Done{};
  }
  SOAPSTONE_ASSIGN_OR_RETURN(prepared->pattern, compile_pattern(prepared->rule, Numbers::kNodes));
  if (once_) prepared->symmetries = find_symmetries(prepared->rule, prepared->pattern);
  prepare_target(*prepared);
  const std::string family = rule.file.string() + "\n" + rule.base_name;
  const auto next = static_cast<std::uint32_t>(families_.size());
  prepared->family = families_.emplace(family, next).first->second;
  const Pattern& pattern = prepared->pattern;
  bounds_.slots = std::max(bounds_.slots, pattern.slots.size());
  bounds_.nodes = std::max(bounds_.nodes, pattern.nodes.size());
  bounds_.symbols = std::max(bounds_.symbols, rule.source.symbols().size());
  bounds_.equations = std::max(bounds_.equations, pattern.equations.size());
  rules_.push_back(std::move(prepared));
  add_walks(static_cast<std::uint32_t>(rules_.size()) - 1);
  return core::Done{};
}

std::uint64_t SaturationRules::key(const core::OpSchema* op, std::size_t rank,
                                   std::uint64_t attribute) {
  // Within one process; nothing is ordered by addresses.
  const auto address = reinterpret_cast<std::uintptr_t>(op);
  return hash_combine(attribute, address * 64 + rank);
}

std::uint64_t SaturationRules::operation_key(const Operation& operation) {
  const int k = key_attribute(*operation.op);
  if (k < 0) return 0;
  return attribute_key(std::next(operation.attributes.values().begin(), k)->second);
}

void SaturationRules::add_walks(std::uint32_t rule) {
  const Pattern& pattern = rules_[rule]->pattern;
  for (std::uint32_t k = 0; k < pattern.nodes.size(); ++k) {
    const NodePattern& node = pattern.nodes[k];
    const auto rank = node.result_rank < 0 ? kAnyRank : static_cast<std::size_t>(node.result_rank);
    trees_[key(node.op, rank, pattern_key(node))].add(pattern, rule, k);
  }
}

namespace {

bool numbers_fit(const std::vector<SizePattern>& wanted, std::span<const core::Polynomial> sizes) {
  if (wanted.size() != sizes.size()) return false;
  for (std::size_t k = 0; k < wanted.size(); ++k)
    if (wanted[k].kind == SizePattern::Kind::kNumber &&
        !(sizes[k].is_constant() && sizes[k].constant() == wanted[k].value))
      return false;
  return true;
}

bool integers_fit(const AttributePattern& wanted, const core::AttributeValue& value) {
  if (wanted.kind != AttributePattern::Kind::kInts) return true;
  if (const auto* p = std::get_if<core::Polynomial>(&value))
    return !wanted.is_list && numbers_fit(wanted.elements, {p, 1});
  const auto* list = std::get_if<std::vector<core::Polynomial>>(&value);
  return list != nullptr && wanted.is_list && numbers_fit(wanted.elements, *list);
}

/// The state of one search through one e-graph.
class EMatcher {
 public:
  EMatcher(const EGraph& graph, const SaturationRules& rules, std::span<const ENodeId> nodes,
           const EMatchLimits& limits, const EMatchFound& found, std::uint32_t first_rule)
      : graph_(graph), rules_(rules), starts_(nodes), limits_(limits), found_(found),
        first_rule_(first_rule), is_start_(graph.node_bound()), slots_(rules.bounds().slots),
        nodes_(rules.bounds().nodes), symbols_(rules.bounds().symbols, rules.bounds().equations) {
    for (ENodeId id : nodes) is_start_[id.index()] = true;
  }

  /// False: a limit was met.
  bool run() {
    for (ENodeId id : starts_) {
      if (graph_.op(id) == nullptr || !graph_.is_live(id)) continue;
      const core::TensorType& type = graph_.type(graph_.results(id)[0]);
      rules_.for_each_tree(graph_.operation(id), type.shape.size(), [&](const MatchTree& tree) {
        if (!ended_) walk_all(tree, id);
      });
      if (ended_) break;
    }
    return !limited_;
  }

 private:
  using Vertex = MatchTree::Vertex;

  void walk_all(const MatchTree& tree, ENodeId id) {
    tree_ = &tree;
    start_ = id;
    steps_.resize(std::max(steps_.size(), tree.size()));
    is_full_.resize(steps_.size());
    matches_.resize(std::max(matches_.size(), tree.leaf_count()));
    for (const MatchTree::Branch& branch : tree[0].branches)
      for (std::uint32_t child : branch.children) visit(child, id);
    for (std::uint32_t vertex : visited_) steps_[vertex] = is_full_[vertex] = 0;
    visited_.clear();
    report();
  }

  /// Goes on from where all of the vertex has been met.
  void go_on(std::uint32_t at) {
    const Vertex& vertex = (*tree_)[at];
    for (std::uint32_t leaf : vertex.leaves)
      if (!is_leaf_over(leaf) && meet(leaf)) end_leaf(at);
    for (const MatchTree::Branch& branch : vertex.branches) {
      const EClass& group = graph_[met_[static_cast<std::size_t>(branch.via)]];
      if (((branch.to_producer ? group.made_by : group.read_by) & branch.ops) == 0) continue;
      for (ENodeId next : branch.to_producer ? group.nodes : group.readers)
        for (std::uint32_t child : branch.children) visit(child, next);
    }
  }

  /// Takes the e-node for the vertex, if it fits, and goes on from there.
  void visit(std::uint32_t at, ENodeId id) {
    const Vertex& vertex = (*tree_)[at];
    const MatchTree::Test& wanted = vertex.test;
    if (is_over(at) || graph_.op(id) != wanted.op || !graph_.is_live(id) || !may_step(at)) return;
    const auto operands = graph_.operands(id), results = graph_.results(id);
    if (operands.size() != wanted.inputs.size() || results.size() != wanted.outputs.size() ||
        !has_attributes(wanted, graph_.operation(id).attributes))
      return;
    const std::size_t before = met_.size();
    chosen_.push_back(id);
    if (meet_all(wanted.outputs, results, false, wanted, before)) {
      const std::size_t without_inputs = met_.size();
      if (meet_all(wanted.inputs, operands, false, wanted, before)) go_on(at);
      if (wanted.op->commutative && operands.size() >= 2 && operands[0] != operands[1] &&
          wanted.inputs[0] != wanted.inputs[1]) {
        forget(without_inputs);
        if (meet_all(wanted.inputs, operands, true, wanted, before)) go_on(at);
      }
    }
    forget(before);
    chosen_.pop_back();
  }

  /// Whether nothing more is wanted of the rules here and below.
  bool is_over(std::uint32_t at) const {
    return (*tree_)[at].newest < first_rule_ || is_full_[at] != 0;
  }
  bool is_leaf_over(std::uint32_t number) const {
    return tree_->leaf(number).rule < first_rule_ || matches_[number] >= limits_.matches;
  }

  /// A rule has all the matches that it may have: no walk goes on for the sake of it.
  void end_leaf(std::uint32_t at) {
    const auto ends = [&](std::uint32_t vertex) {
      const Vertex& v = (*tree_)[vertex];
      return std::ranges::all_of(v.leaves, [&](auto leaf) { return is_leaf_over(leaf); }) &&
             std::ranges::all_of(v.branches, [&](const MatchTree::Branch& branch) {
               return std::ranges::all_of(branch.children, [&](auto c) { return is_over(c); });
             });
    };
    for (; at != 0 && ends(at); at = (*tree_)[at].parent) is_full_[at] = 1;
  }

  /// Each walk has a limit of steps, those that it shares with others included.
  bool may_step(std::uint32_t at) {
    if (steps_[at]++ == 0) visited_.push_back(at);
    std::size_t steps = 0;
    for (std::uint32_t vertex = at; vertex != 0; vertex = (*tree_)[vertex].parent)
      steps += steps_[vertex];
    const bool allowed = steps <= limits_.steps;
    limited_ = limited_ || !allowed;
    return allowed;
  }

  static bool has_attributes(const MatchTree::Test& wanted, const core::Attributes& attributes) {
    if (wanted.attributes.size() != attributes.values().size()) return false;
    auto pattern = wanted.attributes.begin();
    return std::ranges::all_of(attributes.values(), [&](const auto& attribute) {
      return integers_fit(*pattern++, attribute.second);
    });
  }

  void forget(std::size_t met) {
    met_.resize(met);
    asked_.resize(met);
  }

  /// `exchanged`: the first two change places. `first`: the number of the test's first new tensor.
  bool meet_all(const std::vector<std::int32_t>& numbers, std::span<const ClassId> classes,
                bool exchanged, const MatchTree::Test& test, std::size_t first) {
    for (std::size_t k = 0; k < numbers.size(); ++k)
      if (!meet(numbers[k], classes[exchanged && k < 2 ? 1 - k : k], test, first)) return false;
    return true;
  }

  bool meet(std::int32_t number, ClassId id, const MatchTree::Test& test, std::size_t first) {
    if (number < 0 || !id.valid()) return number < 0 && !id.valid();
    id = graph_.find(id);
    const auto at = static_cast<std::size_t>(number);
    if (at < met_.size())
      return asked_[at]->kind == SlotPattern::Kind::kLiteral ? admits(*asked_[at], id)
                                                             : met_[at] == id;
    const MatchTree::Slot& wanted = test.slots[at - first];
    if (!admits(wanted, id)) return false;
    met_.push_back(id);
    asked_.push_back(&wanted);
    return true;
  }

  bool admits(const MatchTree::Slot& wanted, ClassId id) const {
    const EClass& group = graph_[id];
    if (wanted.kind == SlotPattern::Kind::kLiteral)
      return group.literal && is_wanted(*group.literal, *wanted.literal);
    if (graph_.is_empty(group.type)) return false;
    if (wanted.kind != SlotPattern::Kind::kInput) return true;
    const core::TensorType& type = graph_.type(group.type);
    const bool any_float = wanted.data_type == core::DataType::kFloat32;
    if (any_float ? !core::is_floating(type.data_type) : type.data_type != wanted.data_type)
      return false;
    if (!type.shape_known || (wanted.constant && !group.constant)) return false;
    return numbers_fit(wanted.dims, type.shape);
  }

  // All e-nodes of a rule's source are there: what remains are its sizes, equations and guards.

  /// True: the rule has all the matches that it may have.
  bool meet(std::uint32_t number) {
    const MatchTree::Leaf& leaf = tree_->leaf(number);
    prepared_ = &rules_[leaf.rule];
    pattern_ = &prepared_->pattern;
    const Plan& plan = pattern_->plans[leaf.start];
    for (std::size_t k = 0; k < plan.size(); ++k)
      nodes_[static_cast<std::size_t>(plan[k].node)] = chosen_[k];
    for (std::size_t k = 0; k < leaf.slots.size(); ++k)
      slots_[static_cast<std::size_t>(leaf.slots[k])] = met_[k];
    symbols_.use(*pattern_);
    if (are_distinct() && sizes_fit(plan)) complete(leaf, number);
    symbols_.undo_symbols(0);
    const bool is_full = matches_[number] >= limits_.matches;
    limited_ = limited_ || is_full;
    return is_full;
  }

  /// Whether no e-node stands for two of the source where that is not admitted.
  bool are_distinct() const {
    const std::size_t results = pattern_->outputs.size();
    if (results < 2) return true;
    for (std::size_t k = 1; k < chosen_.size(); ++k) {
      if (results == 2 && graph_.maker(chosen_[k]) == EGraph::kGiven) continue;
      for (std::size_t i = 0; i < k; ++i)
        if (chosen_[i] == chosen_[k]) return false;
    }
    return true;
  }

  bool sizes_fit(const Plan& plan) {
    for (std::size_t k = 0; k < plan.size(); ++k) {
      const NodePattern& node = pattern_->nodes[static_cast<std::size_t>(plan[k].node)];
      if (!symbols_.match_attributes(node, graph_.operation(chosen_[k]).attributes)) return false;
      for (std::int32_t slot : node.inputs)
        if (slot >= 0 && !shape_fits(static_cast<std::size_t>(slot))) return false;
    }
    return true;
  }

  bool shape_fits(std::size_t slot) {
    const SlotPattern& wanted = pattern_->slots[slot];
    return wanted.kind != SlotPattern::Kind::kInput ||
           symbols_.match_shape(wanted.dims, graph_.type(graph_[slots_[slot]].type).shape);
  }

  void complete(const MatchTree::Leaf& leaf, std::uint32_t number) {
    if (!is_first_start(leaf.start) || !is_first_of_symmetric() || !symbols_.solve_equations())
      return;
    const Rule& rule = prepared_->rule;
    if (!guard_holds(rule, symbols_.numbers())) return;
    const auto float_type = common_float_type(*pattern_, [&](std::size_t slot) {
      return graph_.type(graph_[slots_[slot]].type).data_type;
    });
    if (!float_type) return;
    Found found{number, *float_type, static_cast<std::uint32_t>(classes_.size()),
                static_cast<std::uint32_t>(enodes_.size()),
                static_cast<std::uint32_t>(sizes_.size())};
    classes_.insert(classes_.end(), slots_.begin(),
                    slots_.begin() + static_cast<std::ptrdiff_t>(rule.source.inputs().size()));
    for (std::int32_t slot : pattern_->outputs)
      classes_.push_back(slots_[static_cast<std::size_t>(slot)]);
    enodes_.insert(enodes_.end(), nodes_.begin(),
                   nodes_.begin() + static_cast<std::ptrdiff_t>(pattern_->nodes.size()));
    const auto symbols = static_cast<std::ptrdiff_t>(rule.source.symbols().size());
    sizes_.insert(sizes_.end(), symbols_.numbers().begin(), symbols_.numbers().begin() + symbols);
    matches_found_.push_back(found);
    ++matches_[number];
  }

  /// Hands on what a tree has found, rule by rule as they were added.
  void report() {
    std::ranges::stable_sort(matches_found_, {}, &Found::leaf);
    for (const Found& found : matches_found_) {
      matches_[found.leaf] = 0;
      if (ended_) continue;
      const std::uint32_t number = tree_->leaf(found.leaf).rule;
      const PreparedRule& prepared = rules_[number];
      const std::size_t inputs = prepared.rule.source.inputs().size();
      const auto classes = std::span(classes_).subspan(found.classes);
      const EMatch match{
          number,
          classes.first(inputs),
          classes.subspan(inputs, prepared.pattern.outputs.size()),
          std::span(enodes_).subspan(found.nodes, prepared.pattern.nodes.size()),
          std::span(sizes_).subspan(found.sizes, prepared.rule.source.symbols().size()),
          found.float_type};
      ended_ = !found_(match);
    }
    matches_found_.clear();
    classes_.clear();
    enodes_.clear();
    sizes_.clear();
  }

  /// With several e-nodes to start at, a match belongs to the first of them that is in it, and if
  /// that is in several places, to the first place.
  bool is_first_start(std::size_t start) const {
    for (std::size_t k = 0; k < pattern_->nodes.size(); ++k) {
      if (nodes_[k] < start_ && is_start_[nodes_[k].index()]) return false;
      if (k < start && nodes_[k] == start_) return false;
    }
    return true;
  }

  bool is_first_of_symmetric() const {
    for (const Symmetry& symmetry : prepared_->symmetries) {
      auto order = std::strong_ordering::equal;
      for (std::size_t k = 0; k < symmetry.nodes.size() && order == 0; ++k)
        order = nodes_[k] <=> nodes_[symmetry.nodes[k]];
      for (std::size_t k = 0; k < symmetry.inputs.size() && order == 0; ++k)
        order = slots_[k] <=> slots_[symmetry.inputs[k]];
      if (order > 0) return false;
    }
    return true;
  }

  const EGraph& graph_;
  const SaturationRules& rules_;
  std::span<const ENodeId> starts_;
  const EMatchLimits& limits_;
  const EMatchFound& found_;
  const std::uint32_t first_rule_;
  std::vector<bool> is_start_;

  // Of the walk at hand: e-nodes, and tensors with what was asked of them.
  const MatchTree* tree_ = nullptr;
  ENodeId start_;
  std::vector<ENodeId> chosen_;
  std::vector<ClassId> met_;
  std::vector<const MatchTree::Slot*> asked_;
  std::vector<std::uint32_t> steps_, visited_;  // by vertex, of this start; those that are not 0
  std::vector<std::uint8_t> is_full_;           // by vertex, likewise
  std::vector<std::uint32_t> matches_;          // by leaf, of this start

  // Of the rule at hand, in its own numbers.
  const PreparedRule* prepared_ = nullptr;
  const Pattern* pattern_ = nullptr;
  std::vector<ClassId> slots_;
  std::vector<ENodeId> nodes_;
  SymbolBinding symbols_;

  /// A match; where its lists begin.
  struct Found {
    std::uint32_t leaf = 0;
    core::DataType float_type;
    std::uint32_t classes = 0, nodes = 0, sizes = 0;
  };
  std::vector<Found> matches_found_;
  std::vector<ClassId> classes_;
  std::vector<ENodeId> enodes_;
  std::vector<std::int64_t> sizes_;
  bool ended_ = false, limited_ = false;
};

}  // namespace

bool for_each_match(const EGraph& graph, const SaturationRules& rules,
                    std::span<const ENodeId> nodes, const EMatchLimits& limits,
                    const EMatchFound& found, std::uint32_t first_rule) {
  return EMatcher(graph, rules, nodes, limits, found, first_rule).run();
}

}  // namespace soapstone::rules
