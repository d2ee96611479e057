// See executable_state.h.
#include "runtime/execution/executable_state.h"

#include <algorithm>

#include "core/base/check.h"

namespace soapstone::runtime {

using core::LiteralPtr;
using core::TensorId;
using Home = Placement::Home;

namespace {

/// How errors name a node.
std::string place_of(const core::Node& node) { return node.op->name + " `" + node.name + "`"; }

std::size_t in_lines(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  return (bytes + kLine - 1) / kLine * kLine;
}

std::size_t place_in(std::span<const TensorId> tensors, TensorId tensor) {
  return static_cast<std::size_t>(std::ranges::find(tensors, tensor) - tensors.begin());
}

}  // namespace

/// Large weights that several launches read, by tensor.
std::vector<bool> Executable::State::large_shared_weights() const {
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
  left_in_place = options.hold_shared_weights ? std::vector<bool>(graph.tensor_bound())
                                              : large_shared_weights();
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    // A kernel need not hold a weight that lies row-major; nobody else has other layouts of it.
    const ConstantValue constants = [&](TensorId id) -> LiteralPtr {
      if (!left_in_place[id.index()]) return all(id);
      const auto at = std::ranges::find(plan.launches[i].inputs, id);
      const auto number = static_cast<std::size_t>(at - plan.launches[i].inputs.begin());
      if (at == plan.launches[i].inputs.end()) return all(id);
      return plan.layouts[i].inputs[number] == Layout::kRowMajor ? nullptr : all(id);
    };
    const core::Node& head = graph.node(plan.launches[i].head);
    std::vector<std::string> why_not;
    auto kernel = backend.compile(graph, plan.launches[i], plan.layouts[i], constants, &why_not);
    if (!kernel) return kernel.error().at(place_of(head));
    if ((*kernel)->implementation() == "reference") {
      std::string reasons;
      for (const std::string& why : why_not) reasons += (reasons.empty() ? "" : "; ") + why;
      report.reference_kernels.emplace_back(place_of(head), std::move(reasons));
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

core::Status Executable::State::allocate() {
  for (const auto& kernel : kernels)
    scratch_bytes = std::max(scratch_bytes, kernel->scratch_bytes());
  const std::size_t arena_bytes = placement->memory().arena_bytes;
  if (working) {
    working->need(in_lines(arena_bytes) + scratch_bytes);
    return core::Done{};
  }
  for (TensorId input : graph.inputs()) {
    SOAPSTONE_ASSIGN_OR_RETURN(
        DeviceBlock block, DeviceBlock::allocate(*memory, storage_bytes(graph.tensor(input).type)));
    graph_inputs.push_back(std::move(block));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(arena, DeviceBlock::allocate(*memory, arena_bytes));
  SOAPSTONE_ASSIGN_OR_RETURN(scratch, DeviceBlock::allocate(*memory, scratch_bytes));
  return core::Done{};
}

DeviceAddress Executable::State::address(const Placement::Place& place) const {
  if (place.home == Home::kArena) return arena.address() + place.offset;
  if (place.home == Home::kGraphOutput)
    return outside.outputs[place_in(graph.outputs(), place.source)] + place.offset;
  const std::size_t input = place_in(graph.inputs(), place.source);
  return (working ? outside.inputs[input] : graph_inputs[input].address()) + place.offset;
}

core::Result<DeviceAddress> Executable::State::read(TensorId tensor, Layout layout) {
  const Placement::Place place = placement->of(tensor, layout);
  if (place.home != Home::kConstant) return address(place);
  // Any other constant is held by the kernel.
  if (layout != Layout::kRowMajor || !left_in_place[tensor.index()]) return DeviceAddress();
  if (const auto known = weights.find(tensor); known != weights.end())
    return known->second.address();
  const LiteralPtr value = constant_value(graph, folded)(tensor);
  SOAPSTONE_ASSIGN_OR_RETURN(DeviceBlock block, memory->share(value->bytes()));
  return weights.emplace(tensor, std::move(block)).first->second.address();
}

DeviceAddress Executable::State::write(TensorId tensor, Layout layout) const {
  const Placement::Place place = placement->of(tensor, layout);
  CHECK(place.home == Home::kArena || place.home == Home::kGraphOutput,
        "a launch writes to an input or constant");
  return address(place);
}

core::Result<KernelCall> Executable::State::call_of(const RewriteStep& step) {
  KernelCall call{.scratch = scratch.address()};
  if (step.kind == RewriteStep::Kind::kConversion) {
    const Conversion& conversion = plan.conversions[step.number];
    call.kernel = kernels[plan.launches.size() + step.number].get();
    SOAPSTONE_ASSIGN_OR_RETURN(const DeviceAddress from, read(conversion.tensor, conversion.from));
    call.inputs = {from};
    call.outputs = {write(conversion.tensor, conversion.to)};
    call.input_bytes = call.output_bytes = {storage_bytes(graph.tensor(conversion.tensor).type)};
    return call;
  }
  const Launch& launch = plan.launches[step.number];
  const LaunchLayouts& layouts = plan.layouts[step.number];
  call.kernel = kernels[step.number].get();
  call.where = place_of(graph.node(launch.head));
  for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
    SOAPSTONE_ASSIGN_OR_RETURN(const DeviceAddress from, read(launch.inputs[i], layouts.inputs[i]));
    call.inputs.push_back(from);
  }
  for (std::size_t i = 0; i < launch.outputs.size(); ++i)
    call.outputs.push_back(write(launch.outputs[i], layouts.outputs[i]));
  for (TensorId input : launch.inputs)
    call.input_bytes.push_back(storage_bytes(graph.tensor(input).type));
  for (TensorId output : launch.outputs)
    call.output_bytes.push_back(storage_bytes(graph.tensor(output).type));
  return call;
}

core::Status Executable::State::bind() {
  std::vector<KernelCall> calls;
  for (const RewriteStep& step : plan.steps) {
    if (step.kind == RewriteStep::Kind::kView) continue;
    SOAPSTONE_ASSIGN_OR_RETURN(KernelCall call, call_of(step));
    calls.push_back(std::move(call));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(run, queue->record(std::move(calls)));
  graph_outputs.clear();
  for (TensorId output : graph.outputs()) {
    const Placement::Place place = placement->of(output, Layout::kRowMajor);
    if (place.home == Home::kConstant)
      graph_outputs.push_back({constant_value(graph, folded)(place.source), {}});
    else
      graph_outputs.push_back({nullptr, address(place)});
  }
  return core::Done{};
}

core::Status Executable::State::bind_outside(Outside tensors) {
  if (run && tensors == outside) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const DeviceAddress memory_taken, working->take());
  arena = DeviceBlock::borrowed(memory_taken);
  scratch = DeviceBlock::borrowed(memory_taken + in_lines(placement->memory().arena_bytes));
  outside = std::move(tensors);
  return bind();
}

core::Status Executable::State::copy_results() const {
  for (std::size_t k = 0; k < graph_outputs.size(); ++k) {
    const Output& output = graph_outputs[k];
    const DeviceAddress to = outside.outputs[k];
    const std::size_t bytes = storage_bytes(graph.tensor(graph.outputs()[k]).type);
    if (output.constant)
      SOAPSTONE_RETURN_IF_ERROR(memory->copy_in(to, output.constant->bytes()));
    else if (output.address != to && bytes != 0)
      SOAPSTONE_RETURN_IF_ERROR(memory->copy(output.address, to, bytes));
  }
  return core::Done{};
}

WorkingMemory* Executable::State::own_working() {
  if (!working) return nullptr;
  if (!unfused_working) unfused_working.emplace(*memory);
  return &*unfused_working;
}

core::Result<core::Literal> Executable::State::result(std::size_t number) const {
  const Output& output = graph_outputs[number];
  if (output.constant) return *output.constant;
  const core::TensorType& type = graph.tensor(graph.outputs()[number]).type;
  SOAPSTONE_ASSIGN_OR_RETURN(HostBytes host, memory->read(output.address, storage_bytes(type)));
  return core::Literal::view(type.data_type, dims_of(type), host.bytes, std::move(host.owner));
}

bool Executable::State::may_have_lost_nan() const {
  return std::ranges::any_of(kernels,
                             [](const auto& kernel) { return kernel->may_have_lost_nan(); });
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

}  // namespace soapstone::runtime
