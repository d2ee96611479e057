// The kernel of operators that move elements and compute nothing: strided copies, after a fill
// where some elements of the result come from nowhere.
#include <algorithm>
#include <optional>

#include "cpu/base/threads.h"
#include "cpu/loops/movement.h"
#include "runtime/execution/elements.h"

namespace soapstone::cpu {
namespace {

class CopyKernel final : public runtime::HostKernel {
 public:
  CopyKernel(const KernelRequest& request, const Movement& movement)
      : stream_(request.stream), threads_(request.threads), inputs_(request) {
    const core::TensorType& type = request.output_type();
    const std::size_t element = core::size_bytes(type.data_type);
    for (const Copy& copy : movement.copies)
      copies_.push_back({copy.input, copy.output, StridedCopy(copy.box, element, request.engine)});
    if (!movement.fill) return;
    const core::TensorType one{type.data_type, {}, true};
    fill_.resize(element);
    runtime::store_elements(one, runtime::Layout::kRowMajor, std::span(&*movement.fill, 1),
                            fill_.data());
    filling_.emplace(
        CopyBox{{core::element_count(request.dims(request.launch.outputs[0]))}, {0}, {1}}, element,
        request.engine);
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override {
    if (filling_) filling_->run(fill_.data(), outputs[0], stream_, threads_, scratch);
    for (Bound& copy : copies_)
      copy.copy.run(inputs_.find(copy.input, inputs), outputs[copy.output], stream_, threads_,
                    scratch);
    return core::Done{};
  }
  std::size_t scratch_bytes() const override {
    std::size_t bytes = 0;
    for (const Bound& copy : copies_) bytes = std::max(bytes, copy.copy.scratch_bytes());
    return bytes;
  }
  std::string implementation() const override {
    return !copies_.empty() && copies_[0].copy.by_onednn() ? "oneDNN reorder" : "own copy";
  }

 private:
  struct Bound {
    std::size_t input, output;
    StridedCopy copy;
  };
  const dnnl::stream& stream_;
  int threads_;
  Inputs inputs_;
  std::vector<Bound> copies_;
  std::vector<std::byte> fill_;
  std::optional<StridedCopy> filling_;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>> make_copy_kernel(const KernelRequest& request) {
  const std::optional<Movement> movement = movement_of(request);
  if (!movement) return not_mine();
  if (!request.launch.epilogue.empty()) return refuse("copy: has no epilogue");
  if (core::size_bytes(request.output_type().data_type) == 0)
    return refuse("copy: elements have no fixed size");
  return guarded([&]() -> core::Result<std::unique_ptr<runtime::HostKernel>> {
    return std::unique_ptr<runtime::HostKernel>(std::make_unique<CopyKernel>(request, *movement));
  });
}

}  // namespace soapstone::cpu
