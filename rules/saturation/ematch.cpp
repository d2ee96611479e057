// See ematch.h. From each e-node along the tree of what sources begin with, step by step along
// operands and readers, undoing what a failed step has bound.
#include "rules/saturation/ematch.h"

#include <algorithm>

#include "core/base/hash.h"
#include "rules/matching/symbol_binding.h"
#include "rules/rule/constraints.h"

namespace soapstone::rules {

using core::hash_combine;

namespace {

bool reads(const NodePattern& node, std::int32_t slot) {
  return std::ranges::find(node.inputs, slot) != node.inputs.end();
}

std::vector<Neighbors> neighbors_of(const Pattern& pattern) {
  std::vector<Neighbors> all(pattern.nodes.size());
  for (const NodePattern& maker : pattern.nodes)
    for (std::int32_t slot : maker.outputs)
      for (std::size_t k = 0; k < pattern.nodes.size(); ++k) {
        if (!reads(pattern.nodes[k], slot)) continue;
        all[k].makers |= op_bit(maker.op);
        all[static_cast<std::size_t>(&maker - pattern.nodes.data())].readers |=
            op_bit(pattern.nodes[k].op);
      }
  return all;
}

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
  prepared->neighbors = neighbors_of(prepared->pattern);
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
  tree_.add(static_cast<std::uint32_t>(rules_.size()), pattern, prepared->neighbors);
  rules_.push_back(std::move(prepared));
  return core::Done{};
}

namespace {

/// The state of one search through one e-graph.
class EMatcher {
 public:
  EMatcher(const EGraph& graph, const SaturationRules& rules, std::span<const ENodeId> nodes,
           const EMatchLimits& limits, const EMatchFound& found)
      : graph_(graph), rules_(rules), tree_(rules.tree()), starts_(nodes), limits_(limits),
        found_(found), is_start_(graph.node_bound()), is_cut_(graph.node_bound()),
        conditions_(tree_.bounds().slots), met_(tree_.bounds().slots), path_(tree_.bounds().steps),
        walked_(tree_.bounds().steps),
        met_symbols_(tree_.bounds().symbols, tree_.equations().equations.size()),
        progress_(tree_.size()), matches_(tree_.leaf_count()), slots_(rules.bounds().slots),
        nodes_(rules.bounds().nodes), symbols_(rules.bounds().symbols, rules.bounds().equations) {
    for (ENodeId id : nodes) is_start_[id.index()] = true;
    met_symbols_.use(tree_.equations());
  }

  /// False: a limit was met.
  bool run() {
    for (ENodeId id : starts_) {
      if (graph_.op(id) == nullptr || !graph_.is_live(id)) continue;
      start_ = id;
      const core::TensorType& type = graph_.type(graph_.results(id)[0]);
      const Neighbors there = neighbors(id);
      tree_.for_each_root(graph_.operation(id), type.shape.size(),
                          [&](std::uint32_t root, std::uint32_t group) {
                            group_ = group;
                            if (there.contain(tree_[root].neighbors)) visit(0, root, id);
                          });
      if (!report()) break;
    }
    return !limited_;
  }

 private:
  /// Of a node of the tree and the start at hand.
  struct Progress {
    ENodeId start;
    std::uint32_t tried = 0;   ///< E-nodes.
    std::uint32_t closed = 0;  ///< Children and leaves that have met a limit.
  };
  Progress& progress(std::uint32_t at) {
    if (progress_[at].start != start_) progress_[at] = {start_};
    return progress_[at];
  }
  std::size_t& matches(std::uint32_t leaf) {
    auto& [start, count] = matches_[leaf];
    if (start != start_) count = 0;
    start = start_;
    return count;
  }

  bool is_closed(std::uint32_t at) { return progress(at).closed >= tree_[at].parts; }
  /// Something behind the first `k` steps has met a limit.
  void close_one(std::size_t k) {
    limited_ = is_cut_[start_.index()] = true;
    for (; k > 0; --k) {
      ++progress(path_[k - 1]).closed;
      if (!is_closed(path_[k - 1])) break;
    }
  }

  struct Mark {
    std::size_t slots, symbols;
  };
  Mark mark() const { return {slot_trail_.size(), met_symbols_.bound_symbols()}; }
  void undo(Mark mark) {
    for (; slot_trail_.size() > mark.slots; slot_trail_.pop_back())
      met_[static_cast<std::size_t>(slot_trail_.back())] = ClassId::none();
    met_symbols_.undo_symbols(mark.symbols);
  }

  /// Goes on behind the first `k` steps, of which that node of the tree is the last.
  void go_on(std::size_t k, const MatchTree::Node& from) {
    tree_.for_each_leaf(from, [&](const MatchTree::Leaf& leaf, std::uint32_t number) {
      complete(k, leaf, number);
    });
    tree_.for_each_child(from, [&](std::uint32_t child) {
      if (is_closed(child)) return;
      const MatchStep& step = *tree_[child].step;
      const EClass& group = graph_[met_[static_cast<std::size_t>(step.via)]];
      if (((step.to_producer ? group.made_by : group.read_by) & op_bit(step.node.op)) == 0) return;
      for (ENodeId next : step.to_producer ? group.nodes : group.readers) {
        visit(k, child, next);
        if (is_closed(child)) break;
      }
    });
  }

