// See runtime_probe.h. A graph is written with names that can be found again, and profiled on
// ordinary values.
#include "jobs/kernels/runtime_probe.h"

#include <algorithm>
#include <utility>

#include "cost/models/calibration.h"
#include "models/onnx/format/onnx_model.h"
#include "search/equivalence/sample_inputs.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::TensorId;

/// Of each of two sessions, one of which has the profiler.
constexpr int kProfiledRuns = 10;
/// Then by itself: a part only roughly, as its kernels are what counts.
constexpr RuntimeProbe::Effort kForParts{.rounds = 4, .budget_us = 20e3};
constexpr RuntimeProbe::Effort kForModels{.rounds = 60, .budget_us = 1.5e6};

/// Copies a graph node by node, so that nodes get names, too.
class NamedCopy {
 public:
  explicit NamedCopy(const Graph& graph)
      : graph_(graph), builder_("part", graph.symbols()), mine_(graph.tensor_bound()) {}

  core::Result<Graph> run() {
    for (const TensorId id : graph_.inputs())
      mine_[id.index()] = builder_.add_input(observed_name(id), graph_.tensor(id).type);
    for (const core::NodeId id : graph_.order()) {
      const core::Node& node = graph_.node(id);
      std::vector<TensorId> inputs;
      for (const TensorId input : node.inputs) inputs.push_back(mine(input));
      std::vector<core::TensorType> types;
      for (const TensorId output : node.outputs) types.push_back(graph_.tensor(output).type);
      const std::string name = observed_name(node.outputs.front());
      const auto made =
          builder_.add_node(*node.op, node.attributes, std::move(inputs), std::move(types), name);
      for (std::size_t k = 0; k < made.size(); ++k) {
        builder_.set_name(made[k], observed_name(node.outputs[k]));
        mine_[node.outputs[k].index()] = made[k];
      }
    }
    std::vector<TensorId> outputs;
    for (const TensorId id : graph_.outputs()) outputs.push_back(mine(id));
    builder_.set_outputs(std::move(outputs));
    return std::move(builder_).finish();
  }

 private:
  TensorId mine(TensorId id) {
    if (!id.valid()) return id;
    TensorId& copy = mine_[id.index()];
    if (!copy.valid()) copy = builder_.add_constant(graph_.tensor(id).value, observed_name(id));
    return copy;
  }

  const Graph& graph_;
  core::GraphBuilder builder_;
  std::vector<TensorId> mine_;
};

/// Keeps ids, by which nodes are recognized that are written as they were read, and the names of
/// inputs and outputs, which the file declares.
core::Result<Graph> with_names(const Graph& graph) {
  core::GraphBuilder builder(graph);
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    const TensorId id(i);
    if (!graph.contains(id) || graph.tensor(id).is_input() || graph.is_output(id)) continue;
    builder.set_name(id, observed_name(id));
  }
  return std::move(builder).finish();
}

WrittenNames written_names(const Graph& graph) {
  WrittenNames names;
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    const TensorId id(i);
    if (graph.contains(id) && !graph.tensor(id).name.empty())
      names.tensors.emplace(graph.tensor(id).name, id);
  }
  for (const core::NodeId id : graph.order())
    if (!graph.node(id).name.empty()) names.nodes.insert_or_assign(graph.node(id).name, id);
  return names;
}

}  // namespace

RuntimeProbe::RuntimeProbe(Deployment deployment, core::PrivateFolder folder, int opset)
    : deployment_(std::move(deployment)), folder_(std::move(folder)),
      write_part_([header = models::new_header(opset)](const Graph& graph, const auto& path) {
        return models::write_onnx(graph, *header, path);
      }) {}

core::Result<RuntimeProbe> RuntimeProbe::make(Deployment deployment, int opset) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto folder, core::PrivateFolder::make());
  return RuntimeProbe(std::move(deployment), std::move(folder), opset);
}

core::Result<workers::RuntimeProfile> RuntimeProbe::profile(const Graph& graph, const Write& write,
                                                            const Effort& effort) {
  const std::filesystem::path file = folder_.path() / "observed.onnx";
  SOAPSTONE_RETURN_IF_ERROR(write(graph, file));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t model,
                             deployment_.worker.load(file, deployment_.load));
  const auto values = search::sample_inputs(graph, search::SampleKind::kNormal, 0);
  std::vector<workers::NamedTensor> inputs;
  for (std::size_t k = 0; k < values.size(); ++k)
    inputs.push_back({graph.tensor(graph.inputs()[k]).name, values[k]});
  auto profile = measured(model, inputs, effort);
  // A thread that waits for a core that others have makes a run many times as long.
  const double least_us = cost::make_roofline_cost(runtime::Fusion::kNone, cost::one_core())
                              ->graph_cost(graph)
                              .total_us;
  for (int k = 0;
       k < cost::kMostRepeats && profile && cost::is_doubtful(profile->total_us, least_us); ++k) {
    auto again = measured(model, inputs, effort);
    if (again && again->total_us < profile->total_us) profile = std::move(again);
  }
  deployment_.worker.close(model);
  return profile;
}

/// The total is that of runs without another session at its side, which takes the place of weights
/// in caches: kernels that seem to take longer than the whole are as much faster there.
core::Result<workers::RuntimeProfile>
RuntimeProbe::measured(std::size_t model, std::span<const workers::NamedTensor> inputs,
                       const Effort& effort) {
  workers::RuntimeWorker& worker = deployment_.worker;
  SOAPSTONE_RETURN_IF_ERROR(worker.prepare(model, inputs));
  SOAPSTONE_ASSIGN_OR_RETURN(auto profile, worker.profile(model, kProfiledRuns));
  SOAPSTONE_ASSIGN_OR_RETURN(auto samples,
                             worker.time(std::span(&model, 1), effort.rounds, effort.budget_us));
  auto& times = deployment_.load.threads == 1 ? samples[0].cpu_us : samples[0].wall_us;
  std::ranges::sort(times);
  profile.total_us = times[times.size() / 2];
  double kernels_us = 0;
  for (const auto& kernel : profile.kernels) kernels_us += kernel.us;
  if (kernels_us > profile.total_us && profile.total_us > 0)
    for (auto& kernel : profile.kernels) kernel.us *= profile.total_us / kernels_us;
  return profile;
}

core::Result<Observation> RuntimeProbe::observe(const Graph& graph) {
  SOAPSTONE_ASSIGN_OR_RETURN(Graph named, NamedCopy(graph).run());
  SOAPSTONE_ASSIGN_OR_RETURN(const auto profiled, profile(named, write_part_, kForParts));
  ObservedGraph observed = match_kernels(named, written_names(named), profiled);
  return Observation{std::move(named), std::move(observed)};
}

core::Result<Observation> RuntimeProbe::observe_model(const Graph& graph, const Write& write) {
  SOAPSTONE_ASSIGN_OR_RETURN(Graph named, with_names(graph));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto profiled, profile(named, write, kForModels));
  ObservedGraph observed = match_kernels(named, written_names(named), profiled);
  return Observation{std::move(named), std::move(observed)};
}

}  // namespace soapstone::jobs
