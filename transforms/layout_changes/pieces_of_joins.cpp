#include "transforms/layout_changes/pieces_of_joins.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/definition/by_role.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Of which a join is taken.
constexpr std::size_t kMostPieces = 64;

Sizes numbers_of(const std::vector<core::Polynomial>& sizes) {
  Sizes numbers;
  for (const core::Polynomial& n : sizes) numbers.push_back(n.constant());
  return numbers;
}
Sizes by_role(const Node& node, AttributeRole role) {
  return numbers_of(ops::sizes_by_role(node, role));
}

}  // namespace

PiecesOfJoins::PiecesOfJoins(const Graph& graph) : graph_(graph) {
  for (const NodeId id : graph.order()) {
    const auto known = [&](TensorId tensor) {
      return tensor.valid() && graph.tensor(tensor).type.shape_known &&
             core::concrete(graph.tensor(tensor).type.shape);
    };
    const Node& node = graph.node(id);
    if (std::ranges::all_of(node.inputs, known) && std::ranges::all_of(node.outputs, known))
      visit(node);
  }
  find_needed();
}

PiecesOfJoins::Join PiecesOfJoins::piece_at(TensorId id) const {
  const auto known = pieces_.find(id);
  return known != pieces_.end() ? known->second
                                : Join{id, View(numbers_of(graph_.tensor(id).type.shape))};
}

void PiecesOfJoins::visit(const Node& node) {
  switch (node.op->movement) {
  case Movement::kReshape:
  case Movement::kPermute: {
    if (!pieces_.contains(node.inputs[0])) return;
    Join piece = piece_at(node.inputs[0]);
    if (node.op->movement == Movement::kPermute)
      piece.view.permute(by_role(node, AttributeRole::kPermutation));
    else if (!piece.view.reshape(numbers_of(graph_.tensor(node.outputs[0]).type.shape)))
      return;
    pieces_.emplace(node.outputs[0], std::move(piece));
    return;
  }
  case Movement::kCut: {
    Join piece = piece_at(node.inputs[0]);
    const Sizes axes = by_role(node, AttributeRole::kAxes),
                starts = by_role(node, AttributeRole::kStart),
                sizes = by_role(node, AttributeRole::kExtent),
                steps = by_role(node, AttributeRole::kStep);
    for (std::size_t k = 0; k < axes.size(); ++k)
      if (!piece.view.cut(static_cast<std::size_t>(axes[k]), starts[k], sizes[k], steps[k])) return;
    pieces_.emplace(node.outputs[0], std::move(piece));
    return;
  }
  case Movement::kSplit: {
    const std::size_t axis = ops::axis_by_role(node);
    std::int64_t start = 0;
    for (const TensorId id : node.outputs) {
      Join piece = piece_at(node.inputs[0]);
      const std::int64_t size = graph_.tensor(id).type.shape[axis].constant();
      if (piece.view.cut(axis, start, size, 1)) pieces_.emplace(id, std::move(piece));
      start += size;
    }
    return;
  }
  case Movement::kJoin:
    return join(node);
  default:
    return;
  }
}

std::optional<PiecesOfJoins::Join> PiecesOfJoins::joined(const Node& node, std::size_t first,
                                                         std::size_t end) const {
  std::vector<View> parts;
  const auto begin = pieces_.find(node.inputs[first]);
  for (std::size_t k = first; k < end; ++k) {
    const auto known = pieces_.find(node.inputs[k]);
    if (known == pieces_.end() || known->second.origin != begin->second.origin) return std::nullopt;
    parts.push_back(known->second.view);
  }
  auto view = View::joined(std::move(parts), ops::axis_by_role(node));
  return view ? std::optional(Join{begin->second.origin, *std::move(view)}) : std::nullopt;
}

void PiecesOfJoins::join(const Node& node) {
  if (node.inputs.size() > kMostPieces || node.inputs.size() < 2) return;
  auto all = joined(node, 0, node.inputs.size());
  if (!all) return join_groups(node);
  const bool is_whole = all->view.is_whole();
  (is_whole ? joins_ : pieces_).emplace(node.outputs[0], *std::move(all));
}