  /// Takes the e-node for that node of the tree, the k-th step, if it fits, and goes on from there.
  void visit(std::size_t k, std::uint32_t at, ENodeId id) {
    const MatchTree::Node& node = tree_[at];
    const MatchStep& step = *node.step;
    const NodePattern& wanted = step.node;
    if (graph_.op(id) != wanted.op || !graph_.is_live(id) || is_too_much(k, at)) return;
    const auto operands = graph_.operands(id);
    if (operands.size() != wanted.inputs.size() ||
        graph_.results(id).size() != wanted.outputs.size() || is_taken(id, k, step.results) ||
        (k > 0 && !neighbors(id).contain(node.neighbors)))
      return;
    const Mark before = mark();
    walked_[k] = id;
    for (std::size_t i = 0; i < step.slots.size(); ++i)
      conditions_[step.first_slot + i] = &step.slots[i];
    if (met_symbols_.match_attributes(wanted, graph_.operation(id).attributes) &&
        bind_all(wanted.outputs, graph_.results(id), false)) {
      const Mark without_inputs = mark();
      if (bind_all(wanted.inputs, operands, false)) go_on(k + 1, node);
      if (!is_closed(at) && wanted.op->commutative && operands.size() >= 2 &&
          operands[0] != operands[1] && wanted.inputs[0] != wanted.inputs[1]) {
        undo(without_inputs);
        if (bind_all(wanted.inputs, operands, true)) go_on(k + 1, node);
      }
    }
    undo(before);
  }

  /// Counts one more e-node that is tried there.
  bool is_too_much(std::size_t k, std::uint32_t at) {
    path_[k] = at;
    ++progress(at).tried;
    std::size_t tried = 0;
    for (std::size_t i = 0; i <= k; ++i) tried += progress_[path_[i]].tried;
    if (tried <= limits_.steps) return false;
    progress(at).closed = tree_[at].parts;
    close_one(k);
    return true;
  }

  bool is_taken(ENodeId id, std::size_t k, std::size_t results) const {
    if (results < 2 || (results == 2 && graph_.maker(id) == EGraph::kGiven)) return false;
    return std::find(walked_.begin(), walked_.begin() + static_cast<std::ptrdiff_t>(k), id) !=
           walked_.begin() + static_cast<std::ptrdiff_t>(k);
  }

  Neighbors neighbors(ENodeId id) const {
    Neighbors all;
    for (ClassId operand : graph_.operands(id))
      if (operand.valid()) all.makers |= graph_[operand].made_by;
    for (ClassId result : graph_.results(id)) all.readers |= graph_[result].read_by;
    return all;
  }

  /// `exchanged`: the first two change places.
  bool bind_all(const std::vector<std::int32_t>& slots, std::span<const ClassId> classes,
                bool exchanged) {
    for (std::size_t k = 0; k < slots.size(); ++k)
      if (!bind(slots[k], classes[exchanged && k < 2 ? 1 - k : k])) return false;
    return true;
  }

  bool bind(std::int32_t slot, ClassId id) {
    if (slot < 0 || !id.valid()) return slot < 0 && !id.valid();
    id = graph_.find(id);
    const EClass& group = graph_[id];
    const SlotPattern& wanted = *conditions_[static_cast<std::size_t>(slot)];
    if (wanted.kind == SlotPattern::Kind::kLiteral)
      return group.literal && is_wanted(*group.literal, wanted);
    ClassId& at = met_[static_cast<std::size_t>(slot)];
    if (at.valid()) return at == id;
    const core::TensorType& type = graph_.type(group.type);
    if (is_empty(type)) return false;
    if (wanted.kind == SlotPattern::Kind::kInput && !admits(wanted, group, type)) return false;
    at = id;
    slot_trail_.push_back(slot);
    return true;
  }

  bool admits(const SlotPattern& wanted, const EClass& group, const core::TensorType& type) {
    const bool any_float = wanted.data_type == core::DataType::kFloat32;
    if (any_float ? !core::is_floating(type.data_type) : type.data_type != wanted.data_type)
      return false;
    if (!type.shape_known || (wanted.constant && !group.constant)) return false;
    return met_symbols_.match_shape(wanted.dims, type.shape);
  }

  // A whole source is there: what remains are equations and guards, in the numbers of its rule.

  void complete(std::size_t k, const MatchTree::Leaf& leaf, std::uint32_t number) {
    std::size_t& count = matches(number);
    if (count >= limits_.matches) return;
    prepared_ = &rules_[leaf.rule];
    pattern_ = &prepared_->pattern;
    plan_ = &pattern_->plans[leaf.start];
    for (std::size_t i = 0; i < plan_->size(); ++i)
      nodes_[static_cast<std::size_t>((*plan_)[i].node)] = walked_[i];
    for (std::size_t i = 0; i < leaf.slots.size(); ++i) slots_[leaf.slots[i]] = met_[i];
    if (!is_first_start() || !is_first_of_symmetric()) return;
    symbols_.use(*pattern_);
    symbols_.take(met_symbols_, leaf.symbols, leaf.equations);
    if (symbols_.solve_equations() && guard_holds(prepared_->rule, symbols_.numbers()) &&
        keep(leaf.rule, number) && ++count >= limits_.matches)
      close_one(k);
    symbols_.undo_symbols(0);
  }

