// See operation_graph.h.
#include "gpu/forms/operation_graph.h"

#include <algorithm>

#include "gpu/forms/attention.h"
#include "gpu/forms/operation_heads.h"
#include "gpu/forms/pointwise.h"
#include "gpu/forms/product.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::IndexSpace;
using runtime::generated::make_region;

using core::TensorId;
using ops::evaluation::NodeKind;

bool is_row_major(const TensorLayouts& layouts) {
  return std::ranges::all_of(
      layouts, [](const auto& entry) { return entry.second == runtime::Layout::kRowMajor; });
}

/// The tensor of the graph that the launch leaves.
void finish(OperationGraph& graph, std::uint32_t tensor, TensorId id) {
  graph.tensors[tensor].id = id;
  graph.tensors[tensor].is_result = true;
}

// --- products -----------------------------------------------------------------------------------

struct ProductShape {
  core::Dims dims, strides;

  void add(std::int64_t size, std::int64_t stride) {
    dims.push_back(stride == 0 ? 1 : size);
    strides.push_back(stride == 0 ? 1 : stride);
  }
};

std::uint32_t add_factor(OperationDraft& draft, const Region& region, std::uint32_t tensor,
                         std::int64_t offset, ProductShape shape) {
  return draft.add({region.tensors[tensor].id,
                    region.tensors[tensor].data_type,
                    std::move(shape.dims),
                    std::move(shape.strides),
                    offset,
                    {},
                    false});
}

core::Result<OperationGraph> graph_of_product(const core::Graph& graph, const Region& region,
                                              const Product& product, TensorId output) {
  const TensorLayouts none;
  OperationDraft draft(graph, none);
  std::vector<ProductLoop> batch = product.batch;
  if (batch.empty()) batch.push_back({});  // libraries expect one
  ProductShape left, right, result;
  std::vector<FlatLoop> axes;
  for (const ProductLoop& loop : batch) {
    left.add(loop.size, loop.left);
    right.add(loop.size, loop.right);
    result.add(loop.size, loop.result);
    axes.push_back({loop.variable, loop.size});
  }
  left.add(product.row.size, product.row.left);
  left.add(product.summed.size, product.summed.left);
  right.add(product.summed.size, product.summed.right);
  right.add(product.column.size, product.column.right);
  for (const ProductLoop& loop : {product.row, product.column}) {
    result.add(loop.size, loop.result);
    axes.push_back({loop.variable, loop.size});
  }
  const core::DataType type = graph.tensor(output).type.data_type;
  Operation operation;
  operation.kind = Operation::Kind::kProduct;
  operation.inputs = {
      add_factor(draft, region, product.left, product.left_offset, std::move(left)),
      add_factor(draft, region, product.right, product.right_offset, std::move(right))};
  operation.output = draft.add_virtual(type, result.dims, result.strides);
  draft.add(operation);
  std::uint32_t sum = operation.output;
  if (product.scale != 1) {
    Operation scale;
    scale.pointwise = Pointwise::kMultiply;
    scale.inputs = {sum, draft.add_number(product.scale, axes.size())};
    sum = scale.output = draft.add_virtual(type, result.dims, result.strides);
    draft.add(std::move(scale));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const std::uint32_t root,
                             append_pointwise(draft, {region,
                                                      product.expression,
                                                      std::move(axes),
                                                      result.strides,
                                                      type,
                                                      {{product.sum, sum}}}));
  finish(draft.result(), root, output);
  return std::move(draft.result());
}

// --- other heads --------------------------------------------------------------------------------

/// The dimensions of the tensor, with those of size 1 that the head put in.
std::vector<FlatLoop> axes_of(const FlatExpression& expression, const core::Dims& dims) {
  std::vector<FlatLoop> axes = expression.axes;
  if (axes.size() + 1 == dims.size()) axes.insert(axes.begin() + 2, FlatLoop{~0u, 1});
  return axes;
}

core::Result<std::uint32_t> append_behind_head(OperationDraft& draft,
                                               std::span<const core::NodeId> rest, TensorId head,
                                               std::uint32_t tensor, TensorId output) {
  const core::Graph& graph = draft.graph();
  const TensorId list[] = {output};
  SOAPSTONE_ASSIGN_OR_RETURN(const Region region, make_region(graph, rest, list));
  const core::TensorType& type = graph.tensor(output).type;
  const core::Dims dims = runtime::dims_of(type);
  const GraphTensor like = draft.result().tensors[tensor];
  if (type != graph.tensor(head).type || region.outputs.size() != 1)
    return core::unsupported("a result of another shape than its head");
  SOAPSTONE_ASSIGN_OR_RETURN(const FlatExpression expression,
                             flatten(region, region.outputs[0], dims));
  std::vector<FlatLoop> axes = axes_of(expression, like.dims);
  if (axes.size() != like.dims.size() ||
      core::element_count(like.dims) != core::element_count(dims))
    return core::unsupported("a head in another shape");
  const Affine whole = position_of_element(expression.axes);
  PointwiseRequest request{region, expression, std::move(axes), like.strides, type.data_type, {}};
  for (std::size_t k = 0; k < expression.nodes.size(); ++k) {
    const FlatNode& node = expression.nodes[k];
    if (node.kind != NodeKind::kRead || region.tensors[node.tensor].id != head) continue;
    if (node.position == whole) request.available.emplace(k, tensor);
  }
  if (request.available.empty()) return core::unsupported("the head is read elsewhere");
  return append_pointwise(draft, std::move(request));
}

core::Result<OperationGraph> graph_behind_head(const core::Graph& graph,
                                               std::span<const core::NodeId> nodes, TensorId output,
                                               const TensorLayouts& layouts) {
  // What the head leaves lies as the result does.
  const TensorId result = graph.node(nodes[0]).outputs[0];
  TensorLayouts all = layouts;
  if (const auto layout = layouts.find(output); layout != layouts.end())
    all[result] = layout->second;
  OperationDraft draft(graph, all);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::uint32_t head, append_head(draft, nodes[0]));
  std::uint32_t root = head;
  if (nodes.size() > 1) {
    SOAPSTONE_ASSIGN_OR_RETURN(root,
                               append_behind_head(draft, nodes.subspan(1), result, head, output));
  }
  finish(draft.result(), root, output);
  return std::move(draft.result());
}

}  // namespace

core::Result<OperationGraph> operation_graph_of(const core::Graph& graph,
                                                std::span<const core::NodeId> nodes,
                                                std::span<const TensorId> outputs,
                                                const TensorLayouts& layouts) {
  if (outputs.size() != 1) return core::unsupported("several results");
  SOAPSTONE_ASSIGN_OR_RETURN(const Region region, make_region(graph, nodes, outputs));
  if (std::ranges::any_of(region.tensors, [](const auto& t) { return t.elements == 0; }))
    return core::unsupported("a tensor without elements");
  auto operations = graph_behind_head(graph, nodes, outputs[0], layouts);
  if (operations || !is_row_major(layouts)) return operations;
  const auto product = product_of(region, runtime::dims_of(graph.tensor(outputs[0]).type));
  if (product) return graph_of_product(graph, region, *product, outputs[0]);
  const auto attention = attention_of(graph, region);
  return attention ? operations_of(*attention) : operations;
}

}  // namespace soapstone::gpu
