#include "transforms/affine/linear_maps.h"
#include "transforms/affine/masks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ops/definition/registry.h"
#include "transforms/affine/composed_map.h"
#include "transforms/affine/linearity.h"

namespace soapstone::transforms {
namespace {

using core::DataType;
using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;
using Kind = MapOperand::Kind;
using Places = std::vector<std::size_t>;

constexpr std::size_t kMostPlans = 100;
/// Of nodes in a plan.
constexpr std::size_t kMostNodesOfMap = 200;
/// Of a matrix, which is computed when the model is written.
constexpr std::int64_t kMostMapElements = 1 << 20;
/// Of the unit matrix of a large tensor, of which the first matrices are computed.
constexpr std::int64_t kMostUnits = 1 << 24;

/// Where axes of the source lie, by axis; none where the tensor mixes its places.
using KeptAxes = std::vector<std::optional<std::size_t>>;

constexpr std::string_view kLinearMapsDescription =
    "A linear map of a linear map is one with the product of both matrices.";

struct MostFirst {
  bool operator()(const Places& a, const Places& b) const {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  }
};

/// What may be added to a map: the same for all places along kept axes, or another number at each.
enum class Offsets : std::uint8_t { kAlike, kByPlace, kOfOthers };

struct MapLimits {
  Offsets offsets;
  std::int64_t units = kMostMapElements;  ///< Elements of the unit matrix.
  bool adds_others = false;               ///< Only what adds something that is computed.
};

/// The part that is linear in one tensor.
class LinearPart {
 public:
  LinearPart(const Graph& graph, std::span<const std::size_t> depths, TensorId source,
             const MapLimits& limits)
      : graph_(graph), depths_(depths), source_(source), limits_(limits) {
    const std::size_t rank = graph.tensor(source).type.shape.size();
    KeptAxes all(rank);
    for (std::size_t d = 0; d < rank; ++d) all[d] = d;
    axes_.emplace(source, std::move(all));
  }

  /// Grows by readers of what it has, those behind fewer nodes first.
  void grow() {
    std::set<std::pair<std::size_t, NodeId>> readers;
    const auto read = [&](TensorId id) {
      for (const NodeId reader : graph_.consumers(id))
        readers.emplace(depths_[reader.index()], reader);
    };
    read(source_);
    while (!readers.empty() && nodes_.size() < kMostNodesOfMap) {
      const NodeId next = readers.extract(readers.begin()).value().second;
      if (!add(next)) continue;
      nodes_.push_back(next);
      for (const TensorId output : graph_.node(next).outputs) read(output);
    }
  }

  /// By the axes that they keep, most axes first: its tensors that are read by others or where one
  /// of these axes is lost, with nodes that compute behind them.
  std::map<Places, std::vector<TensorId>, MostFirst> results() const {
    std::map<Places, std::vector<TensorId>, MostFirst> all;
    const std::set<NodeId> within(nodes_.begin(), nodes_.end());
    for (const NodeId id : nodes_) {
      for (const TensorId output : graph_.node(id).outputs) {
        const Places axes = kept(output);
        const auto loses = [&](NodeId reader) {
          return !within.contains(reader) ||
                 !std::ranges::includes(kept(graph_.node(reader).outputs[0]), axes);
        };
        const bool leaves =
            graph_.is_output(output) || std::ranges::any_of(graph_.consumers(output), loses);
        if (leaves && !axes.empty()) all[axes].push_back(output);
      }
    }
    return all;
  }

