#include "transforms/receptive/stepped.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/base/source_text.h"
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

/// Functions behind a convolution.
constexpr std::size_t kMostFunctions = 4;

constexpr std::string_view kStepsDescription =
    "Places that nobody reads are not computed: steps between places are strides.";
constexpr std::string_view kMeanDescription =
    "A mean of places of a convolution is a convolution with a kernel that is spread over them.";

/// What a node takes of an image, by dimension: windows with their first elements at
/// `start + step·k`, for each k below `count`.
struct Places {
  Dims start, step, count, window;

  bool are_single() const {
    return std::ranges::all_of(window, [](std::int64_t n) { return n == 1; });
  }
  bool are_apart() const {
    for (std::size_t d = 0; d < step.size(); ++d)
      if (step[d] > 1 && count[d] > 1) return true;
    return false;
  }
};

/// None: it does something else, or reads places beside the image.
std::optional<Places> sliding_places(const Graph& graph, const Node& node) {
  const bool is_cut = node.op->movement == Movement::kCut;
  const bool is_pool = node.op->find_role(AttributeRole::kWindow) != nullptr &&
                       node.op->find_role(AttributeRole::kStride) != nullptr;
  if ((!is_cut && !is_pool) || node.inputs.size() != 1 || node.outputs.size() != 1)
    return std::nullopt;
  const Dims image = dims_of(graph, node.inputs[0]), result = dims_of(graph, node.outputs[0]);
  if (image.size() <= kPlaces || result.size() != image.size()) return std::nullopt;
  const std::size_t rank = image.size() - kPlaces;
  Places places{
      Dims(rank, 0), Dims(rank, 1), {result.begin() + kPlaces, result.end()}, Dims(rank, 1)};
  if (is_cut) {
    const Dims axes = ops::ints_by_role(node, AttributeRole::kAxes);
    const auto starts = core::concrete(ops::sizes_by_role(node, AttributeRole::kStart)),
               steps = core::concrete(ops::sizes_by_role(node, AttributeRole::kStep));
    if (!starts || !steps) return std::nullopt;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (axes[k] < static_cast<std::int64_t>(kPlaces) || (*steps)[k] < 1) return std::nullopt;
      const std::size_t d = static_cast<std::size_t>(axes[k]) - kPlaces;
      places.start[d] = (*starts)[k];
      places.step[d] = (*steps)[k];
    }
    return places;
  }
  places.step = ops::ints_by_role(node, AttributeRole::kStride);
  places.window = ops::ints_by_role(node, AttributeRole::kWindow);
  const Dims pads = ops::ints_by_role(node, AttributeRole::kPad),
             dilations = ops::ints_by_role(node, AttributeRole::kDilation);
  if (std::ranges::any_of(pads, [](std::int64_t n) { return n != 0; })) return std::nullopt;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t end = (places.count[d] - 1) * places.step[d] + places.window[d];
    if ((dilations[d] != 1 && places.window[d] != 1) || end > image[kPlaces + d])
      return std::nullopt;
  }
  // The greatest of one place is that place, as its mean is.
  const bool is_mean = node.op->find_role(AttributeRole::kCountsPad) != nullptr;
  return is_mean || places.are_single() ? std::optional(std::move(places)) : std::nullopt;
}

/// Sets the ends of a convolution that has `count` places of an image, whose window and strides are
/// known, and cuts off what lies before the first place and behind the last. The line of the cut,
/// if there is one, and the image's name then.
std::string fitted(Convolution& conv, const Dims& image, const Dims& count, std::string& name) {
  Dims axes, starts, sizes;
  for (std::size_t d = 0; d < count.size(); ++d) {
    const std::int64_t n = image[kPlaces + d], last = (count[d] - 1) * conv.strides[d];
    const std::int64_t before = std::max<std::int64_t>(conv.window.low[d], 0);
    conv.window.low[d] -= before;
    conv.window.high[d] -= before;
    // Rows that the stride leaves out at the end may stay.
    const std::int64_t behind =
        std::max<std::int64_t>(n - before - (last + conv.strides[d]) - conv.window.high[d], 0);
    const std::int64_t left = n - before - behind;
    conv.end[d] = std::max(last + 1 - left, -conv.window.high[d]);
    if (left == n) continue;
    axes.push_back(static_cast<std::int64_t>(kPlaces + d));
    starts.push_back(before);
    sizes.push_back(left);
  }
  if (axes.empty()) return "";
  const std::string line =
      cut_out("xc", name, {list(axes), list(starts), list(sizes), list(Dims(axes.size(), 1))});
  name = "xc";
  return line;
}

