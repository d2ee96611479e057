// See executor.h.
#include "runtime/execution/executor.h"

#include "core/base/check.h"
#include "ops/composites/composite.h"
#include "ops/definition/registry.h"
#include "runtime/execution/executable_state.h"
#include "runtime/memory/memory_check.h"

namespace soapstone::runtime {

using core::Graph;
using core::TensorId;

namespace {

core::Status check_types(const Graph& graph) {
  const auto check = [&](TensorId id) -> core::Status {
    const core::TensorType& type = graph.tensor(id).type;
    if (type.shape_known && core::concrete(type.shape)) return core::Done{};
    return core::unsupported("the shape of tensor `" + graph.tensor(id).name + "` is not known",
                             "give all input sizes as numbers");
  };
  for (core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    if (ops::is_opaque(node)) {
      return core::unsupported("operator " + node.attributes.get_text("op_type") + " of node `" +
                               node.name + "` cannot be run here");
    }
    for (TensorId output : node.outputs) SOAPSTONE_RETURN_IF_ERROR(check(output));
  }
  for (TensorId input : graph.inputs()) SOAPSTONE_RETURN_IF_ERROR(check(input));
  return core::Done{};
}

}  // namespace

core::Result<Executable> Executable::make(const Graph& graph, Backend& backend) {
  return make(graph, backend, Options());
}

core::Result<Executable> Executable::make(const Graph& given, Backend& backend,
                                          const Options& options) {
  const Graph graph = ops::expanded(given);
  SOAPSTONE_RETURN_IF_ERROR(check_types(graph));
  SOAPSTONE_RETURN_IF_ERROR(check_memory(graph));
  auto state = std::make_unique<State>();
  state->made_by = &backend;
  state->memory = &backend.memory();
  SOAPSTONE_ASSIGN_OR_RETURN(state->queue, backend.make_queue());
  state->graph = graph;
  state->plan = plan_execution(graph, backend, options.fusion);
  SOAPSTONE_ASSIGN_OR_RETURN(state->folded, fold_constants(graph, backend));
  SOAPSTONE_RETURN_IF_ERROR(state->compile_all(backend, options));
  std::vector<std::optional<std::size_t>> in_place;
  for (std::size_t i = 0; i < state->plan.launches.size(); ++i)
    in_place.push_back(state->kernels[i]->in_place_input());
  state->working = options.working;
  state->placement.emplace(state->graph, state->plan, in_place, Placement::Detail::kOffsets,
                           options.working ? Placement::Results::kOutside
                                           : Placement::Results::kInArena);
  SOAPSTONE_RETURN_IF_ERROR(state->allocate());
  if (!state->working) SOAPSTONE_RETURN_IF_ERROR(state->bind());
  state->report.launches = state->plan.launches.size();
  state->report.conversions = state->plan.conversions.size();
  state->report.peak_activation_bytes = state->placement->memory().peak_bytes;
  state->report.arena_bytes = state->placement->memory().arena_bytes;
  state->report.constant_bytes = state->constant_bytes();
  return Executable(std::move(state));
}

core::Result<std::vector<core::Literal>> Executable::run(std::span<const core::Literal> inputs) {
  CHECK(!state_->working, "an executable that has tensors of its own");
  const auto names = state_->graph.inputs();
  if (inputs.size() != names.size()) {
    return core::invalid_input("the graph has " + std::to_string(names.size()) + " inputs, " +
                               std::to_string(inputs.size()) + " were given");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const core::Tensor& tensor = state_->graph.tensor(names[i]);
    const core::Dims dims = dims_of(tensor.type);
    if (inputs[i].data_type() != tensor.type.data_type || inputs[i].dims() != dims) {
      return core::invalid_input("input `" + tensor.name + "` takes " +
                                 std::string(core::to_string(tensor.type.data_type)) +
                                 core::to_string(dims) + ", given was " +
                                 std::string(core::to_string(inputs[i].data_type())) +
                                 core::to_string(inputs[i].dims()));
    }
    if (!inputs[i].bytes().empty()) {
      SOAPSTONE_RETURN_IF_ERROR(
          state_->memory->copy_in(state_->graph_inputs[i].address(), inputs[i].bytes()));
    }
  }
  SOAPSTONE_RETURN_IF_ERROR(run_again());
  if (state_->may_have_lost_nan()) {
    SOAPSTONE_ASSIGN_OR_RETURN(Executable* const exact, unfused());
    return exact->run(inputs);
  }
  std::vector<core::Literal> results;
  for (std::size_t i = 0; i < state_->graph_outputs.size(); ++i) {
    SOAPSTONE_ASSIGN_OR_RETURN(core::Literal result, state_->result(i));
    results.push_back(std::move(result));
  }
  return results;
}

core::Result<Executable*> Executable::unfused() {
  if (!state_->unfused) {
    SOAPSTONE_ASSIGN_OR_RETURN(Executable made, make(state_->graph, *state_->made_by,
                                                     {.fusion = Fusion::kNone,
                                                      .hold_shared_weights = false,
                                                      .working = state_->own_working()}));
    state_->unfused.emplace(std::move(made));
  }
  return &*state_->unfused;
}

core::Status Executable::run_at(const std::vector<DeviceAddress>& inputs,
                                const std::vector<DeviceAddress>& outputs) {
  CHECK(state_->working != nullptr, "an executable whose tensors lie outside");
  SOAPSTONE_RETURN_IF_ERROR(state_->bind_outside({inputs, outputs}));
  SOAPSTONE_RETURN_IF_ERROR(run_again());
  if (state_->may_have_lost_nan()) {
    SOAPSTONE_ASSIGN_OR_RETURN(Executable* const exact, unfused());
    return exact->run_at(inputs, outputs);
  }
  return state_->copy_results();
}

core::Status Executable::run_again() {
  state_->queue->replay(*state_->run);
  return state_->queue->wait();
}

core::Result<double> Executable::time_us(std::int64_t repetitions) {
  const std::unique_ptr<Stopwatch> stopwatch = state_->queue->make_stopwatch();
  stopwatch->start();
  for (std::int64_t i = 0; i < repetitions; ++i) state_->queue->replay(*state_->run);
  const double us = stopwatch->stop_us();
  SOAPSTONE_RETURN_IF_ERROR(state_->queue->wait());
  return us;
}

const ExecutableReport& Executable::report() const { return state_->report; }

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::~Executable() = default;
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;

}  // namespace soapstone::runtime
