// What queues of a GPU run, whoever made it: something that is put into a stream.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/driver/driver.h"
#include "runtime/device/queue.h"

namespace soapstone::gpu {

/// What a kernel is given in one place: a tensor of the call, or a constant that it holds.
struct KernelArgument {
  enum class Kind : std::uint8_t { kInput, kOutput, kConstant };
  Kind kind = Kind::kInput;
  std::size_t number = 0;  ///< Of the call's inputs or outputs, or of the kernel's constants.
};

struct KernelArguments {
  std::vector<KernelArgument> list;
  std::vector<runtime::DeviceBlock> constants;

  DriverAddress address(std::size_t argument, const runtime::KernelCall& call) const {
    const auto [kind, number] = list[argument];
    return (kind == KernelArgument::Kind::kInput    ? call.inputs[number]
            : kind == KernelArgument::Kind::kOutput ? call.outputs[number]
                                                    : constants[number].address())
        .value();
  }
};

class GpuKernel : public runtime::Kernel {
 public:
  /// Errors: kUnavailable if the device or a library fails.
  virtual core::Status launch(const Driver& driver, DriverHandle stream,
                              const runtime::KernelCall& call) = 0;
};

}  // namespace soapstone::gpu
