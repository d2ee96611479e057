// See plan_cuts.h.
#include "parallel/plans/plan_cuts.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"

namespace soapstone::parallel {
namespace {

constexpr std::size_t kMostDimensionDigits = 2;

/// The whole text as a number; none if it is not one, or less than `least`.
std::optional<std::int64_t> parse_number(std::string_view text, std::int64_t least) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least)
    return std::nullopt;
  return number;
}

/// The mesh of the plan; of an uneven axis nothing but the shares is known.
RankMesh mesh_of(const PlanDocument& document) {
  std::vector<std::int64_t> sizes;
  std::optional<UnevenAxis> uneven;
  for (std::size_t a = 0; a < document.axes.size(); ++a) {
    const PlanAxis& axis = document.axes[a];
    sizes.push_back(axis.size);
    if (!axis.shares.empty())
      uneven = UnevenAxis{a, axis.shares, std::vector<std::size_t>(axis.shares.size())};
  }
  return RankMesh(document.shape.stages, std::move(sizes), std::move(uneven));
}

std::size_t axis_number(std::string_view name) {
  const auto at = std::ranges::find(kAxisNames, name);
  CHECK(at != kAxisNames.end(), "an axis that was read");
  return static_cast<std::size_t>(at - kAxisNames.begin());
}

AxisLoops axis_loops(const NodeCuts& cuts, const ops::PartitionSpace& space) {
  AxisLoops loops{kNoLoop, kNoLoop, kNoLoop, kNoLoop};
  const std::vector<std::string> names = loop_names(space);
  for (const auto& [loop, axes] : cuts.loops)
    for (const std::string& axis : axes)
      loops[axis_number(axis)] =
          static_cast<std::int8_t>(std::ranges::find(names, loop) - names.begin());
  return loops;
}

core::Result<Layout> layout_of(const PlannedWeight& weight, const Digits& digits) {
  Layout layout;
  for (const auto& [name, axes] : weight.dims) {
    const auto digit = parse_digit_name(name);
    CHECK(digit, "a name that was read");
    ops::LoopPlace place;
    place.dim = digit->dim;
    place.stride = digit->stride;
    place.period = digit->period;
    const auto number = digits.find(place);
    if (!number)
      return core::invalid_input(
          fmt::format("nothing in the model runs over '{}' of the weight '{}'", name, weight.name),
          "plan again with plan-graph");
    for (const std::string& axis : axes) layout.axes[axis_number(axis)] = *number;
  }
  return layout;
}

}  // namespace

std::string digit_name(const Digits::Digit& digit) {
  if (digit.period == 0) return fmt::to_string(digit.dim);
  return fmt::format("{}:{}:{}", digit.dim, digit.stride, digit.period);
}

std::optional<Digits::Digit> parse_digit_name(std::string_view name) {
  const std::size_t first = name.find(':');
  const std::string_view dim = name.substr(0, first);
  if (dim.empty() || dim.size() > kMostDimensionDigits) return std::nullopt;
  const auto number = parse_number(dim, 0);
  if (!number || fmt::to_string(*number) != dim) return std::nullopt;
  Digits::Digit digit{static_cast<std::size_t>(*number), 1, 0};
  if (first == std::string_view::npos) return digit;
  const std::string_view rest = name.substr(first + 1);
  const std::size_t second = rest.find(':');
  if (second == std::string_view::npos) return std::nullopt;
  const auto stride = parse_number(rest.substr(0, second), 1);
  const auto period = parse_number(rest.substr(second + 1), 2);
  if (!stride || !period || *period % *stride != 0) return std::nullopt;
  digit.stride = *stride;
  digit.period = *period;
  return digit_name(digit) == name ? std::optional(digit) : std::nullopt;
}

core::Result<PlannedCuts> cuts_of(const PlanDocument& document, const core::Graph& graph,
                                  const GraphLoops& loops, const std::vector<bool>& is_weight) {
  PlannedCuts cuts{mesh_of(document), document.shape.chunks};
  cuts.gathers_once = document.shape.gathers_once;
  cuts.loops.assign(graph.node_bound(), AxisLoops{kNoLoop, kNoLoop, kNoLoop, kNoLoop});
  cuts.piece_of_node.assign(graph.node_bound(), -1);
  std::size_t at = 0;
  std::int32_t piece = 0;
  std::int64_t stage = 0;
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    const PlannedNode& node = document.nodes[at++];
    cuts.loops[id.index()] = axis_loops(document.cuts[node.cuts], loops.spaces[id.index()]);
    if (std::exchange(stage, node.stage) != node.stage) ++piece;
    cuts.piece_of_node[id.index()] = piece;
  }
  std::map<std::string, core::TensorId> weights;
  for (std::size_t t = 0; t < is_weight.size(); ++t)
    if (is_weight[t]) weights.emplace(weight_name(graph, core::TensorId(t)), core::TensorId(t));
  cuts.weights.assign(graph.tensor_bound(), Layout{});
  for (const PlannedWeight& weight : document.weights) {
    SOAPSTONE_ASSIGN_OR_RETURN(cuts.weights[weights.at(weight.name).index()],
                               layout_of(weight, loops.digits));
  }
  return cuts;
}

}  // namespace soapstone::parallel
