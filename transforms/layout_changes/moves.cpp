#include "transforms/layout_changes/moves.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/base/sequence_parts.h"
#include "transforms/layout_changes/moved_operator.h"
#include "transforms/layout_changes/phases.h"
#include "transforms/layout_changes/pieces_of_joins.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// How far it is looked for what reads a result.
constexpr std::size_t kFarthestReader = 12;

constexpr std::string_view kMovesDescription =
    "What is done to a moved tensor is done to the tensor itself.";

class MovePlanner {
 public:
  explicit MovePlanner(const Graph& graph) : graph_(graph), joins_(graph) {}

  std::vector<RewriteSequence> run() {
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (joins_.is_needed(id) && has_known_sizes(node)) visit(node);
    }
    auto plans = std::move(parts_).plans();
    for (const auto& [id, text] : joins_.rules_of_groups())
      plans.push_back(
          {{RewriteStep{.results = {id}, .texts = {text}, .description = kMovesDescription}}});
    return plans;
  }

 private:
  /// What stands for a tensor once the steps so far are taken.
  struct State {
    View view;
    std::size_t base;                    ///< Equal for tensors that are views of one.
    std::optional<GraphPart> part = {};  ///< None: nothing was moved.
  };

  Sizes shape_of(TensorId id) const { return known_sizes(graph_.tensor(id).type.shape); }
  bool has_known_sizes(const Node& node) const {
    const auto known = [&](TensorId id) {
      if (!id.valid()) return false;
      const core::TensorType& type = graph_.tensor(id).type;
      return type.shape_known && core::concrete(type.shape) &&
             std::ranges::none_of(type.shape,
                                  [](const core::Polynomial& n) { return n.constant() < 1; });
    };
    return !node.op->is_opaque() && std::ranges::all_of(node.inputs, known) &&
           std::ranges::all_of(node.outputs, known);
  }

  State state_of(TensorId id) {
    const auto known = states_.find(id);
    if (known != states_.end()) return known->second;
    return states_.emplace(id, State{View(shape_of(id)), next_base_++}).first->second;
  }

  void visit(const Node& node) {
    if (std::ranges::all_of(node.outputs,
                            [&](TensorId id) { return graph_.is_constant_expression(id); }))
      return;
    if (const auto* join = joins_.find(node.outputs[0])) return take_join(node, *join);
    switch (node.op->movement) {
    case Movement::kReshape:
    case Movement::kPermute:
      return move(node);
    case Movement::kSplit:
      return split(node);
    case Movement::kJoin:
      return join(node);
    case Movement::kNone:
    case Movement::kChoose:
    case Movement::kConvert:
      if (node.outputs.size() == 1 && summed_by(node) == nullptr) compute(node);
      return;
    default:
      return;
    }
  }

  std::string base_name(const State& state) const { return fmt::format("x{}", state.base); }
  std::string head_of(const State& state, TensorId id) const {
    return fmt::format("  {}: {}\n", base_name(state),
                       declared(graph_.tensor(id).type, state.view.base_shape_text()));
  }

  void move(const Node& node) {
    const State before = state_of(node.inputs[0]);
    State after = before;
    if (!transforms::move(after.view, node, shape_of(node.outputs[0]))) return;
    SideText source, target;
    const std::string name = base_name(before);
    const std::string from = source.line(call_of(graph_, node, {source.viewed(name, before.view)}));
    add_moved(node, before, std::move(after), {source, target}, from);
  }

  void take_join(const Node& node, const PiecesOfJoins::Join& join) {
    const State before = state_of(join.origin);
    auto view = join.view.of(before.view);
    if (!view) return;
    State after = before;
    after.view = *std::move(view);
    add_step(node.outputs, joins_.rules(node.outputs[0]), after);
    if (before.view.is_identity()) {
      states_.insert_or_assign(node.outputs[0], after);
      return;
    }
    SideText source, again;
    const std::string from =
        source.viewed(source.viewed(base_name(before), before.view), join.view);
    add_moved(node, before, std::move(after), {source, again}, from);
  }

  /// Adds the step from what stands in the source to the view, unless they are the same.
  void add_moved(const Node& node, const State& before, State after,
                 std::pair<SideText, SideText> sides, const std::string& from) {
    const std::string name = base_name(before), rule = "moves_of_" + node.op->name,
                      head = head_of(before, node.inputs[0]);
    const auto& [source, target] = sides;
    SideText apart = target, whole = target;
    const std::string y = whole.viewed(name, after.view);
    if (source != whole || y != from) {
      const std::string parts = apart.viewed_apart(name, after.view);
      std::vector<std::string> texts{rule_text(rule, head, source, {from}, whole, {y})};
      // Proofs may need two steps: with places apart, and as one.
      const bool are_steps = apart != whole && (source != apart || parts != from);
      if (are_steps) texts.push_back(rule_text(rule, head, source, {from}, apart, {parts}));
      add_step(node.outputs, std::move(texts), after);
      if (are_steps)
        add_step(node.outputs, {rule_text(rule, head, apart, {parts}, whole, {y})}, after,
                 FloatBehavior::kExact, true);
    }
    states_.insert_or_assign(node.outputs[0], std::move(after));
  }

  /// Consecutive parts of a tensor whose axes lie elsewhere are parts of what it is a view of.
  void split(const Node& node) {
    State before = state_of(node.inputs[0]);
    if (!before.view.is_permuted()) return;
    const std::size_t axis = ops::axis_by_role(node);
    Sizes sizes;
    for (const TensorId id : node.outputs) sizes.push_back(shape_of(id)[axis]);
    const std::int64_t unit =
        std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0},
                        [](std::int64_t a, std::int64_t b) { return std::gcd(a, b); });
    View coarse = before.view.coarsened();
    const auto halves = coarse.divide(axis, unit);
    if (!halves || halves->first.size() != 1) return;
    const std::size_t factor = halves->first[0];
    Sizes divided, parts;
    for (const View::Factor& f : coarse.factors()) divided.push_back(f.size);
    for (const std::int64_t size : sizes) parts.push_back(size / unit);
    SideText source, target;
    const std::string name = base_name(before);
    const Names from = source.lines(call_of(graph_, node, {source.viewed(name, before.view)}),
                                    node.outputs.size());
    const Names pieces =
        target.split(target.reshaped(name, coarse.base_shape_text(), names_of(divided)), factor,
                     names_of(parts));
    Names to;
    std::vector<State> after;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      after.push_back({piece_of(coarse, divided, factor, parts[k]), next_base_++, before.part});
      to.push_back(target.viewed(pieces[k], after[k].view));
    }
    add_step(node.outputs,
             {rule_text("moves_of_" + node.op->name, head_of(before, node.inputs[0]), source, from,
                        target, to)},
             after[0]);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      after[k].part = after[0].part;
      states_.insert_or_assign(node.outputs[k], after[k]);
    }
  }

  /// What is joined of tensors that are moved alike is moved once it is joined.
  void join(const Node& node) {
    auto [operands, after] = operands_of(node);
    std::vector<View> views;
    for (const MovedOperand& operand : operands) views.push_back(operand.view.coarsened());
    const auto factor = joined_factor(views, ops::axis_by_role(node));
    if (!factor) return;
    SideText source, target;
    std::string head;
    Names given, parts;
    std::int64_t whole = 0;
    for (std::size_t k = 0; k < views.size(); ++k) {
      const std::string name = fmt::format("x{}", operands[k].base);
      const Names shape = views[k].base_shape_text();
      const std::string line =
          fmt::format("  {}: {}\n", name, declared(graph_.tensor(node.inputs[k]).type, shape));
      if (head.find(line) == std::string::npos) head += line;
      given.push_back(source.viewed(name, operands[k].view));
      Sizes divided;
      for (const View::Factor& f : views[k].factors()) divided.push_back(f.size);
      parts.push_back(target.reshaped(name, shape, names_of(divided)));
      whole += divided[*factor];
    }
    const std::string from = source.line(call_of(graph_, node, given));
    Sizes shape;
    for (const View::Factor& f : views[0].factors()) shape.push_back(f.size);
    const View result = piece_of(views[0], shape, *factor, whole);
    const std::string base =
        target.line(fmt::format("{}({}; axis={})", node.op->name, fmt::join(parts, ", "), *factor));
    after.view = result;
    after.base = next_base_++;
    add_step(node.outputs,
             {rule_text("moves_of_" + node.op->name, head, source, {from}, target,
                        {target.viewed(base, result)})},
             after);
    states_.insert_or_assign(node.outputs[0], std::move(after));
  }

  /// The factor along which bases of views, which are alike but for its size, are joined if the
  /// views are along the axis. None: they are not alike, or nothing moves.
  static std::optional<std::size_t> joined_factor(const std::vector<View>& views,
                                                  std::size_t axis) {
    const View& first = views[0];
    if (views.size() < 2 || !first.is_permuted() || first.dims()[axis].empty()) return std::nullopt;
    const std::size_t factor = first.dims()[axis][0];
    const auto is_like_first = [&](const View& view) {
      if (!view.is_whole() || view.dims() != first.dims()) return false;
      for (std::size_t f = 0; f < view.factors().size(); ++f)
        if (f != factor && view.factors()[f].size != first.factors()[f].size) return false;
      return true;
    };
    return std::ranges::all_of(views, is_like_first) ? std::optional(factor) : std::nullopt;
  }

  /// The view, with a factor of that size in place of one.
  static View piece_of(const View& view, Sizes base_shape, std::size_t factor, std::int64_t size) {
    base_shape[factor] = size;
    std::vector<View::Factor> factors = view.factors();
    std::vector<View::Factors> dims = view.dims();
    factors[factor].size = size;
    if (size > 1) return View(std::move(base_shape), std::move(factors), std::move(dims));
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(factor));
    for (View::Factors& dim : dims) {
      std::erase(dim, factor);
      for (std::size_t& f : dim) f -= f > factor;
    }
    return View(std::move(base_shape), std::move(factors), std::move(dims));
  }

  /// And a state in the part of the graph that they are in.
  std::pair<std::vector<MovedOperand>, State> operands_of(const Node& node) {
    std::vector<MovedOperand> operands;
    State state{View(Sizes{}), next_base_};
    for (const TensorId id : node.inputs) {
      const State its = state_of(id);
      operands.push_back({its.view, its.base});
      join_parts(state, its);
    }
    return {std::move(operands), std::move(state)};
  }

  /// The sum of what the node multiplies, if nothing else reads it.
  const Node* summed_by(const Node& node) const {
    if (node.op->name != "mul" || node.outputs.size() != 1 || graph_.is_output(node.outputs[0]))
      return nullptr;
    const auto readers = graph_.consumers(node.outputs[0]);
    if (readers.size() != 1) return nullptr;
    const Node& sum = graph_.node(readers[0]);
    return sum.op->name == "reduce_sum" && has_known_sizes(sum) ? &sum : nullptr;
  }

  void compute(const Node& node) {
    if (node.op->name == "reduce_sum" && graph_.tensor(node.inputs[0]).producer.valid()) {
      const Node& product = graph_.node(graph_.tensor(node.inputs[0]).producer);
      if (summed_by(product) == &node && !graph_.is_constant_expression(node.inputs[0]))
        return sum(product, node);
    }
    auto [operands, after] = operands_of(node);
    auto moved = convolution_of_phases(graph_, node, operands);
    if (!moved) moved = moved_operator(graph_, node, std::move(operands), wanted_of(node));
    if (moved) take(node, *std::move(moved), std::move(after));
  }

  void sum(const Node& product, const Node& node) {
    auto [factors, after] = operands_of(product);
    auto moved = moved_sum(graph_, product, node, std::move(factors), wanted_of(node));
    if (moved) take(node, *std::move(moved), std::move(after));
  }

  void take(const Node& node, MovedOperator moved, State after) {
    after.base = next_base_++;
    after.view = std::move(moved.result);
    add_step(node.outputs, {std::move(moved.text)}, after,
             moved.reassociates ? FloatBehavior::kReassociates : FloatBehavior::kExact);
    states_.insert_or_assign(node.outputs[0], std::move(after));
  }

  /// How a result is read at the end of the moves behind it.
  std::optional<View> wanted_of(const Node& node) const {
    const TensorId result = node.outputs[0];
    std::set<TensorId> seen;
    return wanted(View(shape_of(result)), result, kFarthestReader, seen);
  }
  /// `seen`: what was looked at, in whichever way it was come to.
  std::optional<View> wanted(View view, TensorId at, std::size_t distance,
                             std::set<TensorId>& seen) const {
    if (distance == 0 || !seen.insert(at).second) return std::nullopt;
    for (const NodeId reader : graph_.consumers(at)) {
      const Node& node = graph_.node(reader);
      if (!has_known_sizes(node)) continue;
      View next = view;
      const TensorId result = node.outputs[0];
      if (const auto join = joins_.find_behind(at)) {
        auto whole = join->second->view.of(view);
        if (whole) return wanted_at(*std::move(whole), join->first, distance, seen);
      }
      const bool moves = is_move(node);
      const bool goes_on = moves ? transforms::move(next, node, shape_of(result))
                                 : keeps_places(node) && shape_of(result) == shape_of(at);
      if (!goes_on) continue;
      if (auto found = wanted_at(std::move(next), result, distance, seen)) return found;
    }
    return std::nullopt;
  }
  /// Further on, or there.
  std::optional<View> wanted_at(View view, TensorId at, std::size_t distance,
                                std::set<TensorId>& seen) const {
    auto further = wanted(view, at, distance - 1, seen);
    if (further) return further;
    const auto readers = graph_.consumers(at);
    const bool is_taken = std::ranges::any_of(readers, [&](NodeId reader) {
      const core::OpSchema& op = *graph_.node(reader).op;
      return op.has_operand(core::OperandRole::kLeftMatrix) && !is_product_of_moved(reader);
    });
    return (graph_.is_output(at) || is_taken) && view.is_permuted() ? std::optional(view)
                                                                    : std::nullopt;
  }
  /// Whether contractions may read it in any order.
  bool is_product_of_moved(NodeId id) const {
    return std::ranges::none_of(graph_.node(id).inputs, [&](TensorId input) {
      return graph_.is_constant_expression(input) && graph_.tensor(input).type.shape.size() == 2;
    });
  }

  // --- Parts of the graph ---

  void join_parts(State& into, const State& other) {
    into.part = parts_.join(into.part, other.part);
  }
  void add_step(std::vector<TensorId> results, std::vector<std::string> texts, State& after,
                FloatBehavior floats = FloatBehavior::kExact, bool is_optional = false) {
    if (!after.part) after.part = parts_.make();
    parts_.add(*after.part, {.results = std::move(results),
                             .is_optional = is_optional,
                             .texts = std::move(texts),
                             .description = kMovesDescription,
                             .floats = floats});
  }

  const Graph& graph_;
  PiecesOfJoins joins_;
  std::map<TensorId, State> states_;
  std::size_t next_base_ = 0;
  SequenceParts parts_;
};

}  // namespace

bool is_move(const Node& node) {
  return node.op->movement == Movement::kReshape || node.op->movement == Movement::kPermute;
}

bool move(View& view, const Node& node, const Sizes& shape) {
  if (node.op->movement == Movement::kReshape) return view.reshape(shape);
  Sizes order;
  for (const core::Polynomial& d : ops::sizes_by_role(node, AttributeRole::kPermutation))
    order.push_back(d.constant());
  view.permute(order);
  return true;
}

std::vector<RewriteSequence> find_moves(const Graph& graph) { return MovePlanner(graph).run(); }

}  // namespace soapstone::transforms
