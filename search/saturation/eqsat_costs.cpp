// See eqsat_costs.h.
#include "search/saturation/eqsat_costs.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "ops/definition/registry.h"

namespace soapstone::search {

using core::hash_combine;
using core::TensorId;
using rules::ClassId;
using rules::EGraph;
using rules::ENodeId;

namespace {

ops::OpClass op_class(const EGraph& graph, ENodeId id) {
  const core::OpSchema* op = graph.op(id);
  const auto* definition = op ? ops::registry().definition(op->name) : nullptr;
  return definition ? definition->op_class : ops::OpClass::kNormalization;
}

/// E-nodes as a graph whose inputs are their operands.
class SmallGraph {
 public:
  explicit SmallGraph(const EGraph& graph) : graph_(graph) {}

  std::vector<TensorId> add(ENodeId id) {
    std::vector<TensorId> operands;
    for (ClassId operand : graph_.operands(id))
      operands.push_back(operand.valid() ? tensor(graph_.find(operand)) : TensorId::none());
    std::vector<core::TensorType> types;
    for (ClassId result : graph_.results(id)) types.push_back(graph_.type(result));
    const rules::Operation& operation = graph_.operation(id);
    auto results = builder_.add_node(*operation.op, operation.attributes, operands, types);
    for (std::size_t k = 0; k < results.size(); ++k)
      tensors_.emplace_back(graph_.find(graph_.results(id)[k]), results[k]);
    return results;
  }

  /// A launch for each operand of the e-node, before it is added.
  std::vector<TensorId> add_makers(ENodeId id) {
    std::vector<TensorId> made;
    for (ClassId operand : graph_.operands(id)) {
      if (!operand.valid()) continue;
      const ClassId of = graph_.find(operand);
      if (std::ranges::find(tensors_, of, [](const auto& t) { return t.first; }) != tensors_.end())
        continue;
      const TensorId before = builder_.add_input("", graph_.type(of));
      made.push_back(
          builder_.add_node(*ops::registry().find("relu"), {}, {before}, {graph_.type(of)})[0]);
      tensors_.emplace_back(of, made.back());
    }
    return made;
  }

  core::Graph finish(std::vector<TensorId> outputs) {
    builder_.set_outputs(std::move(outputs));
    auto finished = std::move(builder_).finish();
    CHECK(finished, finished.error().to_string());
    return *std::move(finished);
  }

 private:
  TensorId tensor(ClassId id) {
    const auto known = std::ranges::find(tensors_, id, [](const auto& t) { return t.first; });
    if (known != tensors_.end()) return known->second;
    const TensorId made =
        graph_[id].constant ? add_weight(graph_.type(id)) : builder_.add_input("", graph_.type(id));
    tensors_.emplace_back(id, made);
    return made;
  }

  /// Some constant: kernels may take in what varies with the channel alone if it is one.
  TensorId add_weight(const core::TensorType& type) {
    const core::OpSchema* full = ops::registry().find("full");
    return builder_.add_node(*full, {{"shape", type.shape}, {"value", 0.5}}, {}, {type})[0];
  }

