// See ematch.h. For each e-node the rules whose source may start there, then step by step along
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
  rules_.push_back(std::move(prepared));
  add_starts(static_cast<std::uint32_t>(rules_.size()) - 1);
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

void SaturationRules::add_starts(std::uint32_t rule) {
  const Pattern& pattern = rules_[rule]->pattern;
  for (std::uint32_t k = 0; k < pattern.nodes.size(); ++k) {
    const NodePattern& node = pattern.nodes[k];
    const auto rank = node.result_rank < 0 ? kAnyRank : static_cast<std::size_t>(node.result_rank);
    starts_[key(node.op, rank, pattern_key(node))].push_back({rule, k, rules_[rule]->neighbors[k]});
  }
}

namespace {

/// The state of one search through one e-graph.
class EMatcher {
 public:
  EMatcher(const EGraph& graph, const SaturationRules& rules, std::span<const ENodeId> nodes,
           const EMatchLimits& limits, const EMatchFound& found)
      : graph_(graph), rules_(rules), starts_(nodes), limits_(limits), found_(found),
        is_start_(graph.node_bound()), slots_(rules.bounds().slots), nodes_(rules.bounds().nodes),
        symbols_(rules.bounds().symbols, rules.bounds().equations) {
    for (ENodeId id : nodes) is_start_[id.index()] = true;
  }

  /// False: a limit was met.
  bool run() {
    for (ENodeId id : starts_) {
      if (graph_.op(id) == nullptr || !graph_.is_live(id)) continue;
      const core::TensorType& type = graph_.type(graph_.results(id)[0]);
      // Most starts fail here, of which there are thousands for an e-node.
      const Neighbors there = neighbors(id);
      rules_.for_each_start(graph_.operation(id), type.shape.size(),
                            [&](const SaturationRules::Start& start) {
                              if (there.contain(start.neighbors)) begin(start, id);
                            });
      if (ended_) break;
    }
    return !limited_;
  }

 private:
  struct Mark {
    std::size_t slots, symbols;
  };
  Mark mark() const { return {slot_trail_.size(), symbols_.bound_symbols()}; }
  void undo(Mark mark) {
    for (; slot_trail_.size() > mark.slots; slot_trail_.pop_back())
      slots_[static_cast<std::size_t>(slot_trail_.back())] = ClassId::none();
    symbols_.undo_symbols(mark.symbols);
  }

  void begin(const SaturationRules::Start& start, ENodeId id) {
    if (ended_) return;
    rule_ = start.rule;
    prepared_ = &rules_[start.rule];
    pattern_ = &prepared_->pattern;
    plan_ = &pattern_->plans[start.node];
    start_ = id;
    matches_ = steps_ = 0;
    given_up_ = false;
    symbols_.use(*pattern_);
    visit(0, id);
    limited_ = limited_ || given_up_;
  }

  bool is_over() const { return ended_ || given_up_; }

  void step(std::size_t k) {
    if (k == plan_->size()) return complete();
    const Step& step = (*plan_)[k];
    const EClass& group = graph_[slots_[static_cast<std::size_t>(step.via)]];
    for (ENodeId next : step.to_producer ? group.nodes : group.readers) {
      visit(k, next);
      if (is_over()) return;
    }
  }

  /// Takes the e-node for the k-th of the plan, if it fits, and goes on from there.
  void visit(std::size_t k, ENodeId id) {
    const auto which = static_cast<std::size_t>((*plan_)[k].node);
    const NodePattern& wanted = pattern_->nodes[which];
    if (graph_.op(id) != wanted.op || !graph_.is_live(id)) return;
    given_up_ = given_up_ || ++steps_ > limits_.steps;
    if (given_up_) return;
    const auto operands = graph_.operands(id);
    if (operands.size() != wanted.inputs.size() ||
        graph_.results(id).size() != wanted.outputs.size() || is_taken(id, k) ||
        (k > 0 && !neighbors(id).contain(prepared_->neighbors[which])))
      return;
    const Mark before = mark();
    nodes_[which] = id;
    if (symbols_.match_attributes(wanted, graph_.operation(id).attributes) &&
        bind_all(wanted.outputs, graph_.results(id), false)) {
      const Mark without_inputs = mark();
      if (bind_all(wanted.inputs, operands, false)) step(k + 1);
      if (!is_over() && wanted.op->commutative && operands.size() >= 2 &&
          operands[0] != operands[1] && wanted.inputs[0] != wanted.inputs[1]) {
        undo(without_inputs);
        if (bind_all(wanted.inputs, operands, true)) step(k + 1);
      }
    }
    undo(before);
  }

  bool is_taken(ENodeId id, std::size_t k) const {
    const std::size_t results = pattern_->outputs.size();
    if (results < 2 || (results == 2 && graph_.maker(id) == EGraph::kGiven)) return false;
    for (std::size_t i = 0; i < k; ++i)
      if (nodes_[static_cast<std::size_t>((*plan_)[i].node)] == id) return true;
    return false;
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
    const SlotPattern& wanted = pattern_->slots[static_cast<std::size_t>(slot)];
    if (wanted.kind == SlotPattern::Kind::kLiteral)
      return group.literal && is_wanted(*group.literal, wanted);
    ClassId& at = slots_[static_cast<std::size_t>(slot)];
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
    return symbols_.match_shape(wanted.dims, type.shape);
  }

  // A whole pattern is there: what remains are equations and guards.

  void complete() {
    if (!is_first_start() || !is_first_of_symmetric() || !symbols_.solve_equations()) return;
    const Rule& rule = prepared_->rule;
    if (!guard_holds(rule, symbols_.numbers())) return;
    const auto float_type = common_float_type(*pattern_, [&](std::size_t slot) {
      return graph_.type(graph_[slots_[slot]].type).data_type;
    });
    if (!float_type) return;
    outputs_.clear();
    for (std::int32_t slot : pattern_->outputs)
      outputs_.push_back(slots_[static_cast<std::size_t>(slot)]);
    const EMatch match{rule_,
                       std::span(slots_).first(rule.source.inputs().size()),
                       outputs_,
                       std::span(nodes_).first(pattern_->nodes.size()),
                       std::span(symbols_.numbers()).first(rule.source.symbols().size()),
                       *float_type};
    ended_ = !found_(match);
    given_up_ = ++matches_ >= limits_.matches;
  }

  /// With several e-nodes to start at, a match belongs to the first of them that is in it, and if
  /// that is in several places, to the first place.
  bool is_first_start() const {
    const auto start = static_cast<std::size_t>((*plan_)[0].node);
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
  std::vector<bool> is_start_;

  std::vector<ClassId> slots_;
  std::vector<std::int32_t> slot_trail_;
  std::vector<ENodeId> nodes_;
  std::vector<ClassId> outputs_;
  SymbolBinding symbols_;

  const PreparedRule* prepared_ = nullptr;
  const Pattern* pattern_ = nullptr;
  const Plan* plan_ = nullptr;
  std::uint32_t rule_ = 0;
  ENodeId start_;
  std::size_t matches_ = 0, steps_ = 0;  // of this start
  bool ended_ = false, given_up_ = false, limited_ = false;
};

}  // namespace

bool for_each_match(const EGraph& graph, const SaturationRules& rules,
                    std::span<const ENodeId> nodes, const EMatchLimits& limits,
                    const EMatchFound& found) {
  return EMatcher(graph, rules, nodes, limits, found).run();
}

}  // namespace soapstone::rules
