// Einsums of two operands as one batched matrix product: both are packed into [batch, m, k] and
// [batch, k, n], and the result is unpacked, where their dimensions do not lie so already. What
// stands behind the einsum is done to the product before it is unpacked.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "cpu/base/threads.h"
#include "cpu/primitives/contraction_kernel.h"
#include "cpu/primitives/strided_copy.h"
#include "runtime/launches/einsum_product.h"

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

/// The sizes and strides of an einsum's tensors, and the product that it comes to.
class EinsumForm {
 public:
  EinsumForm(const KernelRequest& request, const runtime::EinsumProduct& product)
      : product_(product), a_{product.equation().operands[0], request.dims(request.head_input(0))},
        b_{product.equation().operands[1], request.dims(request.head_input(1))},
        y_{product.equation().result, request.dims(request.launch.outputs[0])} {
    const ops::ProductLabels& labels = product.labels();
    batch_ = core::element_count(a_.sizes(labels.batch));
    rows_ = core::element_count(a_.sizes(labels.rows));
    columns_ = core::element_count(b_.sizes(labels.columns));
    summed_ = core::element_count(a_.sizes(labels.summed));
  }

  Dims source() const { return {batch_, rows_, summed_}; }
  Dims weights() const { return {batch_, summed_, columns_}; }
  Dims result() const { return {batch_, rows_, columns_}; }

  /// The sizes of an operand behind the product.
  Dims view(const KernelRequest& request, const runtime::EpilogueStep& step) const {
    const auto spread = product_.spread(request.type(step.operand).shape,
                                        request.type(request.launch.outputs[0]).shape);
    CHECK(spread, "the fusion rules admit an operand that the product cannot read");
    return {spread->batch ? batch_ : 1, spread->rows ? rows_ : 1, spread->columns ? columns_ : 1};
  }

  /// Of both operands into their packed forms, and of the result from its own. None: it lies so.
  std::array<std::optional<StridedCopy>, 3> packing(const dnnl::engine& engine) const {
    const ops::ProductLabels& labels = product_.labels();
    return {copy(a_, labels.batch + labels.rows + labels.summed, true, engine),
            copy(b_, labels.batch + labels.summed + labels.columns, true, engine),
            copy(y_, labels.in_order(), false, engine)};
  }

 private:
  static std::optional<StridedCopy> copy(const LabeledTensor& tensor, const std::string& order,
                                         bool to_packed, const dnnl::engine& engine) {
    if (tensor.lies_in(order)) return std::nullopt;
    const Dims sizes = tensor.sizes(order), strides = tensor.strides(order);
    const Dims dense = runtime::strides_of(sizes, runtime::Layout::kRowMajor);
    return StridedCopy({sizes, to_packed ? strides : dense, to_packed ? dense : strides},
                       sizeof(float), engine);
  }

  const runtime::EinsumProduct& product_;
  LabeledTensor a_, b_, y_;
  std::int64_t batch_ = 1, rows_ = 1, columns_ = 1, summed_ = 1;
};

Primitive product_primitive(const KernelRequest& request, const EinsumForm& form,
                            const Epilogue& epilogue) {
  dnnl::primitive_attr attributes = plain_attributes();
  attributes.set_post_ops(epilogue.steps());
  std::optional<Descriptor> bias;
  if (epilogue.bias()) bias = describe({1, 1, form.result()[2]}, runtime::Layout::kRowMajor);
  const auto dense = [](const Dims& dims) { return describe(dims, runtime::Layout::kRowMajor); };
  return make_matmul(request.engine, dense(form.source()), dense(form.weights()), bias,
                     dense(form.result()), attributes);
}

