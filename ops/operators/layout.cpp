// Operators that only say where an element is found: transpose, reshape, expand. The other layout
// operators are in joining.cpp, slice.cpp, padding.cpp and gather.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"
namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::AttributeSchema;

// --- transpose ----------------------------------------------------------------------------------

std::vector<TensorType> infer_transpose(InferContext& c) {
  const auto perm = require_ints(c, "transpose", "perm");
  if (!perm || !require_elements(c, "transpose", Elements::kNumbers)) return {};
  std::vector<std::int64_t> sorted = *perm;
  std::ranges::sort(sorted);
  bool is_permutation = sorted.size() == c.rank(0);
  for (std::size_t d = 0; d < sorted.size(); ++d)
    is_permutation &= sorted[d] == static_cast<std::int64_t>(d);
  if (!c.require(is_permutation, "transpose.perm",
                 fmt::format("perm must have each of the {} dimensions once", c.rank(0))))
    return {};
  Shape result;
  for (std::int64_t d : *perm) result.push_back(c.shape(0)[static_cast<std::size_t>(d)]);
  return {{c.input(0).data_type, std::move(result)}};
}

Semantics transpose_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const std::vector<std::int64_t> perm = op.attributes.get_ints("perm");
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    Index source(perm.size());
    for (std::size_t d = 0; d < perm.size(); ++d) source[static_cast<std::size_t>(perm[d])] = i[d];
    return read(0, std::move(source));
  });
  return std::move(builder).finish();
}

ReadResult read_transpose(OnnxImport& import) {
  std::vector<std::int64_t> reversed;
  for (std::size_t d = input_dims(import, 0).size(); d-- > 0;)
    reversed.push_back(static_cast<std::int64_t>(d));
  const auto perm = import.ints("perm").value_or(reversed);
  return import.append("transpose", {import.input(0)}, {{"perm", to_sizes(perm)}});
}

core::Status write_transpose(OnnxExport& out) {
  out.emit_same("Transpose", {{"perm", out.node().attributes.get_ints("perm")}});
  return core::Done{};
}

OpDefinition transpose() {
  return OpDefinition({
      .name = "transpose",
      .equation = "x[…] → y[…] = x with dimension perm[d] as dimension d",
      .attributes = std::vector<AttributeSchema>{{"perm",
                                                  AttributeRole::kPermutation,
                                                  std::nullopt,
                                                  {Sizes{1, 0}, Sizes{0, 2, 1}, Sizes{1, 0, 2}}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kMovement,
      .movement = Movement::kPermute,
      .infer = infer_transpose,
      .semantics = transpose_semantics,
      .onnx =
          OnnxMapping{{reader("Transpose", Elements::kNumbers, read_transpose)}, write_transpose},
  });
}

// --- reshape ------------------------------------------------------------------------------------

bool require_shape(InferContext& c, std::string_view op) {
  for (const Polynomial& size : c.attributes().get_sizes("shape"))
    if (!c.require_at_least(size, 0, label(op, "shape"))) return false;
  return true;
}

std::vector<TensorType> infer_reshape(InferContext& c) {
  const Shape& shape = c.attributes().get_sizes("shape");
  const auto before = checked_product(c.shape(0)), after = checked_product(shape);
  if (!require_elements(c, "reshape", Elements::kNumbers) || !require_shape(c, "reshape") ||
      !c.require(before && after, "reshape.element_count", "too many elements") ||
      !c.require_equal(*before, *after, "reshape.element_count"))
    return {};
  return {{c.input(0).data_type, shape}};
}

Semantics reshape_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Shape& shape = op.outputs[0].shape;
  builder.output(shape, [&](const Index& i) { return read_flat(0, flat_position(shape, i)); });
  return std::move(builder).finish();
}

/// 0 copies a size (unless allowzero says that it is one), −1 is what remains.
ReadResult read_reshape(OnnxImport& import) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto given, import.ints_or_input("shape", 1));
  if (!given) return bad_node(import, "it has no shape");
  core::Dims x = input_dims(import, 0), shape = *given;
  const bool zero_copies = import.int_or("allowzero", 0) == 0;
  std::int64_t known = 1;
  std::optional<std::size_t> inferred;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && zero_copies) {
      if (d >= x.size()) return bad_node(import, "0 in the shape, but no such input dimension");
      shape[d] = x[d];
    }
    if (shape[d] < -1 || (shape[d] == -1 && inferred))
      return bad_node(import, "the shape has a negative size");
    if (shape[d] == -1)
      inferred = d;
    else if (__builtin_mul_overflow(known, shape[d], &known))
      return bad_node(import, "the shape has too many elements");
  }
  const std::int64_t count = core::element_count(x);
  if (inferred) {
    if (known == 0 || count % known != 0)
      return bad_node(import, fmt::format("{} elements do not fill the shape", count));
    shape[*inferred] = count / known;
  }
  if (shape == x) return std::vector{import.input(0)};
  return import.append("reshape", {import.input(0)}, {{"shape", to_sizes(shape)}});
}

