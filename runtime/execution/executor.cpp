// See executor.h.
#include "runtime/execution/executor.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "ops/definition/registry.h"
#include "runtime/execution/fold.h"
#include "runtime/memory/aligned_block.h"
#include "runtime/memory/memory_check.h"
#include "runtime/memory/placement.h"

namespace soapstone::runtime {

using core::Graph;
using core::LiteralPtr;
using core::TensorId;
using Home = Placement::Home;

struct Executable::State {
  /// A kernel with its pointers.
  struct Step {
    Kernel* kernel;
    core::NodeId head;  // of a launch
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
  };
  Graph graph;
  ExecutionPlan plan;
  FoldedConstants folded;
  std::vector<std::unique_ptr<Kernel>> kernels;  // of launches, then of conversions
  std::vector<AlignedBlock> graph_inputs;
  AlignedBlock arena, scratch;
  std::vector<Step> steps;
  std::vector<const std::byte*> graph_outputs;
  ExecutableReport report;

  core::Status compile_all(Backend& backend, const Options& options);
  std::vector<bool> left_in_place() const;
  core::Status allocate(const Placement& placement);
  void bind(const Placement& placement);
  const std::byte* address(const Placement& placement, TensorId tensor, Layout layout) const;
  std::size_t constant_bytes() const;
};

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

/// Large weights that several launches read, by tensor.
std::vector<bool> Executable::State::left_in_place() const {
  constexpr std::size_t kLarge = std::size_t{1} << 16;  // bytes
  std::vector<int> readers(graph.tensor_bound());
  for (const Launch& launch : plan.launches)
    for (const TensorId input : launch.inputs) ++readers[input.index()];
  std::vector<bool> left(graph.tensor_bound());
  for (std::size_t i = 0; i < left.size(); ++i)
    left[i] = readers[i] > 1 && storage_bytes(graph.tensor(TensorId(i)).type) >= kLarge;
  return left;
}

core::Status Executable::State::compile_all(Backend& backend, const Options& options) {
  const ConstantValue all = constant_value(graph, folded);
  const std::vector<bool> left =
      options.hold_shared_weights ? std::vector<bool>(graph.tensor_bound()) : left_in_place();
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    // What lies row-major need not be held by the kernel; other layouts nobody else has.
    const ConstantValue constants = [&](TensorId id) -> LiteralPtr {
      if (!left[id.index()]) return all(id);
      const auto at = std::ranges::find(plan.launches[i].inputs, id);
      const auto number = static_cast<std::size_t>(at - plan.launches[i].inputs.begin());
      if (at == plan.launches[i].inputs.end()) return all(id);
      return plan.layouts[i].inputs[number] == Layout::kRowMajor ? nullptr : all(id);
    };
    const core::Node& head = graph.node(plan.launches[i].head);
    std::vector<std::string> why_not;
    auto kernel = backend.compile(graph, plan.launches[i], plan.layouts[i], constants, &why_not);
    if (!kernel) return kernel.error().at(head.op->name + " `" + head.name + "`");
    if ((*kernel)->implementation() == "reference") {
      std::string reasons;
      for (const std::string& why : why_not) reasons += (reasons.empty() ? "" : "; ") + why;
      report.reference_kernels.emplace_back(head.op->name + " `" + head.name + "`",
                                            std::move(reasons));
    }
    kernels.push_back(*std::move(kernel));
  }
  for (const Conversion& conversion : plan.conversions) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto kernel,
                               backend.compile_conversion(graph.tensor(conversion.tensor).type,
                                                          conversion.from, conversion.to));
    kernels.push_back(std::move(kernel));
  }
  return core::Done{};
}

core::Status Executable::State::allocate(const Placement& placement) {
  for (TensorId input : graph.inputs()) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto block,
                               AlignedBlock::allocate(storage_bytes(graph.tensor(input).type)));
    graph_inputs.push_back(std::move(block));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(arena, AlignedBlock::allocate(placement.memory().arena_bytes));
  std::size_t scratch_bytes = 0;
  for (const auto& kernel : kernels)
    scratch_bytes = std::max(scratch_bytes, kernel->scratch_bytes());
  SOAPSTONE_ASSIGN_OR_RETURN(scratch, AlignedBlock::allocate(scratch_bytes));
  return core::Done{};
}

const std::byte* Executable::State::address(const Placement& placement, TensorId tensor,
                                            Layout layout) const {
  const Placement::Place place = placement.of(tensor, layout);
  if (place.home == Home::kArena) return arena.data() + place.offset;
  if (place.home == Home::kConstant) {
    // A kernel has its own copy of a constant that it wants in another layout.
    if (layout != Layout::kRowMajor) return nullptr;
    return constant_value(graph, folded)(place.source)->bytes().data();
  }
  const auto inputs = graph.inputs();
  const auto at = std::find(inputs.begin(), inputs.end(), place.source) - inputs.begin();
  return graph_inputs[static_cast<std::size_t>(at)].data() + place.offset;
}

