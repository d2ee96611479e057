#include "transforms/pack/pieces.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Movement;
using core::Polynomial;

/// Pieces of one tensor along one dimension.
struct Pieces {
  std::vector<std::int64_t> whole, piece;  ///< Shapes.
  std::size_t axis = 0;
  std::int64_t start = 0;  ///< Of the first one.
  bool is_split = false;   ///< They are results of one node.
};

std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::optional<std::vector<std::int64_t>> known_shape(const core::TensorType& type) {
  std::vector<std::int64_t> sizes;
  for (const Polynomial& n : type.shape) {
    if (!n.is_constant()) return std::nullopt;
    sizes.push_back(n.constant());
  }
  return sizes;
}

std::optional<Pieces> pieces_along(const core::Graph& graph,
                                   std::span<const core::TensorId> tensors) {
  const core::Node& first = graph.node(graph.tensor(tensors[0]).producer);
  const auto whole = known_shape(graph.tensor(first.inputs[0]).type);
  const auto piece = known_shape(graph.tensor(tensors[0]).type);
  if (!whole || !piece || !core::is_floating(graph.tensor(tensors[0]).type.data_type))
    return std::nullopt;
  Pieces found{*whole, *piece};
  found.is_split = first.op->movement == Movement::kSplit;
  if (found.is_split) {
    found.axis = ops::axis_by_role(first);
    const bool equal = std::ranges::all_of(
        tensors, [&](core::TensorId id) { return known_shape(graph.tensor(id).type) == piece; });
    return equal ? std::optional(found) : std::nullopt;
  }
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const core::NodeId producer = graph.tensor(tensors[k]).producer;
    if (!producer.valid()) return std::nullopt;
    const core::Node& node = graph.node(producer);
    if (node.op != first.op || node.inputs != first.inputs ||
        known_shape(graph.tensor(tensors[k]).type) != piece)
      return std::nullopt;
    const auto& axes = ops::sizes_by_role(node, AttributeRole::kAxes);
    if (axes.size() != 1 || ops::sizes_by_role(node, AttributeRole::kStep)[0] != Polynomial(1))
      return std::nullopt;
    const std::int64_t start = ops::sizes_by_role(node, AttributeRole::kStart)[0].constant();
    const auto axis = static_cast<std::size_t>(axes[0].constant());
    if (k == 0) {
      found.axis = axis;
      found.start = start;
    }
    if (axis != found.axis ||
        start != found.start + static_cast<std::int64_t>(k) * found.piece[found.axis])
      return std::nullopt;
  }
  return found;
}

/// Lines that give `s`, the tensor `now` of shape `taken` with its `count` pieces as items.
std::string to_the_front(const Pieces& cut, std::vector<std::int64_t> taken, std::int64_t count,
                         const std::string& now) {
  const auto axis = static_cast<std::ptrdiff_t>(cut.axis);
  std::vector<std::int64_t> items = cut.piece;
  items.insert(items.begin(), count);
  const bool moves = std::ranges::any_of(taken.begin(), taken.begin() + axis,
                                         [](std::int64_t n) { return n != 1; });
  if (!moves) return fmt::format("    s = reshape({}; shape=[{}])\n", now, numbers_text(items));
  taken[cut.axis] = cut.piece[cut.axis];
  taken.insert(taken.begin() + axis, count);
  std::vector<std::int64_t> order{axis};
  for (std::int64_t d = 0; d < std::ssize(taken); ++d)
    if (d != axis) order.push_back(d);
  return fmt::format("    p = reshape({}; shape=[{}])\n    s = transpose(p; perm=[{}])\n", now,
                     numbers_text(taken), numbers_text(order));
}

}  // namespace

std::optional<std::string> taken_pieces(const core::Graph& graph,
                                        std::span<const core::TensorId> pieces) {
  const auto cut = pieces_along(graph, pieces);
  if (!cut) return std::nullopt;
  const std::string count = std::to_string(pieces.size()), whole = numbers_text(cut->whole);
  const std::string piece = numbers_text(cut->piece);
  std::string text = fmt::format("rule batch_of_pieces\n  x: [{}]\n  placed\n  source\n", whole);
  std::vector<std::int64_t> taken = cut->whole;
  taken[cut->axis] = cut->piece[cut->axis] * std::ssize(pieces);
  if (cut->is_split) {
    text += fmt::format("    y{{1..{0}}} = split(x; axis={1}, sizes=[{{{0} times {2}}}])\n", count,
                        cut->axis, cut->piece[cut->axis]);
  } else {
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      text += fmt::format(
          "    y{} = slice(x; axes=[{}], starts=[{}], sizes=[{}], steps=[1])\n", k + 1, cut->axis,
          cut->start + static_cast<std::int64_t>(k) * cut->piece[cut->axis], cut->piece[cut->axis]);
    }
  }
  text += "  target\n";
  std::string now = "x";
  if (taken != cut->whole) {
    text += fmt::format("    c = slice(x; axes=[{}], starts=[{}], sizes=[{}], steps=[1])\n",
                        cut->axis, cut->start, taken[cut->axis]);
    now = "c";
  }
  text += to_the_front(*cut, std::move(taken), std::ssize(pieces), now);
  text += fmt::format("    t{{1..{0}}} = split(s; axis=0, sizes=[{{{0} times 1}}])\n", count);
  return text +
         fmt::format("    each i in 1..{}  y{{i}} = reshape(t{{i}}; shape=[{}])\n", count, piece);
}

}  // namespace soapstone::transforms
