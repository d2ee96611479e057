// Gather: copies the slices that the indices name, after a look at all of them: an index outside of
// [−n, n) is an error, as in ONNX.
#include <algorithm>
#include <cstring>

#include "cpu/base/kernel_request.h"
#include "cpu/base/row_indices.h"
#include "cpu/base/threads.h"

namespace soapstone::cpu {
namespace {

using core::Dims;

template <class Index>
class GatherKernel final : public runtime::HostKernel {
 public:
  explicit GatherKernel(const KernelRequest& request)
      : threads_(request.threads), inputs_(request), data_(request.number(request.head_input(0))),
        indices_(request.number(request.head_input(1))) {
    const Dims data = request.dims(request.head_input(0));
    const auto axis = static_cast<std::size_t>(request.attributes().get_int("axis"));
    const Dims indices = request.dims(request.head_input(1));
    outer_ = product(data, 0, axis);
    size_ = data[axis];
    count_ = product(indices, 0, indices.size());
    slice_bytes_ =
        product(data, axis + 1, data.size()) * core::size_bytes(request.output_type().data_type);
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs, std::byte*) override {
    const std::byte* data = inputs_.find(data_, inputs);
    const auto* indices = reinterpret_cast<const Index*>(inputs_.find(indices_, inputs));
    SOAPSTONE_RETURN_IF_ERROR(check_indices("gather", std::span(indices, count_), size_));
    constexpr std::size_t kGrainBytes = 1 << 17;
    const std::size_t grain = kGrainBytes / std::max<std::size_t>(slice_bytes_, 1) + 1;
    parallel_ranges(threads_, outer_ * count_, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t place = row_of(indices[i % count_], size_);
        const std::size_t block = i / count_ * static_cast<std::size_t>(size_);
        std::memcpy(outputs[0] + i * slice_bytes_, data + (block + place) * slice_bytes_,
                    slice_bytes_);
      }
    });
    return core::Done{};
  }
  std::string implementation() const override { return "own copy"; }

 private:
  int threads_;
  Inputs inputs_;
  std::size_t data_, indices_;
  std::size_t outer_ = 1, count_ = 1, slice_bytes_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_gather_kernel(const KernelRequest& request) {
  if (request.op() != "gather") return not_mine();
  if (!request.row_major()) return refuse("gather: not row-major");
  if (!request.has_elements()) return refuse("gather: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("gather: has no epilogue");
  if (request.type(request.head_input(1)).data_type == core::DataType::kInt64)
    return std::unique_ptr<runtime::HostKernel>(
        std::make_unique<GatherKernel<std::int64_t>>(request));
  return std::unique_ptr<runtime::HostKernel>(
      std::make_unique<GatherKernel<std::int32_t>>(request));
}

}  // namespace soapstone::cpu
