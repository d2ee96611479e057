// A launch for which a kernel is sought, and the list of those who may have one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/launches/host_backend.h"

namespace dnnl {
struct engine;
struct stream;
}  // namespace dnnl

namespace soapstone::cpu {

class PackedWeights;

/// The answer of a kernel that is not for this launch; the message says why.
core::Error refuse(std::string why);
/// The answer of a kernel for other operators, which is not worth a word.
core::Error not_mine();

/// Product of the sizes of dimensions `begin` to `end` - 1.
std::int64_t product(const core::Dims& dims, std::size_t begin, std::size_t end);
/// `bytes`, rounded up to whole cache lines.
std::size_t aligned(std::size_t bytes);

struct KernelRequest {
  const core::Graph& graph;
  const runtime::Launch& launch;
  const runtime::LaunchLayouts& layouts;
  const runtime::ConstantValue& constants;
  const dnnl::engine& engine;
  const dnnl::stream& stream;
  int threads;
  PackedWeights& packed;
  /// To which convolutions and products of f32 round what they multiply: kBFloat16, or kInt8 with
  /// scales. Sums are f32, of integers exact.
  core::DataType factors = core::DataType::kFloat32;

  const core::Node& head() const { return graph.node(launch.head); }
  const std::string& op() const { return head().op->name; }
  const core::Attributes& attributes() const { return head().attributes; }
  const core::TensorType& type(core::TensorId tensor) const { return graph.tensor(tensor).type; }
  core::Dims dims(core::TensorId tensor) const { return runtime::dims_of(type(tensor)); }
  const core::TensorType& output_type() const { return type(launch.outputs[0]); }
  core::TensorId head_input(std::size_t k) const { return head().inputs[k]; }
  bool has_head_input(std::size_t k) const;
  /// Place of a tensor in Launch::inputs. Precondition: it is one of them.
  std::size_t number(core::TensorId tensor) const;
  runtime::Layout layout(core::TensorId tensor) const { return layouts.inputs[number(tensor)]; }
  runtime::Layout output_layout(std::size_t k = 0) const { return layouts.outputs[k]; }
  /// Null where the value is given at run time.
  core::LiteralPtr constant(core::TensorId tensor) const;
  bool all_floats() const;    ///< Every input and output of the launch is f32.
  bool row_major() const;     ///< Every input and output lies row-major.
  bool has_elements() const;  ///< No input or output is empty.
};

using MakeKernel = core::Result<std::unique_ptr<runtime::HostKernel>> (*)(const KernelRequest&);
/// In the order in which they are tried: for operators, and for gradients of operators.
std::span<const MakeKernel> kernel_makers();
std::span<const MakeKernel> gradient_makers();

/// True of gradients that have kernels of their own, which take in nothing behind them.
bool is_whole_gradient(const core::Node& node);

/// Finds the inputs of a kernel: constants are held here, in the layout of the launch, the
/// others come with each run.
class Inputs {
 public:
  explicit Inputs(const KernelRequest& request);
  const std::byte* find(std::size_t number, runtime::HostInputs given) const {
    return held_[number].data ? held_[number].data : given[number];
  }
  bool is_constant(std::size_t number) const { return held_[number].data != nullptr; }

 private:
  struct Held {
    std::shared_ptr<const void> owner;
    const std::byte* data = nullptr;
  };
  std::vector<Held> held_;
};

/// True if `parameter` broadcasts to `dims` along the dimensions before `axis`, and along no other.
bool covers_tail(const core::Dims& parameter, const core::Dims& dims, std::size_t axis);

// One for each file of kernels.
core::Result<std::unique_ptr<runtime::HostKernel>> make_convolution_kernel(const KernelRequest&);
/// None of kernel_makers(): for who chooses it (winograd.cpp).
core::Result<std::unique_ptr<runtime::HostKernel>> make_winograd_kernel(const KernelRequest&);
/// None of kernel_makers(), either: a contraction whose factors are rounded as the request says
/// (rounded.cpp).
core::Result<std::unique_ptr<runtime::HostKernel>> make_rounded_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_vector_matrix_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_matmul_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_pool_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_softmax_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_layer_norm_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_normalization_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_elementwise_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_reduce_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_loss_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_copy_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_gather_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_deconvolution_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_einsum_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_cumsum_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_resize_kernel(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_convolution_gradient(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_pool_gradient(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_matmul_gradient(const KernelRequest&);
core::Result<std::unique_ptr<runtime::HostKernel>> make_gather_gradient(const KernelRequest&);

}  // namespace soapstone::cpu
