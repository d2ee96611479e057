// Constants of a shape that a rule may leave symbolic: `full`, one value at every place, and `eye`,
// which changes nothing when it is multiplied or convolved with. Constants with elements of their
// own are tensors of the graph, not operators.
#include <algorithm>

#include "ops/definition/indexing.h"
#include "ops/definition/infer_rules.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_types.h"
#include "ops/onnx/onnx_writing.h"
namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::DataType;

std::vector<TensorType> of_shape(InferContext& c, std::string_view op) {
  const Shape& shape = c.attributes().get_sizes("shape");
  for (const Polynomial& size : shape)
    if (!c.require_at_least(size, 0, label(op, "shape"))) return {};
  return {{DataType::kFloat32, shape}};
}

std::vector<TensorType> infer_full(InferContext& c) {
  if (!require_representable(c, "full", "value")) return {};
  return of_shape(c, "full");
}

Semantics full_semantics(const OpInstance& op) {
  SemanticsBuilder builder(0);
  builder.output(op.outputs[0].shape,
                 [&](const Index&) { return number(op.attributes.get_real("value")); });
  return std::move(builder).finish();
}

/// f32 becomes `full`; shapes and masks become constants, whose elements the reader of a later
/// node may need to know.
ReadResult read_constant_of_shape(OnnxImport& import) {
  const core::LiteralPtr shape = import.constant_input(0);
  const auto dims = shape ? shape->to_ints() : std::nullopt;
  if (!dims) return cannot_read(import, "the shape is not known");
  DataType type = DataType::kFloat32;
  double value = 0;
  if (const OnnxAttribute* given = import.attribute("value")) {
    const auto* literal = std::get_if<core::LiteralPtr>(given);
    if (!literal || (*literal)->count() != 1) return bad_node(import, "value must be one element");
    type = (*literal)->data_type();
    if (!admits(Elements::kNumbers, type)) return cannot_read(import, "elements are texts");
    value = (*literal)->to_doubles()[0];
  }
  const auto count = core::checked_element_count(*dims);
  if (!count) return bad_node(import, "the shape has a negative size or too many elements");
  if (type == DataType::kFloat32 && is_representable(value))
    return import.append(
        "full", {},
        {{"shape", to_sizes(*dims)}, {"value", shortest_decimal(static_cast<float>(value))}});
  constexpr std::int64_t kMostElements = std::int64_t{1} << 24;
  if (*count > kMostElements) return cannot_read(import, "a large constant");
  return std::vector{import.constant(filled_literal(type, *dims, value))};
}

/// ConstantOfShape came with opset 9.
core::Status write_full(OnnxExport& out) {
  Emitter emitter(out);
  const auto value = static_cast<float>(emitter.attributes().get_real("value"));
  if (emitter.opset() < 9) {
    auto elements = std::make_shared<const core::Literal>(
        filled_literal(DataType::kFloat32, emitter.attributes().get_ints("shape"), value));
    return emitter.finish("Constant", {}, {{"value", core::LiteralPtr(std::move(elements))}});
  }
  auto element =
      std::make_shared<const core::Literal>(core::Literal::floats({1}, std::span(&value, 1)));
  return emitter.finish("ConstantOfShape", {emitter.ints(emitter.attributes().get_ints("shape"))},
                        {{"value", core::LiteralPtr(std::move(element))}});
}

OpDefinition full() {
  return OpDefinition({
      .name = "full",
      .equation = "→ y[shape] = value",
      .attributes =
          std::vector<core::AttributeSchema>{
              {"shape", AttributeRole::kShape, std::nullopt, {}},
              {"value", AttributeRole::kReal, std::nullopt, {0.0, 1.0}}},
      .inputs = Arity(0, 0),
      .op_class = OpClass::kMovement,
      .movement = Movement::kFill,
      .infer = infer_full,
      .semantics = full_semantics,
      .onnx = OnnxMapping{{reader("ConstantOfShape", Elements::kNumbers, read_constant_of_shape)},
                          write_full},
  });
}

// --- eye ----------------------------------------------------------------------------------------
// A unit matrix is a kernel without a window, so one operator serves matmul and convolution, and
// either constant is one node.

