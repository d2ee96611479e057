// The gradient of looking up rows: each row of the cotangent is added where it was looked up.
#include <algorithm>

#include "cpu/base/kernel_request.h"
#include "cpu/base/row_indices.h"
#include "cpu/base/vector_clones.h"
#include "ops/gradients/gradient_operator.h"

namespace soapstone::cpu {
namespace {

using core::Dims;

SOAPSTONE_VECTOR_CLONES void add_row(const float* row, std::size_t count, float* sum) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += row[i];
}

/// One thread adds in the order of the indices, so that sums do not depend on threads.
template <class Index>
class GatherGradient final : public runtime::HostKernel {
 public:
  explicit GatherGradient(const KernelRequest& request)
      : inputs_(request), indices_(request.number(request.head_input(1))),
        cotangent_(request.number(request.head().inputs.back())) {
    const Dims table = request.dims(request.launch.outputs[0]);
    const auto axis = static_cast<std::size_t>(request.attributes().get_int("axis"));
    outer_ = static_cast<std::size_t>(product(table, 0, axis));
    size_ = table[axis];
    row_ = static_cast<std::size_t>(product(table, axis + 1, table.size()));
    count_ = static_cast<std::size_t>(core::element_count(request.dims(request.head_input(1))));
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs, std::byte*) override {
    const auto* const indices = reinterpret_cast<const Index*>(inputs_.find(indices_, inputs));
    const auto* rows = reinterpret_cast<const float*>(inputs_.find(cotangent_, inputs));
    auto* const sums = reinterpret_cast<float*>(outputs[0]);
    const auto size = static_cast<std::size_t>(size_);
    SOAPSTONE_RETURN_IF_ERROR(
        check_indices("gradient of gather", std::span(indices, count_), size_));
    std::fill_n(sums, outer_ * size * row_, 0.0F);
    for (std::size_t block = 0; block < outer_; ++block)
      for (std::size_t i = 0; i < count_; ++i, rows += row_) {
        add_row(rows, row_, sums + (block * size + row_of(indices[i], size_)) * row_);
      }
    return core::Done{};
  }
  std::string implementation() const override { return "own loops"; }

 private:
  Inputs inputs_;
  std::size_t indices_, cotangent_;
  std::size_t outer_ = 1, row_ = 1, count_ = 1;
  std::int64_t size_ = 0;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_gather_gradient(const KernelRequest& request) {
  if (request.op() != ops::gradient_name("gather")) return not_mine();
  if (!request.row_major()) return refuse("gradient of gather: not row-major");
  if (!request.has_elements()) return refuse("gradient of gather: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("gradient of gather: has no epilogue");
  if (request.output_type().data_type != core::DataType::kFloat32)
    return refuse("gradient of gather: elements are not f32");
  if (request.type(request.head_input(1)).data_type == core::DataType::kInt64)
    return std::unique_ptr<runtime::HostKernel>(
        std::make_unique<GatherGradient<std::int64_t>>(request));
  return std::unique_ptr<runtime::HostKernel>(
      std::make_unique<GatherGradient<std::int32_t>>(request));
}

}  // namespace soapstone::cpu