  /// False: inputs of different types.
  bool keep(std::uint32_t rule, std::uint32_t leaf) {
    const auto float_type = common_float_type(*pattern_, [&](std::size_t slot) {
      return graph_.type(graph_[slots_[slot]].type).data_type;
    });
    if (!float_type) return false;
    const Graph& source = prepared_->rule.source;
    Kept kept{rule,
              *float_type,
              group_,
              leaf,
              kept_classes_.size(),
              kept_nodes_.size(),
              kept_sizes_.size()};
    kept_.push_back(kept);
    const auto inputs = static_cast<std::ptrdiff_t>(source.inputs().size());
    kept_classes_.insert(kept_classes_.end(), slots_.begin(), slots_.begin() + inputs);
    for (std::int32_t slot : pattern_->outputs)
      kept_classes_.push_back(slots_[static_cast<std::size_t>(slot)]);
    kept_nodes_.insert(kept_nodes_.end(), nodes_.begin(),
                       nodes_.begin() + static_cast<std::ptrdiff_t>(pattern_->nodes.size()));
    const auto& numbers = symbols_.numbers();
    kept_sizes_.insert(kept_sizes_.end(), numbers.begin(),
                       numbers.begin() + static_cast<std::ptrdiff_t>(source.symbols().size()));
    return true;
  }

  /// Hands on the matches of a start, in the order of the rules. False: that is enough.
  bool report() {
    std::ranges::stable_sort(kept_, {},
                             [](const Kept& kept) { return std::pair(kept.group, kept.leaf); });
    bool goes_on = true;
    for (std::size_t k = 0; k < kept_.size() && goes_on; ++k) {
      const Kept& kept = kept_[k];
      const PreparedRule& prepared = rules_[kept.rule];
      const std::size_t inputs = prepared.rule.source.inputs().size();
      const std::span classes = std::span(kept_classes_).subspan(kept.classes);
      goes_on =
          found_({kept.rule, classes.first(inputs),
                  classes.subspan(inputs, prepared.pattern.outputs.size()),
                  std::span(kept_nodes_).subspan(kept.nodes, prepared.pattern.nodes.size()),
                  std::span(kept_sizes_).subspan(kept.sizes, prepared.rule.source.symbols().size()),
                  kept.float_type});
    }
    kept_.clear();
    kept_classes_.clear();
    kept_nodes_.clear();
    kept_sizes_.clear();
    return goes_on;
  }

  /// With several e-nodes to start at, a match belongs to the first of them that is in it, and if
  /// that is in several places, to the first place.
  bool is_first_start() const {
    const auto start = static_cast<std::size_t>((*plan_)[0].node);
    for (std::size_t k = 0; k < pattern_->nodes.size(); ++k) {
      if (limits_.hands_on && is_cut_[nodes_[k].index()]) continue;
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

  /// A match of the start at hand; its lists begin there in those of all.
  struct Kept {
    std::uint32_t rule;
    core::DataType float_type;
    std::uint32_t group, leaf;
    std::size_t classes, nodes, sizes;
  };

  const EGraph& graph_;
  const SaturationRules& rules_;
  const MatchTree& tree_;
  std::span<const ENodeId> starts_;
  const EMatchLimits& limits_;
  const EMatchFound& found_;
  std::vector<bool> is_start_, is_cut_;  // by e-node; cut: a limit was met there

  // Of the walk: in its own numbers.
  std::vector<const SlotPattern*> conditions_;  // by slot
  std::vector<ClassId> met_;                    // by slot
  std::vector<std::int32_t> slot_trail_;
  std::vector<std::uint32_t> path_;  // by step
  std::vector<ENodeId> walked_;      // by step
  SymbolBinding met_symbols_;
  std::vector<Progress> progress_;                        // by node of the tree
  std::vector<std::pair<ENodeId, std::size_t>> matches_;  // by leaf: start, count
  ENodeId start_;
  std::uint32_t group_ = 0;

  // Of the rule at hand: in its numbers.
  const PreparedRule* prepared_ = nullptr;
  const Pattern* pattern_ = nullptr;
  const Plan* plan_ = nullptr;
  std::vector<ClassId> slots_;
  std::vector<ENodeId> nodes_;
  SymbolBinding symbols_;

  std::vector<Kept> kept_;
  std::vector<ClassId> kept_classes_;
  std::vector<ENodeId> kept_nodes_;
  std::vector<std::int64_t> kept_sizes_;
  bool limited_ = false;
};

}  // namespace

bool for_each_match(const EGraph& graph, const SaturationRules& rules,
                    std::span<const ENodeId> nodes, const EMatchLimits& limits,
                    const EMatchFound& found) {
  return EMatcher(graph, rules, nodes, limits, found).run();
}

}  // namespace soapstone::rules
