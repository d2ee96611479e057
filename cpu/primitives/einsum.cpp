// Einsums of two operands as one batched matrix product: both are packed into [batch, m, k] and
// [batch, k, n], and the result is unpacked, where their dimensions do not lie so already.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cpu/base/kernel_request.h"
#include "cpu/base/threads.h"
#include "cpu/primitives/strided_copy.h"
#include "ops/parts/einsum_equation.h"

namespace soapstone::cpu {
namespace {

using core::Dims;

/// Labels by where they stand.
struct Labels {
  std::string batch, rows, columns, summed;
};

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

/// None: a label stands twice in one operand, or is summed in one operand alone.
std::optional<Labels> labels_of(const ops::EinsumEquation& equation) {
  if (equation.operands.size() != 2) return std::nullopt;
  const std::string &a = equation.operands[0], &b = equation.operands[1];
  Labels labels;
  for (const std::string* operand : {&a, &b})
    for (const char label : *operand)
      if (std::ranges::count(*operand, label) > 1) return std::nullopt;
  for (const char label : a) {
    const bool in_result = has(equation.result, label);
    if (has(b, label))
      (in_result ? labels.batch : labels.summed) += label;
    else if (in_result)
      labels.rows += label;
    else
      return std::nullopt;
  }
  for (const char label : b) {
    if (has(a, label)) continue;
    if (!has(equation.result, label)) return std::nullopt;
    labels.columns += label;
  }
  return labels;
}

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
};

class EinsumKernel final : public runtime::HostKernel {
 public:
  EinsumKernel(const KernelRequest& request, const Labels& labels,
               const ops::EinsumEquation& equation)
      : stream_(request.stream), threads_(request.threads), inputs_(request),
        primitive_(request.engine, product(request, labels, equation)) {
    const std::string a = labels.batch + labels.rows + labels.summed;
    const std::string b = labels.batch + labels.summed + labels.columns;
    const std::string y = labels.batch + labels.rows + labels.columns;
    packing_[0] = packing(request, tensor(request, equation, 0), a, true);
    packing_[1] = packing(request, tensor(request, equation, 1), b, true);
    packing_[2] =
        packing(request, {equation.result, request.dims(request.launch.outputs[0])}, y, false);
    const Primitive& matmul = primitive_.primitive();
    arguments_ = {primitive_.add(DNNL_ARG_SRC, matmul.source),
                  primitive_.add(DNNL_ARG_WEIGHTS, matmul.weights),
                  primitive_.add(DNNL_ARG_DST, matmul.destination)};
    numbers_ = {request.number(request.head_input(0)), request.number(request.head_input(1))};
    bytes_ = {aligned(matmul.source.get_size()), aligned(matmul.weights.get_size()),
              aligned(matmul.destination.get_size())};
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
    return core::Done{};
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

  static Primitive product(const KernelRequest& request, const Labels& labels,
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
    if (order == tensor.labels) return std::nullopt;
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
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_einsum_kernel(const KernelRequest& request) {
  if (request.op() != "einsum") return not_mine();
  if (!request.all_floats()) return refuse("einsum: elements are not f32");
  if (!request.row_major()) return refuse("einsum: not row-major");
  if (!request.has_elements()) return refuse("einsum: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("einsum: has no epilogue");
  const auto equation = *ops::EinsumEquation::parse(request.attributes().get_text("equation"));
  const auto labels = labels_of(equation);
  if (!labels) return refuse("einsum: not a product of two matrices");
  return guarded([&]() -> core::Result<std::unique_ptr<runtime::HostKernel>> {
    return std::unique_ptr<runtime::HostKernel>(
        std::make_unique<EinsumKernel>(request, *labels, equation));
  });
}

}  // namespace soapstone::cpu