  /// Adds ways to go: with results of one kind together, and each by itself. None: too little to be
  /// worth it, or a map that no text says.
  void add_plans_for(const Places& kept, std::span<const TensorId> results,
                     std::vector<RewriteSequence>& plans) const {
    const MapSource source{source_, kept};
    const std::int64_t summed = elements(source_, kept);
    if (kept.size() == axes_.at(source_).size() || summed * summed > limits_.units) return;
    std::map<TensorId, LinearMap> maps;
    RewriteSequence plan;
    std::size_t computing = 0;
    bool mixes = false, adds_others = false;
    for (const NodeId id : needed_for(results)) {
      const Node& node = graph_.node(id);
      const ops::OpClass kind = ops::definition_of(node)->op_class;
      if (kind != ops::OpClass::kView) ++computing;
      if (kind != ops::OpClass::kView && kind != ops::OpClass::kElementwise &&
          node.op->movement != core::Movement::kPermute)
        mixes = true;
      Composition composition{
          .graph = graph_, .node = node, .source = source, .operands = {}, .results = {}};
      const LinearMap offset = add_operands(id, composition, maps);
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        adds_others |= composition.operands[k].kind == Kind::kAdded &&
                       !graph_.is_constant_expression(node.inputs[k]);
      for (const TensorId output : node.outputs) {
        const auto map = map_of(output, kept, offset);
        // The unit matrix in another shape is no more than that.
        const std::int64_t most = kind == ops::OpClass::kView ? limits_.units : kMostMapElements;
        if (!map || summed * elements(output, map->kept) > most) return;
        composition.results.push_back(*map);
        maps.insert_or_assign(output, *map);
      }
      add_step(plan, node.outputs, composed_map(composition));
    }
    if (limits_.adds_others && !adds_others) return;
    // Factors of elements need no matrix, in whatever order they lie, if what reads them takes
    // them.
    if (!mixes && std::ranges::all_of(results, [&](TensorId id) { return is_read_within(id); }))
      return;
    const std::vector<std::vector<TensorId>> kinds = by_kind(results, maps);
    const bool has_several = kinds.size() < results.size();
    if (computing < (has_several ? 1U : 2U)) return;
    if (has_several) {
      plans.push_back(plan);
      for (const auto& alike : kinds) add_ending(plans.back(), source, alike, maps.at(alike[0]));
    }
    if (computing < 2) return;
    for (const TensorId& id : results) add_ending(plan, source, {&id, 1}, maps.at(id));
    plan.is_alternative = has_several;
    plans.push_back(std::move(plan));
  }

 private:
  static void add_step(RewriteSequence& plan, std::vector<TensorId> results,
                       std::vector<std::string> texts) {
    plan.steps.push_back({.results = std::move(results),
                          .texts = std::move(texts),
                          .description = kLinearMapsDescription,
                          .floats = FloatBehavior::kReassociates});
  }

  void add_ending(RewriteSequence& plan, const MapSource& source, std::span<const TensorId> alike,
                  const LinearMap& map) const {
    auto texts = plain_maps(graph_, source, alike, map);
    if (!texts.empty()) add_step(plan, {alike.begin(), alike.end()}, std::move(texts));
  }

  /// The tensors whose maps differ in their matrices alone, each kind in the order in which they
  /// are read.
  std::vector<std::vector<TensorId>> by_kind(std::span<const TensorId> results,
                                             const std::map<TensorId, LinearMap>& maps) const {
    std::vector<std::vector<TensorId>> kinds;
    for (const TensorId id : results) {
      const LinearMap& map = maps.at(id);
      const auto is_alike = [&](const std::vector<TensorId>& kind) {
        const LinearMap& other = maps.at(kind[0]);
        return graph_.tensor(kind[0]).type == graph_.tensor(id).type && other.kept == map.kept &&
               other.has_offset == map.has_offset && other.is_offset_whole == map.is_offset_whole;
      };
      const auto kind = std::ranges::find_if(kinds, is_alike);
      if (kind == kinds.end())
        kinds.push_back({id});
      else
        kind->push_back(id);
    }
    for (auto& kind : kinds)
      std::ranges::stable_sort(kind, {}, [&](TensorId id) { return read_at(id); });
    return kinds;
  }

  /// Whether all that reads it is linear in the source, too.
  bool is_read_within(TensorId id) const {
    return !graph_.is_output(id) && std::ranges::all_of(graph_.consumers(id), [&](NodeId reader) {
      return std::ranges::find(nodes_, reader) != nodes_.end();
    });
  }

  /// How many nodes stand in front of its first reader, one behind another.
  std::size_t read_at(TensorId id) const {
    std::size_t first = depths_.size();
    for (const NodeId reader : graph_.consumers(id))
      first = std::min(first, depths_[reader.index()]);
    return first;
  }

  bool is_float(TensorId id) const {
    const core::TensorType& type = graph_.tensor(id).type;
    return type.data_type == DataType::kFloat32 && type.shape_known && core::concrete(type.shape);
  }

  /// The operands that are linear in the source. None: another one is no constant.
  std::optional<std::vector<bool>> linear_operands(const Node& node) const {
    std::vector<bool> operands;
    for (const TensorId input : node.inputs) {
      const bool is_linear = input.valid() && axes_.contains(input);
      if (input.valid() && !is_linear && limits_.offsets != Offsets::kOfOthers &&
          !graph_.is_constant_expression(input))
        return std::nullopt;
      operands.push_back(is_linear);
    }
    return std::ranges::count(operands, true) > 0 ? std::optional(operands) : std::nullopt;
  }

