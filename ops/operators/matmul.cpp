// Matrix product with NumPy broadcasting of the leading dimensions. ONNX's products of vectors are
// read through reshapes, so that rules see one form only.
#include <algorithm>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

std::vector<TensorType> infer_matmul(InferContext& c) {
  if (!require_one_type(c, "matmul", Elements::kArithmetic) ||
      !c.require(c.rank(0) >= 2 && c.rank(1) >= 2, "matmul.rank",
                 "both operands must have two dimensions or more"))
    return {};
  const Shape &a = c.shape(0), &b = c.shape(1);
  if (!c.require_equal(a.back(), b[b.size() - 2], "matmul.contraction")) return {};
  Shape result = c.broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2}, "matmul.batch");
  if (c.failed()) return {};
  result.push_back(a[a.size() - 2]);
  result.push_back(b.back());
  return {{c.input(0).data_type, std::move(result)}};
}

/// The element [row, column] of the matrix of `input` that belongs to output element i.
Expr matrix_element(std::uint32_t tensor, const Shape& input, const Index& i, Polynomial row,
                    Polynomial column) {
  const Shape batch(input.begin(), input.end() - 2);
  Index index = broadcast_index(batch, Index(i.begin(), i.end() - 2));
  index.push_back(std::move(row));
  index.push_back(std::move(column));
  return read(tensor, std::move(index));
}

Semantics matmul_semantics(const OpInstance& op) {
  SemanticsBuilder builder(2);
  const Shape &a = op.inputs[0].shape, &b = op.inputs[1].shape;
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    return builder.sum_over(a.back(), [&](const Polynomial& k) {
      return matrix_element(0, a, i, i[i.size() - 2], k) * matrix_element(1, b, i, k, i.back());
    });
  });
  return std::move(builder).finish();
}

ReadResult read_matmul(OnnxImport& import) {
  Composer compose(import);
  TensorId a = import.input(0), b = import.input(1);
  const core::Dims a_dims = compose.dims(a), b_dims = compose.dims(b);
  if (a_dims.empty() || b_dims.empty()) return bad_node(import, "an operand is a scalar");
  const bool row = a_dims.size() == 1, column = b_dims.size() == 1;
  if (row) a = compose.reshape(a, {1, a_dims[0]});
  if (column) b = compose.reshape(b, {b_dims[0], 1});
  const TensorId product = compose.append("matmul", {a, b});
  core::Dims result = compose.dims(product);
  if (column && !result.empty()) result.pop_back();
  if (row && !result.empty()) result.erase(result.end() - (column ? 1 : 2));
  return compose.finish(compose.reshape(product, result));
}

OpDefinition matmul() {
  return OpDefinition({
      .name = "matmul",
      .equation = "a[…,m,k] b[…,k,n] → y[…,m,n] = Σ over k of a[…,m,k]·b[…,k,n]",
      .attributes = std::vector<core::AttributeSchema>{},
      .inputs = Arity(2, 2),
      .op_class = OpClass::kContraction,
      .operands = {OperandRole::kLeftMatrix, OperandRole::kRightMatrix},
      .infer = infer_matmul,
      .semantics = matmul_semantics,
      .onnx =
          OnnxMapping{{reader("MatMul", Elements::kArithmetic, read_matmul)}, write_same("MatMul")},
  });
}

}  // namespace

std::vector<OpDefinition> matmul_ops() { return {matmul()}; }

}  // namespace soapstone::ops
