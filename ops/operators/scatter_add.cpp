// `scatter_add`: updates added to elements that other values number. As in ONNX, an index from −n
// to −1 counts from the end, and one outside of [−n, n) is an error. It is read by
// composites/onnx_selections.cpp.
#include <fmt/format.h>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::DataType;

std::vector<TensorType> infer_scatter_add(InferContext& c) {
  const DataType type = c.input(1).data_type;
  if (!require_elements(c, "scatter_add", Elements::kArithmetic) ||
      !c.require(type == DataType::kInt64 || type == DataType::kInt32, "scatter_add.index_type",
                 "indices must have elements of type i64 or i32") ||
      !c.require(c.input(2).data_type == c.input(0).data_type, "scatter_add.update_type",
                 "updates must be of the type of the data"))
    return {};
  const auto axis = require_axis(c, "scatter_add", c.rank(0));
  if (!axis || !c.require(c.rank(1) == c.rank(0) && c.rank(2) == c.rank(0), "scatter_add.rank",
                          "indices and updates must have as many dimensions as the data"))
    return {};
  for (std::size_t d = 0; d < c.rank(0); ++d)
    if (!c.require_equal(c.shape(2)[d], c.shape(1)[d], "scatter_add.shape") ||
        (d != *axis && !c.require_at_least(c.shape(0)[d], c.shape(1)[d], "scatter_add.shape")))
      return {};
  return {c.input(0)};
}

/// Each element has the sum over the updates along its line whose place it is. Lines without
/// updates are the data alone.
Semantics scatter_add_semantics(const OpInstance& op) {
  SemanticsBuilder builder(3);
  const Shape &data = op.inputs[0].shape, &indices = op.inputs[1].shape;
  const std::size_t axis = axis_of(op.attributes);
  const auto place =
      builder.stage(indices, [&](const Index& i) { return wrapped_index(read(1, i), data[axis]); });
  builder.require(
      "index", indices, [](const Index& i) { return read(1, i); }, -1 * data[axis], data[axis]);
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    std::vector<Constraint> has_updates;
    for (std::size_t d = 0; d < data.size(); ++d)
      if (d != axis && data[d] != indices[d]) has_updates.push_back(less(i[d], indices[d]));
    Expr added = builder.sum_over(indices[axis], [&](const Polynomial& v) {
      Index update = i;
      update[axis] = v;
      return apply(Function::kEqual, {read(place, update), index_value(i[axis])}) * read(2, update);
    });
    if (!has_updates.empty()) added = guard(std::move(has_updates), std::move(added));
    return read(0, i) + added;
  });
  return std::move(builder).finish();
}

core::Status write_scatter_add(OnnxExport& out) {
  if (out.opset() < 16) return cannot_write(out, "ScatterElements adds nothing there");
  out.emit_same("ScatterElements", {{"axis", out.node().attributes.get_int("axis")},
                                    {"reduction", std::string("add")}});
  return core::Done{};
}

}  // namespace

std::vector<OpDefinition> scatter_add_ops() {
  return {OpDefinition({
      .name = "scatter_add",
      .equation =
          "data[a…,s,b…] indices[i…,w,k…] updates[i…,w,k…] → y = data, and "
          "y[i…,j,k…] = data[i…,j,k…] + Σ over v with indices[i…,v,k…] = j of updates[i…,v,k…]",
      .attributes = std::vector{axis_attribute()},
      .inputs = Arity(3, 3),
      .op_class = OpClass::kReduction,
      .operands = {OperandRole::kData, OperandRole::kIndices, OperandRole::kData},
      .infer = infer_scatter_add,
      .semantics = scatter_add_semantics,
      .onnx = OnnxMapping{{}, write_scatter_add},
  })};
}

}  // namespace soapstone::ops
