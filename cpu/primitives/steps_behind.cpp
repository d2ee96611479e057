// See steps_behind.h.
#include "cpu/primitives/steps_behind.h"

#include <algorithm>
#include <utility>

namespace soapstone::cpu {
namespace {

using runtime::EpilogueKind;

runtime::DeviceAddress address_of(const std::byte* memory) {
  return runtime::DeviceAddress(reinterpret_cast<std::uintptr_t>(memory));
}

/// The steps as a launch of their own, whose first input is the product.
runtime::Launch launch_behind(const KernelRequest& request) {
  const auto& epilogue = request.launch.epilogue;
  runtime::Launch behind;
  behind.head = epilogue[0].node;
  behind.epilogue.assign(epilogue.begin() + 1, epilogue.end());
  if (epilogue[0].kind == EpilogueKind::kGate) {
    // The gate's function is the head, and the gate a step that has it behind it already.
    behind.head = epilogue[0].gate;
    behind.epilogue = epilogue;
    behind.epilogue[0].gate = {};
  }
  behind.inputs = {request.head().outputs[0]};
  for (const runtime::EpilogueStep& step : epilogue)
    if (step.operand.valid() &&
        std::ranges::find(behind.inputs, step.operand) == behind.inputs.end())
      behind.inputs.push_back(step.operand);
  behind.outputs = request.launch.outputs;
  return behind;
}

}  // namespace

core::Result<StepsBehind> StepsBehind::make(const KernelRequest& request) {
  const runtime::Launch launch = launch_behind(request);
  const runtime::LaunchLayouts layouts{
      std::vector(launch.inputs.size(), runtime::Layout::kRowMajor),
      std::vector(launch.outputs.size(), runtime::Layout::kRowMajor)};
  SOAPSTONE_ASSIGN_OR_RETURN(
      auto loops,
      make_elementwise_kernel({request.graph, launch, layouts, request.constants, request.engine,
                               request.stream, request.threads, request.packed}));
  StepsBehind steps(std::move(loops));
  steps.addresses_.resize(launch.inputs.size());
  for (std::size_t k = 1; k < launch.inputs.size(); ++k)
    steps.operands_.push_back(request.number(launch.inputs[k]));
  return steps;
}

core::Status StepsBehind::run(const std::byte* product, const Inputs& held,
                              runtime::HostInputs given, runtime::HostOutputs outputs) {
  addresses_[0] = address_of(product);
  for (std::size_t k = 0; k < operands_.size(); ++k)
    addresses_[k + 1] = address_of(held.find(operands_[k], given));
  return loops_->run(runtime::HostInputs(addresses_), outputs, nullptr);
}

}  // namespace soapstone::cpu
