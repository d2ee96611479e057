// Constant folding: the constant part of a graph is a graph of its own, which the backend runs
// once.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ops/composites/composite.h"
#include "ops/definition/registry.h"
#include "runtime/execution/fold.h"
#include "runtime/launches/layout.h"
#include "runtime/memory/memory_check.h"
#include "search/baseline/simplify.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::GraphBuilder;
using core::NodeId;
using core::TensorId;

/// Folding may add so many bytes to a file for each constant.
constexpr double kFreeBytes = double{1 << 18};

/// Which constant expressions stay nodes, since their values take more room than what they are
/// computed from: a large `full`, a weight of small integers, a second version of a weight that is
/// read as it is, too.
class Folding {
 public:
  Folding(const Graph& graph, std::span<const NodeId> kept)
      : graph_(graph), stays_(graph.node_bound(), false) {
    for (const NodeId id : kept)
      if (graph.contains(id)) stays_[id.index()] = true;
    const std::vector<TensorId> wanted = frontier();
    const std::map<TensorId, std::size_t> users = users_of_literals(wanted);
    for (const TensorId id : wanted) {
      double freed = kFreeBytes;
      const std::vector<TensorId> behind = constants_behind(id);
      for (const TensorId each : behind)
        if (graph.tensor(each).value && !is_needed(each))
          freed += bytes_of(each) / static_cast<double>(users.at(each));
      if (bytes_of(id) <= freed) continue;
      for (const TensorId each : behind)
        if (const NodeId maker = graph.tensor(each).producer; maker.valid())
          stays_[maker.index()] = true;
    }
  }

  /// Constant expressions that something else needs: their values are what has to be known.
  std::vector<TensorId> frontier() const {
    std::vector<TensorId> result;
    for (const NodeId id : graph_.order()) {
      if (stays_[id.index()] || !graph_.is_constant_expression(id)) continue;
      for (const TensorId output : graph_.node(id).outputs)
        if (is_needed(output)) result.push_back(output);
    }
    return result;
  }

 private:
  bool is_needed(TensorId id) const {
    return graph_.is_output(id) || std::ranges::any_of(graph_.consumers(id), [&](NodeId reader) {
             return stays_[reader.index()] || !graph_.is_constant_expression(reader);
           });
  }

  double bytes_of(TensorId id) const {
    return static_cast<double>(runtime::storage_bytes(graph_.tensor(id).type));
  }

  /// The tensor and all that it is computed from.
  std::vector<TensorId> constants_behind(TensorId root) const {
    std::set<TensorId> seen{root};
    std::vector<TensorId> all{root};
    for (std::size_t k = 0; k < all.size(); ++k) {
      const NodeId maker = graph_.tensor(all[k]).producer;
      if (!maker.valid()) continue;
      for (const TensorId input : graph_.node(maker).inputs)
        if (input.valid() && seen.insert(input).second) all.push_back(input);
    }
    return all;
  }

  std::map<TensorId, std::size_t> users_of_literals(const std::vector<TensorId>& wanted) const {
    std::map<TensorId, std::size_t> users;
    for (const TensorId id : wanted)
      for (const TensorId each : constants_behind(id)) ++users[each];
    return users;
  }

  const Graph& graph_;
  std::vector<bool> stays_;  ///< By node.
};

core::Result<Graph> only(const Graph& graph, const std::vector<TensorId>& outputs) {
  GraphBuilder builder(graph);
  builder.set_outputs(outputs);
  return std::move(builder).finish();
}

core::Status check_sizes(const Graph& graph) {
  for (const NodeId id : graph.order()) {
    for (const TensorId output : graph.node(id).outputs) {
      const core::Tensor& tensor = graph.tensor(output);
      if (tensor.type.shape_known && core::concrete(tensor.type.shape)) continue;
      return core::unsupported("the shape of tensor `" + tensor.name + "` is not known",
                               "give all input sizes as numbers");
    }
  }
  return core::Done{};
}

}  // namespace

core::Result<Graph> fold_constants(const Graph& graph, runtime::Backend& backend,
                                   std::span<const NodeId> kept) {
  const std::vector<TensorId> outputs = Folding(graph, kept).frontier();
  if (outputs.empty()) return graph;
  SOAPSTONE_ASSIGN_OR_RETURN(const Graph part, only(graph, outputs));
  const Graph constants = ops::expanded(part);
  SOAPSTONE_RETURN_IF_ERROR(check_sizes(constants));
  SOAPSTONE_RETURN_IF_ERROR(runtime::check_memory(constants));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto values, runtime::fold_constants(constants, backend));
  const runtime::ConstantValue value_of = runtime::constant_value(constants, values);
  GraphBuilder builder(graph);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const TensorId folded =
        builder.add_constant(value_of(constants.outputs()[k]), graph.tensor(outputs[k]).name);
    builder.replace_uses(outputs[k], folded);
  }
  return std::move(builder).finish();
}

}  // namespace soapstone::search