std::string head_of(const Graph& graph, TensorId image, const Node& node) {
  return declared(graph, "x", image) + declared(graph, "w", node.inputs[1]) +
         (node.inputs.size() > 2 && node.inputs[2].valid() ? declared(graph, "b", node.inputs[2])
                                                           : "");
}

std::string taken(const Graph& graph, const Node& node, const char* result, const char* image) {
  return fmt::format("    {} = {}\n", result,
                     fmt::format(fmt::runtime(call_around(graph, node)), image));
}

RewriteSequence plan_of(TensorId result, std::string text, std::string_view description) {
  return {{{.results = {result},
            .texts = {std::move(text)},
            .description = description,
            .floats = FloatBehavior::kReassociates}}};
}

/// A convolution, and functions of single elements behind it, in order.
struct Layer {
  NodeId convolution;
  std::vector<NodeId> functions;
};

/// The operand that the node is a function of, element by element, if the others are the same at
/// all places.
std::optional<TensorId> operand_of(const Graph& graph, const Node& node) {
  if (node.op->is_opaque() || node.outputs.size() != 1 ||
      ops::definition_of(node)->op_class != ops::OpClass::kElementwise)
    return std::nullopt;
  const Dims result = dims_of(graph, node.outputs[0]);
  std::optional<TensorId> operand;
  for (const TensorId id : node.inputs) {
    if (!id.valid()) return std::nullopt;
    if (graph.is_constant_expression(id)) {
      const auto dims = core::concrete(graph.tensor(id).type.shape);
      if (!dims || dims->size() > result.size()) return std::nullopt;
      for (std::size_t d = kPlaces; d < result.size(); ++d)
        if (const std::size_t missing = result.size() - dims->size();
            d >= missing && (*dims)[d - missing] != 1)
          return std::nullopt;
    } else if (operand || dims_of(graph, id) != result) {
      return std::nullopt;
    } else {
      operand = id;
    }
  }
  return operand;
}

/// What computes the tensor, if nothing else reads it on the way.
std::optional<Layer> layer_of(const Graph& graph, TensorId id) {
  Layer layer;
  while (is_inner(graph, id)) {
    const NodeId producer = graph.tensor(id).producer;
    if (!producer.valid()) break;
    if (convolution_at(graph, producer)) {
      layer.convolution = producer;
      std::ranges::reverse(layer.functions);
      return layer;
    }
    const auto operand = operand_of(graph, graph.node(producer));
    if (!operand || layer.functions.size() == kMostFunctions) break;
    layer.functions.push_back(producer);
    id = *operand;
  }
  return std::nullopt;
}

/// The lines of the layer's functions. `image`: the name of the convolution's result; `part` begins
/// the names of what functions come to, but that of the last one is `result`.
std::string functions_of(const Graph& graph, const Layer& layer, std::string image,
                         const std::string& part, const std::string& result) {
  std::string lines;
  std::size_t constants = 0;
  for (std::size_t k = 0; k < layer.functions.size(); ++k) {
    const Node& node = graph.node(layer.functions[k]);
    std::vector<std::string> operands;
    for (const TensorId id : node.inputs)
      operands.push_back(graph.is_constant_expression(id) ? fmt::format("c{}", constants++)
                                                          : image);
    image = k + 1 == layer.functions.size() ? result : fmt::format("{}{}", part, k);
    lines += fmt::format("    {} = {}\n", image, call_of(graph, node, operands));
  }
  return lines;
}

std::string constants_of(const Graph& graph, const Layer& layer) {
  std::string head;
  std::size_t constants = 0;
  for (const NodeId id : layer.functions)
    for (const TensorId input : graph.node(id).inputs)
      if (graph.is_constant_expression(input))
        head += declared(graph, fmt::format("c{}", constants++), input);
  return head;
}

