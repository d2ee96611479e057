// See primitive_kernel.h.
#include "cpu/primitives/primitive_kernel.h"

#include "cpu/base/threads.h"

namespace soapstone::cpu {

PrimitiveKernel::PrimitiveKernel(const KernelRequest& request, Primitive primitive)
    : stream_(request.stream), threads_(request.threads), inputs_(request),
      primitive_(request.engine, std::move(primitive)),
      destination_(primitive_.add(DNNL_ARG_DST, primitive_.primitive().destination)) {
  add_argument(DNNL_ARG_SRC, primitive_.primitive().source, request.number(request.head_input(0)));
}

void PrimitiveKernel::add_argument(int argument, const Descriptor& descriptor, std::size_t input) {
  arguments_.emplace_back(primitive_.add(argument, descriptor), input);
}

core::Status PrimitiveKernel::run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                                  std::byte* scratch) {
  use_threads(threads_);
  for (const auto& [argument, input] : arguments_)
    primitive_.set(argument, inputs_.find(input, inputs));
  primitive_.set(destination_, outputs[0]);
  primitive_.run(stream_, scratch);
  return core::Done{};
}

}  // namespace soapstone::cpu
