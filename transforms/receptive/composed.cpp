#include "transforms/receptive/composed.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "transforms/receptive/convolution_text.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Dims;
using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

constexpr std::string_view kComposedDescription =
    "A window over places of windows is one with the products of their factors.";
constexpr std::string_view kBlockDescription =
    "A window over channels that are places of blocks is one over these places.";

/// Whether the window stays inside the image along a dimension.
bool is_inside(const Convolution& conv, std::size_t d) {
  return conv.window.low[d] == 0 && conv.end[d] + conv.window.high[d] == 0;
}
/// Whether each place of the result is of one place of the image along a dimension: the same one.
bool passes(const Convolution& conv, std::size_t d) {
  return conv.strides[d] == 1 && conv.window.low[d] == 0 && conv.window.high[d] == 0 &&
         conv.end[d] == 0;
}

/// `outer` has one group, or as many as `inner` with one channel each. Where it has a border,
/// `inner` passes places on and has no bias, so what it makes of zeros is zero.
std::string text_of_both(const Graph& graph, const Convolution& inner, const Convolution& outer,
                         const Node& first, const Node& second) {
  const bool is_depthwise = outer.group > 1;
  Convolution both = inner;
  both.results = outer.results;
  both.group = is_depthwise ? outer.group : 1;
  Dims strides, dilations;
  for (std::size_t d = 0; d < inner.strides.size(); ++d) {
    // Where the inner window has one place, its step says nothing.
    const std::int64_t step = inner.window.size(d) > 1 ? inner.window.step[d] : 1;
    strides.push_back(inner.strides[d] * outer.window.step[d]);
    dilations.push_back(step);
    both.strides[d] = inner.strides[d] * outer.strides[d];
    both.window.step[d] = 1;
    both.window.low[d] += inner.strides[d] * outer.window.low[d];
    both.window.high[d] += inner.strides[d] * outer.window.high[d];
    both.end[d] += inner.strides[d] * outer.end[d];
  }
  std::string head = declared(graph, "x", first.inputs[0]) + declared(graph, "v", first.inputs[1]) +
                     declared(graph, "w", second.inputs[1]);
  if (inner.has_bias) head += declared(graph, "a", first.inputs[2]);
  if (outer.has_bias) head += declared(graph, "b", second.inputs[2]);
  const std::string source = convolved(inner, "t", "x", "v", inner.has_bias ? "a" : "") +
                             convolved(outer, "y", "t", "w", outer.has_bias ? "b" : "");
  const std::size_t rank = inner.strides.size();
  const Dims kernel = dims_of(graph, second.inputs[1]);
  std::string target, image = "w", product = "u";
  if (is_depthwise) {
    Dims shape = kernel;
    std::swap(shape[0], shape[1]);
    target += reshaped("wi", "w", list(shape));
    image = "wi";
    product = "ui";
  }
  target += fmt::format("    {} = conv_transpose({}, v; strides=[{}], pads=[{}], dilations=[{}], "
                        "output_padding=[{}], group={})\n",
                        product, image, list(strides), list(Dims(2 * rank, 0)), list(dilations),
                        list(Dims(rank, 0)), inner.group);
  if (is_depthwise) {
    Dims shape{outer.results, 1};
    for (std::size_t d = 0; d < rank; ++d) shape.push_back(both.window.size(d));
    target += reshaped("u", "ui", list(shape));
  }
  std::string bias = outer.has_bias ? "b" : "";
  if (inner.has_bias) {
    Dims places;
    for (std::size_t d = 0; d < rank; ++d) places.push_back(static_cast<std::int64_t>(d) + 2);
    target += fmt::format("    f = reduce_sum(w; axes=[{}], keep_dims=0)\n", list(places));
    const std::string results = std::to_string(outer.results);
    if (is_depthwise)
      target += reshaped("fr", "f", results) + multiplied("c", "fr", "a");
    else
      target += reshaped("ac", "a", fmt::format("{}, 1", inner.results)) +
                "    fc = matmul(f, ac)\n" + reshaped("c", "fc", results);
    if (outer.has_bias) target += summed({"c", "b"}, "cb", "");
    bias = outer.has_bias ? "cb" : "c";
  }
  target += convolved(both, "y", "x", "u", bias);
  return window_rule("both", head, source, target);
}