void Executable::State::bind(const Placement& placement) {
  const auto write = [&](TensorId tensor, Layout layout) {
    const Placement::Place place = placement.of(tensor, layout);
    CHECK(place.home == Home::kArena, "a launch writes to an input or constant");
    return arena.data() + place.offset;
  };
  for (const PlanStep& step : plan.steps) {
    Step bound;
    if (step.kind == PlanStep::Kind::kView) continue;
    if (step.kind == PlanStep::Kind::kConversion) {
      const Conversion& conversion = plan.conversions[step.number];
      bound.kernel = kernels[plan.launches.size() + step.number].get();
      bound.inputs = {address(placement, conversion.tensor, conversion.from)};
      bound.outputs = {write(conversion.tensor, conversion.to)};
    } else {
      const Launch& launch = plan.launches[step.number];
      const LaunchLayouts& layouts = plan.layouts[step.number];
      bound.kernel = kernels[step.number].get();
      bound.head = launch.head;
      for (std::size_t i = 0; i < launch.inputs.size(); ++i)
        bound.inputs.push_back(address(placement, launch.inputs[i], layouts.inputs[i]));
      for (std::size_t i = 0; i < launch.outputs.size(); ++i)
        bound.outputs.push_back(write(launch.outputs[i], layouts.outputs[i]));
    }
    steps.push_back(std::move(bound));
  }
  for (TensorId output : graph.outputs())
    graph_outputs.push_back(address(placement, output, Layout::kRowMajor));
}

std::size_t Executable::State::constant_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    const TensorId id(i);
    if (graph.contains(id) && graph.tensor(id).value)
      bytes += graph.tensor(id).value->bytes().size();
  }
  for (const auto& [id, value] : folded) bytes += value->bytes().size();
  return bytes;
}

core::Result<Executable> Executable::make(const Graph& graph, Backend& backend) {
  return make(graph, backend, Options());
}

core::Result<Executable> Executable::make(const Graph& graph, Backend& backend,
                                          const Options& options) {
  SOAPSTONE_RETURN_IF_ERROR(check_types(graph));
  SOAPSTONE_RETURN_IF_ERROR(check_memory(graph));
  auto state = std::make_unique<State>();
  state->graph = graph;
  state->plan = plan_execution(graph, backend, options.fusion);
  SOAPSTONE_ASSIGN_OR_RETURN(state->folded, fold_constants(graph, backend));
  SOAPSTONE_RETURN_IF_ERROR(state->compile_all(backend, options));
  std::vector<std::optional<std::size_t>> in_place;
  for (std::size_t i = 0; i < state->plan.launches.size(); ++i)
    in_place.push_back(state->kernels[i]->in_place_input());
  const Placement placement(state->graph, state->plan, in_place);
  SOAPSTONE_RETURN_IF_ERROR(state->allocate(placement));
  state->bind(placement);
  state->report.launches = state->plan.launches.size();
  state->report.conversions = state->plan.conversions.size();
  state->report.peak_activation_bytes = placement.memory().peak_bytes;
  state->report.arena_bytes = placement.memory().arena_bytes;
  state->report.constant_bytes = state->constant_bytes();
  return Executable(std::move(state));
}

core::Result<std::vector<core::Literal>> Executable::run(std::span<const core::Literal> inputs) {
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
    if (!inputs[i].bytes().empty())
      std::memcpy(state_->graph_inputs[i].data(), inputs[i].bytes().data(),
                  inputs[i].bytes().size());
  }
  SOAPSTONE_RETURN_IF_ERROR(run_again());
  std::vector<core::Literal> results;
  for (std::size_t i = 0; i < state_->graph_outputs.size(); ++i) {
    const core::TensorType& type = state_->graph.tensor(state_->graph.outputs()[i]).type;
    results.push_back(core::Literal::copy(type.data_type, dims_of(type),
                                          {state_->graph_outputs[i], storage_bytes(type)}));
  }
  return results;
}

core::Status Executable::run_again() {
  for (State::Step& step : state_->steps) {
    auto done = step.kernel->run(step.inputs, step.outputs, state_->scratch.data());
    if (done) continue;
    if (!step.head.valid()) return done;
    const core::Node& head = state_->graph.node(step.head);
    return done.error().at(head.op->name + " `" + head.name + "`");
  }
  return core::Done{};
}

const ExecutableReport& Executable::report() const { return state_->report; }

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::~Executable() = default;
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;

}  // namespace soapstone::runtime
