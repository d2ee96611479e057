// Each definition says what its operator is in training.
#include "parallel/training/training_forms.h"

#include <fmt/format.h>

#include "ops/definition/registry.h"

namespace soapstone::parallel {
namespace {

using core::TensorId;

/// ONNX's default.
constexpr double kMomentum = 0.9;

std::string name_of(const core::Graph& graph, const core::Node& node) {
  return node.name.empty() ? graph.tensor(node.outputs[0]).name : node.name;
}

}  // namespace

core::Result<TrainedForm> in_training(const core::Graph& graph,
                                      const std::map<TensorId, double>& momenta) {
  core::GraphBuilder builder(graph);
  std::vector<TensorId> outputs(graph.outputs().begin(), graph.outputs().end()), updates;
  std::map<TensorId, std::size_t> places;  // of running statistics, among those that are carried
  TrainedForm trained;
  for (const core::NodeId id : graph.order()) {
    core::Node node = builder.node(id);
    const ops::OpDefinition* definition = ops::definition_of(node);
    if (!definition || !definition->in_training) continue;
    const std::vector<TensorId> sources = node.inputs;
    // Nodes that share a statistic replace it one after the other.
    for (TensorId& input : node.inputs)
      if (const auto place = places.find(input); place != places.end())
        input = trained.carried[place->second].updated;
    const auto momentum = momenta.find(node.outputs[0]);
    SOAPSTONE_ASSIGN_OR_RETURN(
        const ops::TrainingForm form,
        definition->in_training(builder, node,
                                momentum == momenta.end() ? kMomentum : momentum->second));
    for (const auto& [input, updated] : form.replaced) {
      const TensorId source = sources[input];
      if (graph.tensor(source).producer.valid())
        return core::invalid_input(
            fmt::format("a running statistic of '{}' is computed by a node, so that no step can "
                        "replace it",
                        name_of(graph, node)),
            "export the model so that the statistics are initializers");
      const auto [place, is_new] = places.emplace(source, trained.carried.size());
      if (is_new) trained.carried.push_back({source, updated, TensorId::none()});
      trained.carried[place->second].updated = updated;
    }
    for (std::size_t k = 0; k < form.results.size(); ++k) {
      builder.replace_uses(node.outputs[k], form.results[k]);
      for (TensorId& output : outputs)
        if (output == node.outputs[k]) output = form.results[k];
    }
  }
  // Updates stay as outputs: a loss is that of the last output, so they come first.
  for (const CarriedTensor& carried : trained.carried) updates.push_back(carried.updated);
  updates.insert(updates.end(), outputs.begin(), outputs.end());
  builder.set_outputs(std::move(updates));
  SOAPSTONE_ASSIGN_OR_RETURN(trained.graph, std::move(builder).finish());
  return trained;
}

}  // namespace soapstone::parallel
