// See library_fit.h.
#include "gpu/kernels/library_fit.h"

#include <algorithm>

#include "gpu/forms/matrix_product.h"
#include "gpu/forms/operation_graph.h"
#include "gpu/forms/pointwise.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::make_region;

/// A factor that is the same for several batches would be read again for each.
bool repeats_a_factor(const Product& product) {
  return std::ranges::any_of(
      product.batch, [](const ProductLoop& loop) { return loop.left == 0 || loop.right == 0; });
}

/// The product without the function that the root is of another node, if it is one.
std::optional<Product> without_function(const Product& product) {
  const auto argument = sole_argument(product.expression, product.expression.root());
  if (!argument || *argument < product.sum) return std::nullopt;
  Product inner = product;
  inner.expression.nodes.resize(*argument + 1);
  return inner;
}

bool fits_product(const Region& region, const Product& product) {
  if (matrix_product_of(region, product)) return true;
  if (const auto inner = without_function(product))
    if (matrix_product_of(region, *inner)) return true;
  return false;
}

bool fits_convolution(const OperationGraph& graph) {
  if (graph.operations[0].kind != Operation::Kind::kConvolution) return false;
  return std::all_of(graph.operations.begin() + 1, graph.operations.end(), [](const Operation& o) {
    return o.pointwise == Pointwise::kAdd || o.inputs.size() == 1;
  });
}

}  // namespace

bool fits_libraries(const core::Graph& graph, std::span<const core::NodeId> nodes,
                    std::span<const core::TensorId> outputs) {
  if (outputs.size() != 1) return false;
  const auto region = make_region(graph, nodes, outputs);
  if (!region) return false;
  const core::Dims dims = runtime::dims_of(graph.tensor(outputs[0]).type);
  if (const auto product = product_of(*region, dims))
    if (!repeats_a_factor(*product) && fits_product(*region, *product)) return true;
  const auto operations = operation_graph_of(graph, nodes, outputs);
  return operations && fits_convolution(*operations);
}

}  // namespace soapstone::gpu