core::Status write_reshape(OnnxExport& out) {
  Emitter emitter(out);
  emitter.reshape(emitter.input(0), emitter.attributes().get_ints("shape"), true);
  return core::Done{};
}

OpDefinition reshape() {
  return OpDefinition({
      .name = "reshape",
      .equation = "x[…] → y[shape] = the elements of x in row-major order",
      .attributes =
          std::vector<AttributeSchema>{{"shape", AttributeRole::kShape, std::nullopt, {}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kView,
      .movement = Movement::kReshape,
      .infer = infer_reshape,
      .semantics = reshape_semantics,
      .onnx = OnnxMapping{{reader("Reshape", Elements::kNumbers, read_reshape)}, write_reshape},
  });
}

// --- expand -------------------------------------------------------------------------------------

std::vector<TensorType> infer_expand(InferContext& c) {
  const Shape& shape = c.attributes().get_sizes("shape");
  if (!require_elements(c, "expand", Elements::kNumbers) || !require_shape(c, "expand") ||
      !require_broadcasts_to(c, "expand", "broadcast", c.shape(0), shape))
    return {};
  return {{c.input(0).data_type, shape}};
}

Semantics expand_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  builder.output(op.outputs[0].shape,
                 [&](const Index& i) { return read_broadcast(0, op.inputs[0].shape, i); });
  return std::move(builder).finish();
}

/// In ONNX the input may also stretch the shape.
ReadResult read_expand(OnnxImport& import) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto given, import.ints_or_input("shape", 1));
  if (!given) return bad_node(import, "it has no shape");
  const core::Dims x = input_dims(import, 0);
  core::Dims shape = *given;
  if (shape.size() < x.size()) shape.insert(shape.begin(), x.size() - shape.size(), 1);
  const std::size_t lead = shape.size() - x.size();
  for (std::size_t d = 0; d < x.size(); ++d)
    if (shape[lead + d] == 1) shape[lead + d] = x[d];
  if (shape == x) return std::vector{import.input(0)};
  return import.append("expand", {import.input(0)}, {{"shape", to_sizes(shape)}});
}

core::Status write_expand(OnnxExport& out) {
  Emitter emitter(out);
  emitter.expand(emitter.operand(0), emitter.attributes().get_ints("shape"), true);
  return core::Done{};
}

OpDefinition expand() {
  return OpDefinition({
      .name = "expand",
      .equation = "x[…] → y[shape] = x, dimensions of size 1 repeated",
      .attributes =
          std::vector<AttributeSchema>{{"shape", AttributeRole::kShape, std::nullopt, {}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kMovement,
      .movement = Movement::kRepeat,
      .infer = infer_expand,
      .semantics = expand_semantics,
      .onnx = OnnxMapping{{reader("Expand", Elements::kNumbers, read_expand)}, write_expand},
  });
}

}  // namespace

std::vector<OpDefinition> layout_ops() { return {transpose(), reshape(), expand()}; }

}  // namespace soapstone::ops
