// See kernel_request.h.
#include "gpu/making/kernel_request.h"

#include <algorithm>

#include "runtime/execution/elements.h"

namespace soapstone::gpu {
namespace {

using core::TensorId;

std::optional<std::size_t> position_in(const std::vector<TensorId>& list, TensorId id) {
  const auto at = std::find(list.begin(), list.end(), id);
  if (at == list.end()) return std::nullopt;
  return static_cast<std::size_t>(at - list.begin());
}

/// The bytes of a constant in another layout.
std::vector<std::byte> arranged(const core::Literal& value, runtime::Layout layout) {
  std::vector<std::byte> bytes(value.bytes().size());
  runtime::copy_strided(value.dims(), core::size_bytes(value.data_type()), value.bytes().data(),
                        runtime::strides_of(value.dims(), runtime::Layout::kRowMajor), bytes.data(),
                        runtime::strides_of(value.dims(), layout));
  return bytes;
}

core::Result<runtime::DeviceBlock> upload(runtime::DeviceMemory& memory,
                                          std::span<const std::byte> bytes) {
  SOAPSTONE_ASSIGN_OR_RETURN(runtime::DeviceBlock block,
                             runtime::DeviceBlock::allocate(memory, bytes.size()));
  if (!bytes.empty()) SOAPSTONE_RETURN_IF_ERROR(memory.copy_in(block.address(), bytes));
  return block;
}

}  // namespace

KernelRequest request_of(const core::Graph& graph, const runtime::Launch& launch,
                         const runtime::LaunchLayouts& layouts,
                         const runtime::ConstantValue& constants) {
  KernelRequest request{graph, launch.nodes(), launch.inputs, launch.outputs, {}, constants};
  for (const auto& [tensors, list] :
       {std::pair{&launch.inputs, &layouts.inputs}, {&launch.outputs, &layouts.outputs}})
    for (std::size_t k = 0; k < std::min(tensors->size(), list->size()); ++k)
      if ((*list)[k] != runtime::Layout::kRowMajor)
        request.layouts.emplace((*tensors)[k], (*list)[k]);
  return request;
}

core::Result<KernelArguments> arguments_for(const MakerContext& context,
                                            const KernelRequest& request,
                                            std::span<const TensorId> tensors) {
  KernelArguments arguments;
  for (const TensorId id : tensors) {
    if (const auto output = position_in(request.outputs, id)) {
      arguments.list.push_back({KernelArgument::Kind::kOutput, *output});
    } else if (const core::LiteralPtr value = request.constants(id)) {
      arguments.list.push_back({KernelArgument::Kind::kConstant, arguments.constants.size()});
      const auto layout = request.layouts.find(id);
      SOAPSTONE_ASSIGN_OR_RETURN(runtime::DeviceBlock block,
                                 layout == request.layouts.end()
                                     ? context.memory.share(value->bytes())
                                     : upload(context.memory, arranged(*value, layout->second)));
      arguments.constants.push_back(std::move(block));
    } else {
      const auto input = position_in(request.inputs, id);
      CHECK(input.has_value(), "a kernel reads what its launch does not");
      arguments.list.push_back({KernelArgument::Kind::kInput, *input});
    }
  }
  return arguments;
}

}  // namespace soapstone::gpu
