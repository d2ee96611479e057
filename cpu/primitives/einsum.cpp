// Einsums of two operands as one batched matrix product: both are packed into [batch, m, k] and
// [batch, k, n], and the result is unpacked, where their dimensions do not lie so already. What
// stands behind it is done by our own loops: oneDNN 2.6.3 takes longer for it behind batches of
// products, and plain loops for most tensors that are repeated.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cpu/base/bound_primitive.h"
#include "cpu/base/threads.h"
#include "cpu/primitives/steps_behind.h"
#include "cpu/primitives/strided_copy.h"
#include "ops/parts/product_labels.h"

namespace soapstone::cpu {
namespace {

using core::Dims;

/// Sizes and strides of a row-major tensor's labels, in another order.
struct LabeledTensor {
  std::string labels;
  Dims dims;

  Dims sizes(const std::string& order) const {
    Dims result;
    for (const char label : order) result.push_back(dims[labels.find(label)]);
    return result;
  }
  Dims strides(const std::string& order) const {
    const Dims all = runtime::strides_of(dims, runtime::Layout::kRowMajor);
    Dims result;
    for (const char label : order) result.push_back(all[labels.find(label)]);
    return result;
  }
  /// True if the elements have that order already: it differs in dimensions of size 1 at most.
  bool lies_in(const std::string& order) const {
    return without_ones(labels) == without_ones(order);
  }

 private:
  std::string without_ones(const std::string& order) const {
    std::string kept;
    for (const char label : order)
      if (dims[labels.find(label)] != 1) kept += label;
    return kept;
  }
};

class EinsumKernel final : public runtime::HostKernel {
 public:
  EinsumKernel(const KernelRequest& request, const ops::ProductLabels& labels,
               const ops::EinsumEquation& equation)
      : stream_(request.stream), threads_(request.threads), inputs_(request),
        primitive_(request.engine, product(request, labels, equation)) {
    const std::string a = labels.batch + labels.rows + labels.summed;
    const std::string b = labels.batch + labels.summed + labels.columns;
    packing_[0] = packing(request, tensor(request, equation, 0), a, true);
    packing_[1] = packing(request, tensor(request, equation, 1), b, true);
    packing_[2] = packing(request, {equation.result, request.dims(request.launch.outputs[0])},
                          labels.in_order(), false);
    const Primitive& matmul = primitive_.primitive();
    arguments_ = {primitive_.add(DNNL_ARG_SRC, matmul.source),
                  primitive_.add(DNNL_ARG_WEIGHTS, matmul.weights),
                  primitive_.add(DNNL_ARG_DST, matmul.destination)};
    numbers_ = {request.number(request.head_input(0)), request.number(request.head_input(1))};
    bytes_ = {aligned(matmul.source.get_size()), aligned(matmul.weights.get_size()),
              aligned(matmul.destination.get_size())};
  }

  core::Status add_steps(const KernelRequest& request) {
    SOAPSTONE_ASSIGN_OR_RETURN(StepsBehind steps, StepsBehind::make(request));
    behind_.emplace(std::move(steps));
    return core::Done{};
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override {
    use_threads(threads_);
    std::array<std::byte*, 3> packed{};
    for (std::size_t k = 0; k < packed.size(); ++k)
      if (packing_[k]) packed[k] = std::exchange(scratch, scratch + bytes_[k]);
    for (std::size_t k = 0; k < numbers_.size(); ++k) {
      const std::byte* given = inputs_.find(numbers_[k], inputs);
      if (packing_[k]) packing_[k]->run(given, packed[k], stream_, threads_, scratch);
      primitive_.set(arguments_[k], packing_[k] ? packed[k] : given);
    }
    primitive_.set(arguments_[2], packing_[2] ? packed[2] : outputs[0]);
    primitive_.run(stream_, scratch);
    if (packing_[2]) packing_[2]->run(packed[2], outputs[0], stream_, threads_, scratch);
    return behind_ ? behind_->run(outputs[0], inputs_, inputs, outputs) : core::Done{};
  }
  std::size_t scratch_bytes() const override {
    std::size_t total = 0, most = primitive_.scratch_bytes();
    for (std::size_t k = 0; k < packing_.size(); ++k) {
      if (!packing_[k]) continue;
      total += bytes_[k];
      most = std::max(most, packing_[k]->scratch_bytes());
    }
    return total + most;
  }
  std::string implementation() const override { return primitive_.implementation(); }

 private:
  static LabeledTensor tensor(const KernelRequest& request, const ops::EinsumEquation& equation,
                              std::size_t k) {
    return {equation.operands[k], request.dims(request.head_input(k))};
  }

  static Primitive product(const KernelRequest& request, const ops::ProductLabels& labels,
                           const ops::EinsumEquation& equation) {
    const LabeledTensor a = tensor(request, equation, 0), b = tensor(request, equation, 1);
    const std::int64_t batch = core::element_count(a.sizes(labels.batch)),
                       rows = core::element_count(a.sizes(labels.rows)),
                       columns = core::element_count(b.sizes(labels.columns)),
                       summed = core::element_count(a.sizes(labels.summed));
    const auto matrices = [&](std::int64_t m, std::int64_t n) {
      return describe({batch, m, n}, runtime::Layout::kRowMajor);
    };
    return make_matmul(request.engine, matrices(rows, summed), matrices(summed, columns), {},
                       matrices(rows, columns), plain_attributes());
  }

  /// From the tensor to its packed form, or back. None: it lies so already.
  static std::optional<StridedCopy> packing(const KernelRequest& request,
                                            const LabeledTensor& tensor, const std::string& order,
                                            bool to_packed) {
    if (tensor.lies_in(order)) return std::nullopt;
    const Dims sizes = tensor.sizes(order), strides = tensor.strides(order);
    const Dims dense = runtime::strides_of(sizes, runtime::Layout::kRowMajor);
    return StridedCopy({sizes, to_packed ? strides : dense, to_packed ? dense : strides},
                       sizeof(float), request.engine);
  }

  const dnnl::stream& stream_;
  int threads_;
  Inputs inputs_;
  BoundPrimitive primitive_;
  std::array<std::optional<StridedCopy>, 3> packing_;  // of both operands and the result
  std::array<std::size_t, 3> arguments_{}, bytes_{};
  std::array<std::size_t, 2> numbers_{};
  std::optional<StepsBehind> behind_;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_einsum_kernel(const KernelRequest& request) {
  if (request.op() != "einsum") return not_mine();
  if (!request.all_floats()) return refuse("einsum: elements are not f32");
  if (!request.row_major()) return refuse("einsum: not row-major");
  if (!request.has_elements()) return refuse("einsum: an empty tensor");
  const auto equation = *ops::equation_of(request.head());
  const auto labels = ops::product_labels(equation);
  if (!labels) return refuse("einsum: not a product of two matrices");
  return guarded([&]() -> core::Result<std::unique_ptr<runtime::HostKernel>> {
    auto kernel = std::make_unique<EinsumKernel>(request, *labels, equation);
    if (!request.launch.epilogue.empty()) SOAPSTONE_RETURN_IF_ERROR(kernel->add_steps(request));
    return std::unique_ptr<runtime::HostKernel>(std::move(kernel));
  });
}

}  // namespace soapstone::cpu
