// Matrix products by oneDNN. Leading dimensions are merged as far as they can be: into the rows
// where the second matrix has none, so that its values are read once; else into one batch.
#include "cpu/primitives/contraction_kernel.h"

namespace soapstone::cpu {
namespace {

using core::Dims;
using core::TensorId;
using runtime::Layout;

struct Shapes {
  Dims a, b, result;
};

Dims with_rank(Dims dims, std::size_t rank) {
  dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

Shapes merged(Dims a, Dims b, Dims result) {
  const std::size_t rank = result.size(), batch = rank - 2;
  a = with_rank(std::move(a), rank);
  b = with_rank(std::move(b), rank);
  const std::int64_t m = result[batch], n = result[batch + 1], k = a[batch + 1];
  if (product(b, 0, batch) == 1) {
    const std::int64_t rows = product(a, 0, batch + 1);
    return {{rows, k}, {k, n}, {rows, n}};
  }
  const std::int64_t count = product(result, 0, batch);
  const std::int64_t count_a = product(a, 0, batch), count_b = product(b, 0, batch);
  if ((count_a == count || count_a == 1) && count_b == count)
    return {{count_a, m, k}, {count, k, n}, {count, m, n}};
  return {std::move(a), std::move(b), std::move(result)};
}

core::Result<std::unique_ptr<runtime::HostKernel>>
make_matmul_launch(const KernelRequest& request) {
  const TensorId a = request.head_input(0), b = request.head_input(1);
  const Shapes shapes =
      merged(request.dims(a), request.dims(b), request.dims(request.launch.outputs[0]));
  const std::size_t rank = shapes.result.size();
  const bool one_matrix = rank == 2;
  if (request.factors == core::DataType::kInt8 && !one_matrix)
    return refuse("matmul: int8, and a batch of second factors");
  SOAPSTONE_ASSIGN_OR_RETURN(const Factors factors,
                             Factors::make(request, b, request.dims(b).size() - 1));
  const Epilogue epilogue(request, TensorId::none(), shapes.result, rank - 1);
  dnnl::primitive_attr attributes = plain_attributes();
  attributes.set_post_ops(epilogue.steps());
  factors.scale_sums(attributes, 1);
  std::optional<Descriptor> bias;
  if (epilogue.bias()) {
    Dims dims(rank, 1);
    dims.back() = shapes.result.back();
    bias = describe(dims, Layout::kRowMajor);
  }
  // Only a constant is worth packing: packing reads and writes what is then read once.
  const bool packs = one_matrix && request.constant(b) != nullptr;
  const Descriptor given_a = describe(shapes.a, Layout::kRowMajor),
                   given_b = describe(shapes.b, Layout::kRowMajor);
  const Contraction contraction{
      a,
      b,
      given_a,
      given_b,
      bias,
      make_matmul(request.engine, factors.source(given_a),
                  factors.weights(packs ? describe_any(shapes.b) : given_b), bias,
                  describe(shapes.result, Layout::kRowMajor), attributes, factors.avoided()),
      factors};
  return make_contraction(request, contraction, epilogue);
}

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_matmul_kernel(const KernelRequest& request) {
  if (request.op() != "matmul") return not_mine();
  if (!request.all_floats()) return refuse("matmul: elements are not f32");
  if (!request.row_major()) return refuse("matmul: not row-major");
  if (!request.has_elements()) return refuse("matmul: an empty tensor");
  return guarded([&] { return make_matmul_launch(request); });
}

}  // namespace soapstone::cpu
