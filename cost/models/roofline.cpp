// The roofline cost model: launch overhead, arithmetic and traffic, added up. A sum rather than
// their maximum, as in TASO's cost, which makes it the same for the same launches in any order.
#include "cost/models/roofline.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "cost/models/launch_cache.h"
#include "ops/analysis/analysis.h"
#include "ops/definition/registry.h"
#include "runtime/launches/changed_launches.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::cost {
namespace {

using core::Graph;
using core::TensorId;
using runtime::Launch;

double tensor_bytes(const Graph& graph, TensorId id) {
  const core::TensorType& type = graph.tensor(id).type;
  double bytes = static_cast<double>(core::size_bytes(type.data_type));
  if (!type.shape_known) return 0;
  for (const core::Size& size : type.shape) {
    bytes *= static_cast<double>(size.as_constant().value_or(1));
  }
  return bytes;
}

bool only_moves(const core::Node& node) {
  const ops::OpDefinition* definition = ops::definition_of(node);
  return definition && definition->op_class == ops::OpClass::kMovement;
}

bool has_known_shapes(const Graph& graph, core::NodeId id) {
  const auto known = [&](TensorId tensor) {
    return !tensor.valid() || (graph.tensor(tensor).type.shape_known &&
                               core::concrete(graph.tensor(tensor).type.shape));
  };
  const core::Node& node = graph.node(id);
  return std::all_of(node.inputs.begin(), node.inputs.end(), known) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), known);
}

class RooflineCost final : public CostModel {
 public:
  RooflineCost(const runtime::FusionRules& rules, const RooflineParameters& parameters)
      : rules_(rules), parameters_(parameters) {}

  GraphCost graph_cost(const Graph& graph) override { return sum(price(graph, plan_of(graph))); }

  /// The difference of two graph_cost(), as long as the other nodes keep their order.
  std::optional<double> cost_change_us(const Graph& before, const Graph& after) override {
    const runtime::ChangedNodes changed = runtime::changed_launches(before, after);
    const auto cost_of = [&](const Graph& graph, const std::vector<core::NodeId>& nodes) {
      return sum(price(graph, runtime::plan_launches(graph, rules_, nodes))).total_us;
    };
    return cost_of(after, changed.after) - cost_of(before, changed.before);
  }

  std::vector<Item> breakdown(const Graph& graph) override {
    const runtime::LaunchPlan plan = plan_of(graph);
    const auto priced = price(graph, plan);
    std::vector<Item> items;
    for (std::size_t i = 0; i < priced.size(); ++i) {
      items.push_back(
          {describe(graph, plan.launches[i]), priced[i]->cost, priced[i]->implementation});
    }
    return items;
  }

  bool is_monotone() const override { return true; }

  const runtime::FusionRules& fusion_rules() const override { return rules_; }

  std::string description() const override {
    return fmt::format("roofline, {:.4g} TFLOP/s, {:.4g} GB/s, {:.4g} us a launch",
                       parameters_.flops_per_s / 1e12, parameters_.bytes_per_s / 1e9,
                       parameters_.launch_us);
  }

 private:
  runtime::LaunchPlan plan_of(const Graph& graph) const {
    return runtime::plan_launches(graph, rules_);
  }

  std::vector<const Priced*> price(const Graph& graph, const runtime::LaunchPlan& plan) {
    std::vector<std::uint64_t> keys;
    keys.reserve(plan.launches.size());
    for (const Launch& launch : plan.launches) keys.push_back(runtime::launch_hash(graph, launch));
    return cache_.find_or_price(keys, [&](std::size_t i) {
      const LaunchWork work = launch_work(graph, plan.launches[i]);
      return Priced{{roofline_us(work, parameters_), 0, true}, "roofline"};
    });
  }

  const runtime::FusionRules& rules_;
  RooflineParameters parameters_;
  LaunchCache cache_;
};

/// Where it is only moved, no more is read of it than is moved.
double read_bytes(const Graph& graph, const Launch& launch, TensorId input) {
  const double bytes = tensor_bytes(graph, input);
  double moved = 0;
  for (const core::NodeId id : launch.nodes()) {
    const core::Node& node = graph.node(id);
    if (std::ranges::find(node.inputs, input) == node.inputs.end()) continue;
    if (!only_moves(node)) return bytes;
    for (TensorId output : node.outputs) moved += tensor_bytes(graph, output);
  }
  return std::min(bytes, moved);
}

}  // namespace

LaunchWork launch_work(const Graph& graph, const Launch& launch) {
  LaunchWork work;
  for (core::NodeId node : launch.nodes()) {
    if (has_known_shapes(graph, node)) work.flops += ops::work_of(graph, node).flops;
  }
  double written = 0;
  for (TensorId output : launch.outputs) written += tensor_bytes(graph, output);
  work.bytes = written;
  for (TensorId input : launch.inputs) work.bytes += read_bytes(graph, launch, input);
  return work;
}

double rounded_us(double cost_us) { return std::ldexp(std::round(std::ldexp(cost_us, 20)), -20); }

double roofline_us(const LaunchWork& work, const RooflineParameters& parameters) {
  return rounded_us(parameters.launch_us + work.flops / parameters.flops_per_s * 1e6 +
                    work.bytes / parameters.bytes_per_s * 1e6);
}

std::unique_ptr<CostModel> make_roofline_cost(const runtime::FusionRules& rules,
                                              const RooflineParameters& parameters) {
  return std::make_unique<RooflineCost>(rules, parameters);
}

std::unique_ptr<CostModel> make_roofline_cost(runtime::Fusion fusion,
                                              const RooflineParameters& parameters) {
  return make_roofline_cost(runtime::generic_fusion(fusion), parameters);
}

}  // namespace soapstone::cost