  bool add(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op->is_opaque() ||
        !std::ranges::all_of(node.outputs, [&](TensorId output) { return is_float(output); }))
      return false;
    const auto operands = linear_operands(node);
    const auto linearity = operands ? linearity_in(graph_, node, *operands) : std::nullopt;
    if (!linearity) return false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k].valid() && !(*operands)[k] && !linearity->is_added[k] &&
          !graph_.is_constant_expression(node.inputs[k]))
        return false;
    std::vector<KeptAxes> of_results(node.outputs.size(), KeptAxes(axes_.at(source_).size()));
    for (std::size_t axis = 0; axis < axes_.at(source_).size(); ++axis) {
      const auto places = places_of(id, *linearity, *operands, axis);
      for (std::size_t k = 0; places && k < places->size(); ++k) of_results[k][axis] = (*places)[k];
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      axes_.emplace(node.outputs[k], of_results[k]);
    return true;
  }

  /// Where an axis of the source lies in the results.
  std::optional<Places> places_of(NodeId id, const Linearity& linearity,
                                  const std::vector<bool>& operands, std::size_t axis) {
    const Node& node = graph_.node(id);
    KeptAxes places(operands.size());
    std::size_t behind = 0;  // axes behind it
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (!operands[k]) continue;
      places[k] = axes_.at(node.inputs[k])[axis];
      if (!places[k]) return std::nullopt;
      behind = rank_of(node.inputs[k]) - *places[k];
    }
    const auto alike = kept_axis(graph_, node, places);
    if (alike || limits_.offsets == Offsets::kAlike) return alike;
    // What is only added may be another number at each place.
    const core::Polynomial& size = graph_.tensor(source_).type.shape[axis];
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (!linearity.is_added[k] || rank_of(node.inputs[k]) < behind) continue;
      const std::size_t place = rank_of(node.inputs[k]) - behind;
      if (graph_.tensor(node.inputs[k]).type.shape[place] == size) places[k] = place;
    }
    const auto kept = kept_axis(graph_, node, places);
    for (std::size_t k = 0; kept && k < operands.size(); ++k)
      if (linearity.is_added[k] && places[k]) added_axes_[{id, k}][axis] = *places[k];
    return kept;
  }

  std::size_t rank_of(TensorId id) const { return graph_.tensor(id).type.shape.size(); }

  /// The axes of the source that the tensor keeps, one place of the tensor each.
  Places kept(TensorId id) const {
    Places kept;
    const KeptAxes& axes = axes_.at(id);
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (axes[d]) kept.push_back(d);
    return kept;
  }

  std::optional<LinearMap> map_of(TensorId id, const Places& kept, const LinearMap& offset) const {
    LinearMap map = offset;
    for (const std::size_t axis : kept) {
      const auto place = axes_.at(id)[axis];
      if (!place || std::ranges::find(map.kept, *place) != map.kept.end()) return std::nullopt;
      map.kept.push_back(*place);
    }
    return map;
  }

  /// The elements of a tensor at one place of these axes, or more than there may be.
  std::int64_t elements(TensorId id, const Places& without) const {
    std::int64_t count = 1;
    const core::Shape& shape = graph_.tensor(id).type.shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (std::ranges::find(without, d) == without.end())
        count = std::min(count * shape[d].constant(), kMostMapElements + 1);
    return count;
  }

  /// Those of its nodes that the tensors need, in order.
  std::vector<NodeId> needed_for(std::span<const TensorId> results) const {
    std::set<TensorId> wanted(results.begin(), results.end());
    std::vector<NodeId> needed;
    for (auto id = nodes_.rbegin(); id != nodes_.rend(); ++id) {
      const Node& node = graph_.node(*id);
      if (!std::ranges::any_of(node.outputs, [&](TensorId t) { return wanted.contains(t); }))
        continue;
      needed.push_back(*id);
      wanted.insert(node.inputs.begin(), node.inputs.end());
    }
    std::ranges::reverse(needed);
    return needed;
  }

  /// What is added to the map, as a map that has nothing else.
  LinearMap add_operands(NodeId id, Composition& composition,
                         const std::map<TensorId, LinearMap>& maps) const {
    const Node& node = composition.node;
    const Linearity linearity = *linearity_in(graph_, node, *linear_operands(node));
    LinearMap offset;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      MapOperand operand;
      const auto map = maps.find(node.inputs[k]);
      if (!node.inputs[k].valid()) {
        operand.kind = Kind::kMissing;
      } else if (node.inputs[k] == source_) {
        operand.kind = Kind::kSource;
      } else if (map != maps.end()) {
        operand = {Kind::kMap, map->second};
        offset.has_offset = offset.has_offset || map->second.has_offset;
        offset.is_offset_whole = offset.is_offset_whole || map->second.is_offset_whole;
      } else if (linearity.is_added[k]) {
        operand = {Kind::kAdded, {}, axes_of_added(id, k, composition.source.kept)};
        operand.is_repeated = is_repeated(node.inputs[k], operand.axes);
        offset.has_offset = true;
        offset.is_offset_whole =
            offset.is_offset_whole ||
            (!operand.is_repeated &&
             std::ranges::any_of(operand.axes, [](const auto& axis) { return axis.has_value(); }));
      }
      composition.operands.push_back(std::move(operand));
    }
    return offset;
  }

  /// By kept axis: where the operand has all places along it.
  KeptAxes axes_of_added(NodeId id, std::size_t operand, const Places& kept) const {
    KeptAxes axes(kept.size());
    const auto known = added_axes_.find({id, operand});
    if (known == added_axes_.end()) return axes;
    for (std::size_t d = 0; d < kept.size(); ++d)
      if (const auto place = known->second.find(kept[d]); place != known->second.end())
        axes[d] = place->second;
    return axes;
  }

  /// Whether a node fills the constant with one number, or repeats it along all of these axes.
  bool is_repeated(TensorId constant, const KeptAxes& axes) const {
    const NodeId producer = graph_.tensor(constant).producer;
    if (!producer.valid() ||
        std::ranges::none_of(axes, [](const auto& d) { return d.has_value(); }))
      return false;
    const Node& node = graph_.node(producer);
    if (node.op->movement == core::Movement::kFill) return true;
    if (node.op->movement != core::Movement::kRepeat) return false;
    const core::Shape& shape = graph_.tensor(node.inputs[0]).type.shape;
    return shape.size() == rank_of(constant) &&
           std::ranges::all_of(axes, [&](const auto& d) { return !d || shape[*d] == 1; });
  }

  const Graph& graph_;
  std::span<const std::size_t> depths_;  // by node
  TensorId source_;
  MapLimits limits_;
  std::map<TensorId, KeptAxes> axes_;  // of the source and of what is linear in it
  /// Of constants that are added, by node and operand: where axes of the source lie that they have.
  std::map<std::pair<NodeId, std::size_t>, std::map<std::size_t, std::size_t>> added_axes_;
  std::vector<NodeId> nodes_;
};