/// Behind a convolution, and behind functions of its elements if single places are taken.
std::optional<RewriteSequence> plan_behind(const Graph& graph, const Node& node,
                                           const Places& places) {
  const auto layer = layer_of(graph, node.inputs[0]);
  if (!layer || (!places.are_single() && !layer->functions.empty())) return std::nullopt;
  const Convolution inner = *convolution_at(graph, layer->convolution);
  Convolution both = inner;
  const std::size_t rank = places.step.size();
  Dims around(2 * (kPlaces + rank), 0);
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t more = places.window[d] - 1;
    // Windows would overlap in steps.
    if (more > 0 &&
        (inner.strides[d] != 1 || (inner.window.step[d] != 1 && inner.window.size(d) > 1)))
      return std::nullopt;
    if (more > 0) both.window.step[d] = 1;
    both.window.low[d] += inner.strides[d] * places.start[d];
    both.window.high[d] += inner.strides[d] * places.start[d] + more;
    both.strides[d] *= places.step[d];
    around[kPlaces + d] = around[2 * kPlaces + rank + d] = more;
    if (more > kMostWindowElements || both.window.size(d) > kMostWindowElements)
      return std::nullopt;
    elements *= both.window.size(d);
  }
  if (elements > kMostWindowElements) return std::nullopt;
  const bool has_functions = !layer->functions.empty();
  const std::string bias = inner.has_bias ? "b" : "";
  const std::string source = convolved(inner, has_functions ? "s" : "t", "x", "w", bias) +
                             functions_of(graph, *layer, "s", "f", "t") +
                             taken(graph, node, "y", "t");
  std::string image = "x", kernel = "w", target;
  if (!places.are_single()) {
    const Dims ones(rank, 1);
    target += padded("wp", "w", around, Dims(kPlaces + rank, 0)) +
              fmt::format("    v = average_pool(wp; kernel=[{}], strides=[{}], dilations=[{}], "
                          "pads=[{}])\n",
                          list(places.window), list(ones), list(ones), list(Dims(2 * rank, 0)));
    kernel = "v";
  }
  target += fitted(both, dims_of(graph, inner.image), places.count, image);
  target += convolved(both, has_functions ? "u" : "y", image, kernel, bias) +
            functions_of(graph, *layer, "u", "g", "y");
  return plan_of(node.outputs[0],
                 window_rule(places.are_single() ? "steps" : "means",
                             head_of(graph, inner.image, graph.node(layer->convolution)) +
                                 constants_of(graph, *layer),
                             source, target),
                 places.are_single() ? kStepsDescription : kMeanDescription);
}

/// In front of one.
std::optional<RewriteSequence> plan_before(const Graph& graph, const Node& node,
                                           const Places& places, NodeId reader) {
  const auto outer = convolution_at(graph, reader);
  if (!outer || outer->image != node.outputs[0] || !places.are_single()) return std::nullopt;
  const Dims image_dims = dims_of(graph, node.inputs[0]), count = dims_of(graph, outer->result);
  Convolution both = *outer;
  both.image = node.inputs[0];
  for (std::size_t d = 0; d < places.step.size(); ++d) {
    const std::int64_t step = places.step[d], start = places.start[d];
    // What a border of the cut image is made of must lie beside the image, too.
    const bool has_front = outer->window.low[d] < 0;
    const bool has_end = outer->end[d] + outer->window.high[d] > 0;
    if ((has_front && start >= step) ||
        (has_end && start + step * places.count[d] < image_dims[kPlaces + d]))
      return std::nullopt;
    both.window.low[d] = start + step * outer->window.low[d];
    both.window.high[d] = start + step * outer->window.high[d];
    if (outer->window.size(d) > 1) both.window.step[d] *= step;
    both.strides[d] *= step;
  }
  const std::string bias = outer->has_bias ? "b" : "";
  const std::string source = taken(graph, node, "t", "x") + convolved(*outer, "y", "t", "w", bias);
  std::string image = "x";
  std::string target = fitted(both, image_dims, {count.begin() + kPlaces, count.end()}, image);
  target += convolved(both, "y", image, "w", bias);
  return plan_of(
      outer->result,
      window_rule("steps", head_of(graph, node.inputs[0], graph.node(reader)), source, target),
      kStepsDescription);
}

}  // namespace

std::vector<RewriteSequence> find_stepped_windows(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (graph.is_constant_expression(id)) continue;
    const auto places = sliding_places(graph, node);
    if (!places || (places->are_single() && !places->are_apart())) continue;
    if (auto plan = plan_behind(graph, node, *places)) plans.push_back(*std::move(plan));
    for (const NodeId reader : graph.consumers(node.outputs[0]))
      if (auto plan = plan_before(graph, node, *places, reader)) plans.push_back(*std::move(plan));
  }
  return plans;
}

}  // namespace soapstone::transforms