std::optional<RewriteSequence> plan_composed(const Graph& graph, NodeId id) {
  const auto outer = convolution_at(graph, id);
  if (!outer || !is_inner(graph, outer->image)) return std::nullopt;
  const NodeId before = graph.tensor(outer->image).producer;
  const auto inner = before.valid() ? convolution_at(graph, before) : std::nullopt;
  if (!inner) return std::nullopt;
  const bool are_depthwise = outer->group > 1 && outer->group == inner->group &&
                             outer->operands == 1 && inner->operands == 1 &&
                             outer->results == outer->group && inner->results == inner->group;
  if (outer->group > 1 && !are_depthwise) return std::nullopt;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < outer->strides.size(); ++d) {
    if (!is_inside(*outer, d) && (inner->has_bias || !passes(*inner, d))) return std::nullopt;
    const std::int64_t its = outer->window.high[d] - outer->window.low[d],
                       own = inner->window.high[d] - inner->window.low[d];
    if (inner->strides[d] > kMostWindowElements || its > kMostWindowElements ||
        own > kMostWindowElements)
      return std::nullopt;
    elements *= inner->strides[d] * its + own + 1;
    if (elements > kMostWindowElements) return std::nullopt;
  }
  return RewriteSequence{
      {{.results = {outer->result},
        .texts = {text_of_both(graph, *inner, *outer, graph.node(before), graph.node(id))},
        .description = kComposedDescription,
        .floats = FloatBehavior::kReassociates}}};
}

/// An image taken apart into blocks, whose places were put before or behind the channels.
struct Blocks {
  TensorId image;
  Dims taken, moved, order;  ///< Of the channels, places in a block and blocks; the latter moved.
  Dims size;                 ///< Of a block.
};

/// The moves that make channels of the places in blocks. None: it is something else.
std::optional<Blocks> blocks_of(const Graph& graph, TensorId id) {
  std::array<NodeId, 3> moves;  // the last one first
  constexpr std::array kMoves{Movement::kReshape, Movement::kPermute, Movement::kReshape};
  TensorId at = id;
  for (std::size_t k = 0; k < moves.size(); ++k) {
    moves[k] = graph.tensor(at).producer;
    if (!moves[k].valid() || !is_inner(graph, at) || graph.node(moves[k]).op->movement != kMoves[k])
      return std::nullopt;
    at = graph.node(moves[k]).inputs[0];
    if (!core::concrete(graph.tensor(at).type.shape)) return std::nullopt;
  }
  Blocks blocks{.image = at, .taken = {}, .moved = {}, .order = {}, .size = {}};
  const Dims whole = dims_of(graph, at), joined = dims_of(graph, id);
  blocks.taken = dims_of(graph, graph.node(moves[1]).inputs[0]);
  blocks.moved = dims_of(graph, graph.node(moves[1]).outputs[0]);
  blocks.order = ops::ints_by_role(graph.node(moves[1]), AttributeRole::kPermutation);
  // [n, c, h, s, w, s] of [n, c, h·s, w·s]; the batch may be missing if it is 1.
  const std::size_t places = whole.size() < 3 ? 0 : whole.size() - 2;
  if (places == 0 || joined.size() != whole.size() || blocks.taken.size() != 2 + 2 * places)
    return std::nullopt;
  for (std::size_t d = 0; d < places; ++d) {
    const std::int64_t count = blocks.taken[2 + 2 * d], size = blocks.taken[3 + 2 * d];
    if (count * size != whole[2 + d] || joined[2 + d] != count) return std::nullopt;
    blocks.size.push_back(size);
    if (blocks.order[2 + places + d] != static_cast<std::int64_t>(2 + 2 * d)) return std::nullopt;
  }
  const bool fits = blocks.taken[0] == whole[0] && blocks.taken[1] == whole[1] &&
                    blocks.order[0] == 0 && joined[0] == whole[0];
  return fits ? std::optional(std::move(blocks)) : std::nullopt;
}