std::vector<TensorType> infer_eye(InferContext& c) {
  if (!c.require(c.attributes().get_sizes("shape").size() >= 2, "eye.rank",
                 "shape must be [n, m] or [o, c, k…]"))
    return {};
  return of_shape(c, "eye");
}

/// i = ⌊(size − 1)/2⌋, which need not be a polynomial.
void require_center(const Polynomial& i, const Polynomial& size, std::vector<Constraint>& out) {
  if (size.is_constant()) {
    out.push_back(equal(i, (size.constant() - 1) / 2));
  } else if (const auto half = divide_exactly(size - 1, 2)) {
    out.push_back(equal(i, *half));
  } else {
    out.push_back(at_least(i * 2, size - 2));
    out.push_back(at_least(size - 1, i * 2));
  }
}

Semantics eye_semantics(const OpInstance& op) {
  SemanticsBuilder builder(0);
  const Shape& shape = op.outputs[0].shape;
  builder.output(shape, [&](const Index& i) {
    std::vector<Constraint> constraints{equal(i[0], i[1])};
    for (std::size_t d = 2; d < shape.size(); ++d) require_center(i[d], shape[d], constraints);
    return guard(std::move(constraints), number(1.0));
  });
  return std::move(builder).finish();
}

/// Ones at j = i + k: `eye`, padded where k is not 0, and cast.
ReadResult read_eye_like(OnnxImport& import) {
  const core::Dims dims = input_dims(import, 0);
  if (dims.size() != 2) return bad_node(import, "the input must be a matrix");
  std::optional<DataType> type = import.type(import.input(0)).data_type;
  if (import.attribute("dtype")) type = from_onnx_type(import.int_or("dtype", 0));
  if (!type || !(admits(Elements::kArithmetic, *type) || *type == DataType::kBool))
    return cannot_read(import, "its element type");
  const std::int64_t k = std::clamp(import.int_or("k", 0), -dims[0], dims[1]);
  const std::int64_t above = std::max<std::int64_t>(-k, 0), before = std::max<std::int64_t>(k, 0);
  Composer compose(import);
  TensorId result = compose.append(
      "eye", {}, {{"shape", to_sizes(core::Dims{dims[0] - above, dims[1] - before})}});
  if (k != 0)
    result = compose.append("pad", {result}, {{"pads", to_sizes(core::Dims{above, before, 0, 0})}});
  if (*type != DataType::kFloat32)
    result = compose.append("cast", {result}, {{"to", std::string(core::to_string(*type))}});
  return compose.finish(result);
}

/// Writes the matrix as a constant: EyeLike has no windows, and few runtimes implement it.
core::Status write_eye(OnnxExport& out) {
  Emitter emitter(out);
  const core::Dims dims = emitter.attributes().get_ints("shape");
  std::vector<float> values(static_cast<std::size_t>(core::element_count(dims)), 0.0F);
  std::int64_t window = 1;
  std::int64_t center = 0;
  for (std::size_t d = 2; d < dims.size(); ++d) {
    window *= dims[d];
    center = center * dims[d] + (dims[d] - 1) / 2;
  }
  for (std::int64_t i = 0; window > 0 && i < std::min(dims[0], dims[1]); ++i)
    values[static_cast<std::size_t>((i * dims[1] + i) * window + center)] = 1.0F;
  auto literal = std::make_shared<const core::Literal>(core::Literal::floats(dims, values));
  return emitter.finish("Constant", {}, {{"value", core::LiteralPtr(std::move(literal))}});
}

OpDefinition eye() {
  return OpDefinition({
      .name = "eye",
      .equation = "→ y[i,j,t…] = 1 where i = j and t… is the center ⌊(k−1)/2⌋ of shape [o,c,k…], "
                  "else 0",
      .attributes =
          std::vector<core::AttributeSchema>{{"shape", AttributeRole::kShape, std::nullopt, {}}},
      .inputs = Arity(0, 0),
      .op_class = OpClass::kMovement,
      .movement = Movement::kDiagonal,
      .infer = infer_eye,
      .semantics = eye_semantics,
      .onnx = OnnxMapping{{reader("EyeLike", Elements::kNumbers, read_eye_like)}, write_eye},
  });
}

}  // namespace

std::vector<OpDefinition> constant_ops() { return {full(), eye()}; }

}  // namespace soapstone::ops