class EinsumKernel final : public runtime::HostKernel {
 public:
  EinsumKernel(const KernelRequest& request, const EinsumForm& form, const Epilogue& epilogue)
      : stream_(request.stream), threads_(request.threads), inputs_(request),
        primitive_(request.engine, product_primitive(request, form, epilogue)),
        packing_(form.packing(request.engine)), residual_(epilogue.residual()),
        in_place_(contraction_in_place_input(request.graph, request.launch)),
        output_bytes_(runtime::storage_bytes(request.output_type())),
        watch_(may_lose_nan(request.launch), request.threads) {
    const Primitive& matmul = primitive_.primitive();
    factors_ = {primitive_.add(DNNL_ARG_SRC, matmul.source),
                primitive_.add(DNNL_ARG_WEIGHTS, matmul.weights)};
    numbers_ = {request.number(request.head_input(0)), request.number(request.head_input(1))};
    destination_ = primitive_.add(DNNL_ARG_DST, matmul.destination);
    bytes_ = {aligned(matmul.source.get_size()), aligned(matmul.weights.get_size()),
              aligned(matmul.destination.get_size())};
    if (epilogue.bias()) {
      const Descriptor bias = describe({1, 1, form.result()[2]}, runtime::Layout::kRowMajor);
      behind_.push_back({primitive_.add(DNNL_ARG_BIAS, bias), request.number(*epilogue.bias())});
    }
    for (const Epilogue::Operand& operand : epilogue.operands())
      behind_.push_back({primitive_.add(operand.argument, operand.descriptor), operand.input});
    if (in_place_ && inputs_.is_constant(*in_place_)) in_place_.reset();
    CHECK(!residual_ || !packing_[2], "a residual behind a product that does not lie like it");
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override {
    use_threads(threads_);
    std::array<std::byte*, 3> packed{};
    for (std::size_t k = 0; k < packed.size(); ++k)
      if (packing_[k]) packed[k] = std::exchange(scratch, scratch + bytes_[k]);
    for (std::size_t k = 0; k < factors_.size(); ++k) {
      const std::byte* given = inputs_.find(numbers_[k], inputs);
      if (packing_[k]) packing_[k]->run(given, packed[k], stream_, threads_, scratch);
      primitive_.set(factors_[k], packing_[k] ? packed[k] : given);
    }
    for (const Operand& operand : behind_)
      primitive_.set(operand.argument, inputs_.find(operand.input, inputs));
    if (residual_) {
      const std::byte* residual = inputs_.find(*residual_, inputs);
      if (residual != outputs[0]) std::memcpy(outputs[0], residual, output_bytes_);
    }
    primitive_.set(destination_, packing_[2] ? packed[2] : outputs[0]);
    watch_.run([&] { primitive_.run(stream_, scratch); });
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
  std::optional<std::size_t> in_place_input() const override { return in_place_; }
  std::string implementation() const override { return primitive_.implementation(); }
  bool may_have_lost_nan() const override { return watch_.found(); }

 private:
  struct Operand {
    std::size_t argument, input;
  };

  const dnnl::stream& stream_;
  int threads_;
  Inputs inputs_;
  BoundPrimitive primitive_;
  std::array<std::optional<StridedCopy>, 3> packing_;  // of both operands and the result
  std::array<std::size_t, 3> bytes_{};
  std::array<std::size_t, 2> factors_{}, numbers_{};
  std::size_t destination_ = 0;
  std::vector<Operand> behind_;
  // The result is added to what lies in the destination.
  std::optional<std::size_t> residual_, in_place_;
  std::size_t output_bytes_;
  NanWatch watch_;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_einsum_kernel(const KernelRequest& request) {
  if (request.op() != "einsum") return not_mine();
  if (!request.all_floats()) return refuse("einsum: elements are not f32");
  if (!request.row_major()) return refuse("einsum: not row-major");
  if (!request.has_elements()) return refuse("einsum: an empty tensor");
  const auto product = runtime::EinsumProduct::of(request.head());
  if (!product) return refuse("einsum: not a product of two matrices");
  return guarded([&]() -> core::Result<std::unique_ptr<runtime::HostKernel>> {
    const EinsumForm form(request, *product);
    const Epilogue epilogue(request, form.result(), [&](const runtime::EpilogueStep& step) {
      return form.view(request, step);
    });
    return std::unique_ptr<runtime::HostKernel>(
        std::make_unique<EinsumKernel>(request, form, epilogue));
  });
}

}  // namespace soapstone::cpu