void PiecesOfJoins::join_groups(const Node& node) {
  SideText source, target;
  std::map<TensorId, std::string> names;
  std::string head;
  const auto name_of = [&](TensorId id) {
    const auto [known, is_new] = names.emplace(id, fmt::format("x{}", names.size()));
    const core::TensorType& type = graph_.tensor(id).type;
    if (is_new)
      head += fmt::format("  {}: {}\n", known->second,
                          declared(type, names_of(numbers_of(type.shape))));
    return known->second;
  };
  Names pieces, whole;
  bool has_groups = false;
  for (std::size_t first = 0; first < node.inputs.size();) {
    std::size_t end = node.inputs.size();
    auto group = joined(node, first, end);
    while (end > first + 1 && !(group && group->view.is_whole()))
      group = joined(node, first, --end);
    if (end == first + 1) {
      pieces.push_back(name_of(node.inputs[first++]));
      whole.push_back(pieces.back());
      continue;
    }
    has_groups = true;
    const std::string name = name_of(group->origin);
    for (; first < end; ++first)
      pieces.push_back(written(node.inputs[first], group->origin, name, {}, source));
    whole.push_back(target.viewed(name, group->view));
  }
  if (!has_groups) return;
  const std::string y = source.line(call_of(graph_, node, pieces));
  rules_of_groups_.emplace(node.outputs[0], rule_text("moves_of_concat", head, source, {y}, target,
                                                      {target.line(call_of(graph_, node, whole))}));
}

void PiecesOfJoins::find_needed() {
  std::set<TensorId> read;
  for (const TensorId id : graph_.outputs()) read.insert(id);
  const auto order = graph_.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph_.node(*id);
    if (std::ranges::none_of(node.outputs, [&](TensorId t) { return read.contains(t); })) continue;
    needed_.insert(*id);
    if (const Join* join = find(node.outputs[0]))
      read.insert(join->origin);
    else
      read.insert(node.inputs.begin(), node.inputs.end());
  }
}

const PiecesOfJoins::Join* PiecesOfJoins::find(TensorId id) const {
  const auto known = joins_.find(id);
  return known == joins_.end() ? nullptr : &known->second;
}

std::optional<std::pair<TensorId, const PiecesOfJoins::Join*>>
PiecesOfJoins::find_behind(TensorId origin) const {
  for (const auto& [id, join] : joins_)
    if (join.origin == origin) return std::pair(id, &join);
  return std::nullopt;
}

void PiecesOfJoins::leave_undivided(TensorId id, TensorId origin, std::vector<bool>& dims) const {
  if (id == origin) return;
  const auto piece = pieces_.find(id);
  const View& view = piece != pieces_.end() ? piece->second.view : joins_.at(id).view;
  const auto undivided = view.undivided();
  for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = dims[d] && undivided[d];
  for (const TensorId input : graph_.node(graph_.tensor(id).producer).inputs)
    leave_undivided(input, origin, dims);
}

std::string PiecesOfJoins::written(TensorId id, TensorId origin, const std::string& name,
                                   const std::vector<bool>& any_size, SideText& side) const {
  if (id == origin) return name;
  const Node& node = graph_.node(graph_.tensor(id).producer);
  Names operands;
  for (const TensorId input : node.inputs)
    operands.push_back(written(input, origin, name, any_size, side));
  std::optional<Names> shape;
  if (node.op->movement == Movement::kReshape && !any_size.empty())
    shape = pieces_.at(id).view.named(any_size).shape_text();
  const Names results = side.lines(call_of(graph_, node, operands, shape), node.outputs.size());
  return results[static_cast<std::size_t>(std::ranges::find(node.outputs, id) -
                                          node.outputs.begin())];
}

std::vector<std::string> PiecesOfJoins::rules(TensorId id) const {
  const auto& [origin, view] = joins_.at(id);
  std::vector<bool> any_size(view.base_shape().size(), true);
  leave_undivided(id, origin, any_size);
  std::vector<std::string> texts;
  for (const bool is_any : {true, false}) {
    if (!is_any) any_size.assign(any_size.size(), false);
    const View named = view.named(any_size);
    SideText source, target;
    const std::string y = written(id, origin, "x", any_size, source),
                      moved = target.viewed("x", named);
    texts.push_back(rule_text(
        "moves_of_concat",
        fmt::format("  x: {}\n", declared(graph_.tensor(origin).type, named.base_shape_text())),
        source, {y}, target, {moved}));
  }
  return texts;
}

}  // namespace soapstone::transforms
