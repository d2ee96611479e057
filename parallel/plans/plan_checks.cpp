// Whether a plan agrees with itself, its machine and its model.
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "core/base/hash.h"
#include "core/base/nearest.h"
#include "parallel/plans/plan_cuts.h"
#include "parallel/plans/plan_document.h"
#include "parallel/topology/topology_json.h"

namespace soapstone::parallel {
namespace {

using AxesByName = std::map<std::string, std::vector<std::string>>;

/// Names what a cut is about and checks that it has enough for all parts.
class CutChecker {
 public:
  explicit CutChecker(const PlanDocument& document) {
    for (const PlanAxis& axis : document.axes) {
      size_of_[axis.name] = axis.size;
      grains_of_[axis.name] =
          std::accumulate(axis.shares.begin(), axis.shares.end(), std::int64_t{0});
    }
  }

  /// `sizes`: of what the owner has, by name.
  core::Status check(const std::string& owner, const AxesByName& cuts,
                     const std::map<std::string, std::int64_t>& sizes) const {
    for (const auto& [name, axes] : cuts) {
      const auto size = sizes.find(name);
      if (size == sizes.end()) {
        std::vector<std::string> names;
        for (const auto& [known, ignored] : sizes) names.push_back(known);
        const std::string close = core::nearest(name, names);
        return core::invalid_input(fmt::format("'{}' has no '{}' that could be cut", owner, name),
                                   close.empty() ? kPlanAgain : "did you mean '" + close + "'?");
      }
      std::int64_t parts = 1;
      for (const std::string& axis : axes) {
        parts *= size_of_.at(axis);
        const std::int64_t grains = grains_of_.at(axis);
        if (grains > 0 && size->second % grains != 0)
          return core::invalid_input(
              fmt::format("'{}' of '{}' has {} elements, which the {} shares "
                          "of axis '{}' do not divide",
                          name, owner, size->second, grains, axis),
              kPlanAgain);
      }
      if (parts > size->second)
        return core::invalid_input(fmt::format("'{}' of '{}' has {} elements and not {} parts",
                                               name, owner, size->second, parts),
                                   kPlanAgain);
    }
    return core::Done{};
  }

  static constexpr const char* kPlanAgain = "plan again with plan-graph";

 private:
  std::map<std::string, std::int64_t> size_of_, grains_of_;  // 0 grains: an even axis
};

core::Status check_nodes(const PlanDocument& document, const core::Graph& graph,
                         const GraphLoops& loops) {
  const CutChecker checker(document);
  const std::vector<std::string> names = node_names(graph);
  std::size_t at = 0;
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    const std::string& name = names[id.index()];
    if (at == document.nodes.size() || document.nodes[at].name != name)
      return core::invalid_input(fmt::format("the model's node '{}' is not nodes[{}]", name, at),
                                 CutChecker::kPlanAgain);
    const ops::PartitionSpace& space = loops.spaces[id.index()];
    const std::vector<std::string> loop_name = loop_names(space);
    std::map<std::string, std::int64_t> sizes;
    for (std::size_t l = 0; l < loop_name.size(); ++l) sizes[loop_name[l]] = space.loops[l].size;
    SOAPSTONE_RETURN_IF_ERROR(
        checker.check(name, document.cuts[document.nodes[at].cuts].loops, sizes));
    ++at;
  }
  if (at == document.nodes.size()) return core::Done{};
  return core::invalid_input(fmt::format("the model has no node '{}'", document.nodes[at].name),
                             CutChecker::kPlanAgain);
}

/// Adds the digits that a weight is cut along, as far as it has them.
void add_digits(const PlannedWeight& weight, const core::Dims& dims,
                std::map<std::string, std::int64_t>& sizes) {
  for (const auto& [name, axes] : weight.dims) {
    const auto digit = parse_digit_name(name);
    if (digit && digit->period > 0 && digit->dim < dims.size() &&
        dims[digit->dim] % digit->period == 0)
      sizes[name] = digit->period / digit->stride;
  }
}

core::Status check_weights(const PlanDocument& document, const core::Graph& graph,
                           const std::vector<bool>& is_weight) {
  const CutChecker checker(document);
  std::map<std::string, core::Dims> weights;
  for (std::size_t t = 0; t < is_weight.size(); ++t)
    if (is_weight[t])
      weights[weight_name(graph, core::TensorId(t))] =
          *core::concrete(graph.tensor(core::TensorId(t)).type.shape);
  for (const PlannedWeight& weight : document.weights) {
    const auto known = weights.find(weight.name);
    if (known == weights.end())
      return core::invalid_input(fmt::format("the model has no weight '{}'", weight.name),
                                 CutChecker::kPlanAgain);
    std::map<std::string, std::int64_t> sizes;
    for (std::size_t d = 0; d < known->second.size(); ++d)
      sizes[fmt::to_string(d)] = known->second[d];
    add_digits(weight, known->second, sizes);
    SOAPSTONE_RETURN_IF_ERROR(checker.check(weight.name, weight.dims, sizes));
    weights.erase(known);
  }
  if (weights.empty()) return core::Done{};
  return core::invalid_input(fmt::format("the weight '{}' is missing", weights.begin()->first),
                             CutChecker::kPlanAgain);
}

}  // namespace

core::Status check_stages(const PlanDocument& document) {
  const std::int64_t pieces = document.shape.stages * document.shape.chunks;
  std::int64_t stage = -1, piece = -1;
  for (std::size_t k = 0; k < document.nodes.size(); ++k) {
    if (document.nodes[k].stage == stage) continue;
    stage = document.nodes[k].stage;
    if (++piece >= pieces || stage != piece % document.shape.stages)
      return core::invalid_input(fmt::format(
          "node {} begins stage {} out of turn: there are {} stages in {} pieces in all", k, stage,
          document.shape.stages, pieces));
  }
  if (piece + 1 == pieces) return core::Done{};
  return core::invalid_input(
      fmt::format("the nodes are {} pieces of stages and not {}", piece + 1, pieces));
}

core::Status check_belongs(const PlanDocument& document, const core::Graph& graph,
                           const std::vector<bool>& is_weight) {
  if (document.model_hash != graph.hash()) {
    return core::invalid_input("the plan is of another model",
                               "plan again with the model as it is now");
  }
  SOAPSTONE_RETURN_IF_ERROR(check_nodes(document, graph, graph_loops(graph, is_weight)));
  return check_weights(document, graph, is_weight);
}

core::Status check_belongs(const PlanDocument& document, const core::Graph& graph,
                           const std::vector<bool>& is_weight, const Topology& topology) {
  SOAPSTONE_RETURN_IF_ERROR(check_belongs(document, graph, is_weight));
  return check_belongs(document, topology);
}

core::Status check_belongs(const PlanDocument& document, const Topology& topology) {
  if (document.topology_hash != core::hash_text(topology_to_json(topology))) {
    return core::invalid_input("the plan is of another topology, " + document.topology,
                               "plan again with the topology as it is now");
  }
  if (document.devices > static_cast<std::int64_t>(topology.device_count())) {
    return core::invalid_input(fmt::format("the plan is for {} devices, {} has {}",
                                           document.devices, topology.name(),
                                           topology.device_count()));
  }
  return core::Done{};
}

}  // namespace soapstone::parallel
