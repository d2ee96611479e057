// See kernel_request.h.
#include "cpu/base/kernel_request.h"

#include <algorithm>
#include <array>

#include "ops/gradients/gradient_operator.h"
#include "runtime/execution/elements.h"

namespace soapstone::cpu {

using core::DataType;
using core::TensorId;
using runtime::Layout;

core::Error refuse(std::string why) { return core::unsupported(std::move(why)); }
core::Error not_mine() { return core::unsupported({}); }

bool KernelRequest::has_head_input(std::size_t k) const {
  return k < head().inputs.size() && head().inputs[k].valid();
}

std::size_t KernelRequest::number(TensorId tensor) const {
  const auto at = std::find(launch.inputs.begin(), launch.inputs.end(), tensor);
  CHECK(at != launch.inputs.end(), "not an input of the launch");
  return static_cast<std::size_t>(at - launch.inputs.begin());
}

core::LiteralPtr KernelRequest::constant(TensorId tensor) const {
  return constants ? constants(tensor) : nullptr;
}

bool KernelRequest::all_floats() const {
  const auto is_float = [&](TensorId id) { return type(id).data_type == DataType::kFloat32; };
  return std::ranges::all_of(launch.inputs, is_float) &&
         std::ranges::all_of(launch.outputs, is_float);
}

bool KernelRequest::row_major() const {
  const auto plain = [](Layout layout) { return layout == Layout::kRowMajor; };
  return std::ranges::all_of(layouts.inputs, plain) && std::ranges::all_of(layouts.outputs, plain);
}

bool KernelRequest::has_elements() const {
  const auto some = [&](TensorId id) { return runtime::storage_bytes(type(id)) != 0; };
  return std::ranges::all_of(launch.inputs, some) && std::ranges::all_of(launch.outputs, some);
}

Inputs::Inputs(const KernelRequest& request) : held_(request.launch.inputs.size()) {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const core::LiteralPtr literal = request.constant(request.launch.inputs[i]);
    if (!literal || literal->bytes().empty()) continue;
    held_[i] = {literal, literal->bytes().data()};
    if (request.layouts.inputs[i] == Layout::kRowMajor) continue;
    const core::Dims& dims = literal->dims();
    auto copy = std::make_shared<std::vector<std::byte>>(literal->bytes().size());
    runtime::copy_strided(dims, core::size_bytes(literal->data_type()), literal->bytes().data(),
                          runtime::strides_of(dims, Layout::kRowMajor), copy->data(),
                          runtime::strides_of(dims, request.layouts.inputs[i]));
    held_[i] = {copy, copy->data()};
  }
}

bool covers_tail(const core::Dims& parameter, const core::Dims& dims, std::size_t axis) {
  for (std::size_t i = 1; i <= dims.size(); ++i) {
    const std::size_t d = dims.size() - i;
    const std::int64_t size = i <= parameter.size() ? parameter[parameter.size() - i] : 1;
    if (size != (d < axis ? 1 : dims[d])) return false;
  }
  return true;
}

std::span<const MakeKernel> kernel_makers() {
  static constexpr std::array<MakeKernel, 16> kMakers = {
      make_convolution_kernel,   make_vector_matrix_kernel, make_matmul_kernel,
      make_elementwise_kernel,   make_pool_kernel,          make_copy_kernel,
      make_softmax_kernel,       make_layer_norm_kernel,    make_normalization_kernel,
      make_loss_kernel,          make_reduce_kernel,        make_gather_kernel,
      make_deconvolution_kernel, make_einsum_kernel,        make_cumsum_kernel,
      make_resize_kernel};
  return kMakers;
}

std::span<const MakeKernel> gradient_makers() {
  static constexpr std::array<MakeKernel, 4> kMakers = {
      make_convolution_gradient, make_pool_gradient, make_matmul_gradient, make_gather_gradient};
  return kMakers;
}

bool is_whole_gradient(const core::Node& node) {
  static const std::array<std::string, 4> kGradients = {
      ops::gradient_name("conv"), ops::gradient_name("max_pool"),
      ops::gradient_name("average_pool"), ops::gradient_name("gather")};
  return std::ranges::find(kGradients, node.op->name) != kGradients.end();
}

std::int64_t product(const core::Dims& dims, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= dims[i];
  return result;
}

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace soapstone::cpu