  const EGraph& graph_;
  core::GraphBuilder builder_;
  std::vector<std::pair<ClassId, TensorId>> tensors_;
};

std::uint64_t key_of(const EGraph& graph, ENodeId id) {
  std::uint64_t key = graph.operation(id).hash;
  std::vector<ClassId> seen;
  for (ClassId operand : graph.operands(id)) {
    if (!operand.valid()) {
      key = hash_combine(key, 0);
      continue;
    }
    // An operand that is read twice is moved once.
    const auto first = std::ranges::find(seen, graph.find(operand)) - seen.begin();
    seen.push_back(graph.find(operand));
    key = hash_combine(key, static_cast<std::uint64_t>(first) + 1);
    key = hash_combine(key, graph[operand].type.value * 2 + (graph[operand].constant ? 1 : 0));
  }
  return key;
}

}  // namespace

ENodeCosts::ENodeCosts(const EGraph& graph, cost::CostModel& model,
                       const std::function<bool()>& stopped)
    : graph_(graph), model_(model), estimates_(graph.node_bound()), at_least_(graph.node_bound()) {
  for (std::size_t k = 0; k < graph.node_bound() && !stopped(); ++k)
    if (graph.is_live(ENodeId(k)) && graph.op(ENodeId(k))) price(ENodeId(k));
}

double ENodeCosts::alone(ENodeId id) {
  const auto [at, is_new] = known_.try_emplace(key_of(graph_, id), 0);
  if (!is_new) return at->second;
  SmallGraph small(graph_);
  auto results = small.add(id);
  return at->second = model_.graph_cost(small.finish(std::move(results))).total_us;
}

double ENodeCosts::behind(ENodeId first, ENodeId second) {
  std::uint64_t key = hash_combine(key_of(graph_, first), key_of(graph_, second));
  // A tensor that both read is read once.
  for (ClassId operand : graph_.operands(second)) {
    if (!operand.valid()) continue;
    const auto is_same = [&](ClassId c) {
      return c.valid() && graph_.find(c) == graph_.find(operand);
    };
    const auto operands = graph_.operands(first), results = graph_.results(first);
    key = hash_combine(key, static_cast<std::uint64_t>(std::ranges::find_if(operands, is_same) -
                                                       operands.begin()));
    key = hash_combine(
        key, static_cast<std::uint64_t>(std::ranges::find_if(results, is_same) - results.begin()));
  }
  const auto [at, is_new] = known_.try_emplace(key, 0);
  if (!is_new) return at->second;
  SmallGraph small(graph_);
  small.add(first);
  auto results = small.add(second);
  return at->second = model_.graph_cost(small.finish(std::move(results))).total_us;
}

double ENodeCosts::behind_launches(ENodeId id) {
  const auto [at, is_new] = known_.try_emplace(hash_combine(key_of(graph_, id), 1), 0);
  if (!is_new) return at->second;
  SmallGraph makers(graph_), all(graph_);
  auto made = makers.add_makers(id);
  all.add_makers(id);
  auto results = all.add(id);
  const double with = model_.graph_cost(all.finish(std::move(results))).total_us;
  const double without = model_.graph_cost(makers.finish(std::move(made))).total_us;
  return at->second = std::max(0.0, with - without);
}

void ENodeCosts::price(ENodeId id) {
  constexpr std::size_t kProducers = 4;  // that are looked at in each class
  const bool from_constants = std::ranges::all_of(
      graph_.operands(id), [&](ClassId c) { return !c.valid() || graph_[c].constant; });
  if (from_constants && !graph_.op(id)->is_opaque()) return;
  double& estimate = estimates_[id.index()];
  double& at_least = at_least_[id.index()];
  estimate = at_least = alone(id);
  const ops::OpClass own = op_class(graph_, id);
  // Operands may be written where they are to be put together.
  if (own == ops::OpClass::kMovement) estimate = at_least = std::min(at_least, behind_launches(id));
  if (own != ops::OpClass::kElementwise) return;
  const bool with_constant = std::ranges::any_of(
      graph_.operands(id), [&](ClassId c) { return c.valid() && graph_[c].constant; });
  for (ClassId operand : graph_.operands(id)) {
    if (!operand.valid() || graph_[operand].constant) continue;
    if (graph_.find(operand) == graph_.find(graph_.results(id)[0])) continue;
    std::size_t looked_at = 0;
    for (ENodeId maker : graph_[operand].nodes) {
      const ops::OpClass kind = op_class(graph_, maker);
      // Behind an elementwise operator it may be the third in a launch; a bias may be one of a part
      // of what a launch computes.
      if (kind == ops::OpClass::kElementwise || (kind == ops::OpClass::kMovement && with_constant))
        at_least = 0;
      // Heads of launches; an einsum is a reduction.
      if (kind != ops::OpClass::kContraction && kind != ops::OpClass::kElementwise &&
          kind != ops::OpClass::kReduction)
        continue;
      if (++looked_at > kProducers) {
        at_least = 0;
        break;
      }
      const double added = std::max(0.0, behind(maker, id) - alone(maker));
      estimate = std::min(estimate, added);
      at_least = std::min(at_least, added);
    }
  }
}

}  // namespace soapstone::search