/// The convolution of the image itself: its window has a block for each place.
std::string text_of_blocks(const Graph& graph, const Convolution& conv, const Blocks& blocks,
                           const Node& node) {
  const std::size_t places = conv.strides.size();
  std::string head = declared(graph, "x", blocks.image) + declared(graph, "w", node.inputs[1]);
  if (conv.has_bias) head += declared(graph, "b", node.inputs[2]);
  const std::string bias = conv.has_bias ? "b" : "";
  const std::string source =
      reshaped("r", "x", list(blocks.taken)) + transposed("t", "r", blocks.order) +
      reshaped("j", "t", list(dims_of(graph, conv.image))) + convolved(conv, "y", "j", "w", bias);
  // The channels of the kernel as the channels and the places in a block, each of these behind the
  // place of its window.
  Dims apart{conv.results}, kernel{conv.results, dims_of(graph, blocks.image)[1]};
  for (std::size_t k = 1; k < 2 + places; ++k) apart.push_back(blocks.moved[k]);
  for (std::size_t d = 0; d < places; ++d) apart.push_back(conv.window.size(d));
  const auto place_of = [&](std::int64_t axis) {
    return std::ranges::find(blocks.order, axis) - blocks.order.begin();
  };
  Dims order{0, place_of(1)};
  Convolution whole = conv;
  for (std::size_t d = 0; d < places; ++d) {
    order.push_back(static_cast<std::int64_t>(2 + places + d));
    order.push_back(place_of(static_cast<std::int64_t>(3 + 2 * d)));
    const std::int64_t size = blocks.size[d];
    kernel.push_back(conv.window.size(d) * size);
    whole.strides[d] *= size;
    whole.window.low[d] *= size;
    whole.window.high[d] = conv.window.high[d] * size + size - 1;
    const std::int64_t behind = conv.end[d] + conv.window.high[d];
    whole.end[d] = behind * size - whole.window.high[d];
  }
  const std::string target = reshaped("wa", "w", list(apart)) + transposed("wt", "wa", order) +
                             reshaped("v", "wt", list(kernel)) +
                             convolved(whole, "y", "x", "v", bias);
  return window_rule("blocks", head, source, target);
}

std::optional<RewriteSequence> plan_blocks(const Graph& graph, NodeId id) {
  const auto conv = convolution_at(graph, id);
  if (!conv || conv->group != 1) return std::nullopt;
  const auto blocks = blocks_of(graph, conv->image);
  if (!blocks) return std::nullopt;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < conv->strides.size(); ++d) {
    // Blocks have to lie beside each other in the window.
    if (conv->window.size(d) > 1 && conv->window.step[d] != 1) return std::nullopt;
    if (conv->window.size(d) > kMostWindowElements || blocks->size[d] > kMostWindowElements)
      return std::nullopt;
    elements *= conv->window.size(d) * blocks->size[d];
    if (elements > kMostWindowElements) return std::nullopt;
  }
  return RewriteSequence{{{.results = {conv->result},
                           .texts = {text_of_blocks(graph, *conv, *blocks, graph.node(id))},
                           .description = kBlockDescription,
                           .floats = FloatBehavior::kReassociates}}};
}

}  // namespace

std::vector<RewriteSequence> find_composed_windows(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for (const NodeId id : graph.order()) {
    if (auto plan = plan_composed(graph, id)) plans.push_back(*std::move(plan));
    if (auto plan = plan_blocks(graph, id)) plans.push_back(*std::move(plan));
  }
  return plans;
}

}  // namespace soapstone::transforms