bool may_be_source(const Graph& graph, TensorId id) {
  const core::TensorType& type = graph.tensor(id).type;
  return type.data_type == DataType::kFloat32 && type.shape_known && core::concrete(type.shape) &&
         !type.shape.empty() && !graph.is_constant_expression(id) && !is_mask(graph, id);
}

void add_plans(const Graph& graph, std::span<const std::size_t> depths, TensorId source,
               const MapLimits& limits, std::vector<RewriteSequence>& plans) {
  if (!may_be_source(graph, source)) return;
  LinearPart part(graph, depths, source, limits);
  part.grow();
  for (const auto& [kept, results] : part.results()) {
    const auto add = [&](std::span<const TensorId> wanted) {
      if (plans.size() < kMostPlans) part.add_plans_for(kept, wanted, plans);
    };
    add(results);
    if (results.size() == 1) continue;
    for (const TensorId& result : results) add({&result, 1});
  }
}

std::vector<RewriteSequence> maps_in(const Graph& graph, const MapLimits& limits) {
  std::vector<RewriteSequence> plans;
  const std::vector<std::size_t> depths = depths_of(graph);
  for (const TensorId input : graph.inputs()) add_plans(graph, depths, input, limits, plans);
  for (const NodeId id : graph.order())
    for (const TensorId output : graph.node(id).outputs)
      add_plans(graph, depths, output, limits, plans);
  return plans;
}

}  // namespace

std::vector<RewriteSequence> find_linear_maps(const Graph& graph) {
  return maps_in(graph, {Offsets::kAlike});
}

std::vector<RewriteSequence> find_large_maps(const Graph& graph) {
  return maps_in(graph, {Offsets::kByPlace, kMostUnits});
}

std::vector<RewriteSequence> find_affine_maps(const Graph& graph) {
  return maps_in(graph, {Offsets::kByPlace});
}

std::vector<RewriteSequence> find_joint_maps(const Graph& graph) {
  return maps_in(graph, {Offsets::kOfOthers});
}

std::vector<RewriteSequence> find_maps_with_others(const Graph& graph) {
  return maps_in(graph, {.offsets = Offsets::kOfOthers, .adds_others = true});
}

}  // namespace soapstone::transforms
