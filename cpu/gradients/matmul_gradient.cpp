// Gradients of matrix products by oneDNN, which reads matrices transposed as they lie.
#include "core/base/check.h"
#include "cpu/primitives/contraction_kernel.h"
#include "ops/gradients/gradient_operator.h"

namespace soapstone::cpu {
namespace {

using core::Dims;
using core::TensorId;

/// The sizes of a product of `count` pairs of matrices, [m, k] and [k, n].
struct ProductSizes {
  std::int64_t count, m, k, n;
};

/// Leading dimensions are rows where all samples share the second matrix, else pairs. None: one
/// matrix of the first factor meets several of the second.
std::optional<ProductSizes> product_sizes(const Dims& a, const Dims& b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const std::int64_t k = a.back(), n = b.back();
  if (b.size() == 2) return ProductSizes{1, product(a, 0, a.size() - 1), k, n};
  if (!std::equal(a.begin(), a.end() - 2, b.begin(), b.end() - 2)) return std::nullopt;
  return ProductSizes{product(a, 0, a.size() - 2), a[a.size() - 2], k, n};
}

/// Matrices one behind the other, each as it lies or transposed; of one matrix two dimensions.
Descriptor matrices(std::int64_t count, std::int64_t rows, std::int64_t columns,
                    bool is_transposed) {
  Dims dims = {count, rows, columns};
  Dims strides = {rows * columns, is_transposed ? 1 : columns, is_transposed ? rows : 1};
  if (count == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  return describe(dims, strides);
}

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_matmul_gradient(const KernelRequest& request) {
  if (request.op() != ops::gradient_name("matmul")) return not_mine();
  if (!request.all_floats()) return refuse("gradient of a matmul: elements are not f32");
  if (!request.row_major()) return refuse("gradient of a matmul: not row-major");
  if (!request.has_elements()) return refuse("gradient of a matmul: an empty tensor");
  if (request.factors == core::DataType::kInt8) return refuse("gradient of a matmul: int8");
  const auto forward = ops::gradient_of(request.graph, request.launch.head);
  CHECK(forward.has_value(), "the gradient of a matmul");
  const auto sizes =
      product_sizes(runtime::dims_of(forward->inputs[0]), runtime::dims_of(forward->inputs[1]));
  if (!sizes) return refuse("gradient of a matmul: matrices are repeated");
  const auto [count, m, k, n] = *sizes;
  // dA = D·Bᵀ, dB = Aᵀ·D.
  const bool by_left = forward->input == 0;
  const TensorId cotangent = request.head().inputs.back();
  const TensorId left = by_left ? cotangent : request.head_input(0);
  const TensorId right = by_left ? request.head_input(1) : cotangent;
  const Descriptor given_left = matrices(count, by_left ? m : k, by_left ? n : m, !by_left);
  const Descriptor given_right = matrices(count, by_left ? n : m, by_left ? k : n, by_left);
  const Descriptor result = matrices(count, by_left ? m : k, by_left ? k : n, false);
  return guarded([&]() -> core::Result<std::unique_ptr<runtime::HostKernel>> {
    SOAPSTONE_ASSIGN_OR_RETURN(const Factors factors, Factors::make(request, right, 1));
    const Epilogue epilogue(request, TensorId::none(), result.dims(), result.dims().size() - 1);
    dnnl::primitive_attr attributes = plain_attributes();
    attributes.set_post_ops(epilogue.steps());
    std::optional<Descriptor> bias;
    if (epilogue.bias()) {
      Dims dims(result.dims().size(), 1);
      dims.back() = result.dims().back();
      bias = describe(dims, runtime::Layout::kRowMajor);
    }
    const Contraction contraction{left,
                                  right,
                                  given_left,
                                  given_right,
                                  bias,
                                  make_matmul(request.engine, factors.source(given_left),
                                              factors.weights(given_right), bias, result,
                                              attributes, factors.avoided()),
                                  factors};
    return make_contraction(request, contraction, epilogue);
  });
}

}  // namespace soapstone::cpu
