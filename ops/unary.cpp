// Operators on one tensor, element by element: a table of functions. `cast` has a file of its own.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/family_parts.h"
#include "ops/indexing.h"
#include "ops/onnx_reading.h"
#include "ops/onnx_writing.h"
#include "ops/registry.h"

namespace soapstone::ops {
namespace {

using core::AttributeKind;
using core::AttributeSchema;
using core::DataType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Unary {
  const char* name;
  const char* onnx;
  const char* equation;
  Elements elements;
  Expr (*value)(const Expr& x, const Attributes& attributes);
  std::vector<AttributeSchema> attributes = {};
  ReadFunction read = {};    ///< None: same name and real attributes in ONNX.
  WriteFunction write = {};  ///< Likewise.
};

template <Function kFunction>
Expr applied(const Expr& x, const Attributes&) {
  return apply(kFunction, {x});
}

Expr relu(Expr x) { return apply(Function::kRelu, {std::move(x)}); }

/// max before min, as ONNX has it where the bounds cross.
Expr clamp(Expr x, double low, double high) {
  if (low != -kInfinity) x = maximum(std::move(x), number(low));
  return high == kInfinity ? x : minimum(std::move(x), number(high));
}

Expr leaky_relu(const Expr& x, const Attributes& attributes) {
  return relu(x) - number(attributes.get_real("alpha")) * relu(number(-1.0) * x);
}

Expr clip(const Expr& x, const Attributes& attributes) {
  return clamp(x, attributes.get_real("min"), attributes.get_real("max"));
}

Expr hard_sigmoid(const Expr& x, const Attributes& attributes) {
  return clamp(number(attributes.get_real("alpha")) * x + number(attributes.get_real("beta")), 0,
               1);
}

Expr hard_swish(const Expr& x, const Attributes&) {
  return x * clamp(number(Rational{1, 6}) * x + number(Rational{1, 2}), 0, 1);
}

/// m + log(exp(−m) + exp(x − m)), m = max(x, 0), which is log(1 + exp(x)) without an exp that could
/// overflow. An infinite m counts as 0, as ∞ − ∞ is no number, and log1p keeps small results.
Expr softplus(const Expr& x, const Attributes&) {
  const Expr zero = number(Rational{0, 1});
  const Expr largest = relu(x);
  const Expr is_finite = apply(Function::kEqual, {largest - largest, zero});
  const Expr m = apply(Function::kSelect, {is_finite, largest, zero});
  const Expr rest = apply(Function::kExp, {number(-1.0) * m}) + number(-1.0);
  return m + apply(Function::kLog1p, {rest + apply(Function::kExp, {x - m})});
}

Expr gelu(const Expr& x, const Attributes& attributes) {
  const Expr half = number(Rational{1, 2}) * x;
  if (attributes.get_text("approximate") == "none")
    return half * (number(1.0) + apply(Function::kErf, {number(std::numbers::sqrt2 / 2) * x}));
  const Expr inner = x + number(0.044715) * (x * x * x);
  return half *
         (number(1.0) + apply(Function::kTanh, {number(std::sqrt(2 / std::numbers::pi)) * inner}));
}

// --- Reading and writing ------------------------------------------------------------------------

AttributeSchema real(const char* name, double fallback, std::vector<core::AttributeValue> tried) {
  return {name, AttributeKind::kReal, fallback, std::move(tried)};
}

/// An attribute before opset 11, a scalar input since. The largest float stands for no bound.
core::Result<double> read_bound(const OnnxImport& import, const char* name, std::size_t k,
                                double none) {
  double value = none;
  if (import.opset() < 11) {
    value = decimal_or(import, name, none);
  } else if (has_input(import, k)) {
    const core::LiteralPtr literal = import.constant_input(k);
    if (!literal || literal->count() != 1) return cannot_read(import, "a bound is not a constant");
    value = literal->to_doubles()[0];
    if (literal->data_type() == DataType::kFloat32)
      value = shortest_decimal(static_cast<float>(value));
  }
  if (std::fabs(value) >= static_cast<double>(std::numeric_limits<float>::max()))
    value = std::copysign(kInfinity, value);
  if (value != none && !is_representable(value)) return cannot_read(import, "a bound out of range");
  return value;
}

/// Bounds that are computed at run time become a maximum and a minimum.
ReadResult read_clip(OnnxImport& import) {
  const auto low = read_bound(import, "min", 1, -kInfinity);
  const auto high = read_bound(import, "max", 2, kInfinity);
  if (low && high) return import.append("clip", {import.input(0)}, {{"min", *low}, {"max", *high}});
  for (std::size_t k : {1u, 2u})
    if (!has_input(import, k))
      continue;
    else if (!input_dims(import, k).empty())
      return cannot_read(import, "a bound is no scalar");
  Composer compose(import);
  TensorId x = import.input(0);
  if (compose.has_input(1)) x = compose.append("max", {x, import.input(1)});
  if (compose.has_input(2)) x = compose.append("min", {x, import.input(2)});
  return compose.finish(x);
}

core::Status write_clip(OnnxExport& out) {
  Emitter emitter(out);
  const double low = emitter.attributes().get_real("min");
  const double high = emitter.attributes().get_real("max");
  std::vector<std::string> inputs{emitter.input(0)};
  if (low != -kInfinity || high != kInfinity)
    inputs.push_back(low == -kInfinity ? "" : emitter.scalar(low));
  if (high != kInfinity) inputs.push_back(emitter.scalar(high));
  return emitter.finish("Clip", std::move(inputs));
}

core::Status write_hard_swish(OnnxExport& out) {
  Emitter emitter(out);
  const std::string x = emitter.input(0);
  if (emitter.opset() >= 14) return emitter.finish("HardSwish", {x});
  const std::string gate = emitter.emit("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
  return emitter.finish("Mul", {x, gate});
}

ReadResult read_gelu(OnnxImport& import) {
  return import.append("gelu", {import.input(0)},
                       {{"approximate", import.text_or("approximate", "none")}});
}

core::Status write_gelu(OnnxExport& out) {
  Emitter emitter(out);
  const std::string x = emitter.input(0);
  const std::string approximate = emitter.attributes().get_text("approximate");
  if (emitter.opset() >= 20) return emitter.finish("Gelu", {x}, {{"approximate", approximate}});
  std::string odd;
  if (approximate == "none") {
    odd = emitter.emit("Erf", {emitter.emit("Mul", {x, emitter.scalar(std::numbers::sqrt2 / 2)})});
  } else {
    const std::string cube = emitter.emit("Mul", {x, emitter.emit("Mul", {x, x})});
    const std::string inner =
        emitter.emit("Add", {x, emitter.emit("Mul", {cube, emitter.scalar(0.044715)})});
    const std::string scale = emitter.scalar(std::sqrt(2 / std::numbers::pi));
    odd = emitter.emit("Tanh", {emitter.emit("Mul", {inner, scale})});
  }
  const std::string half = emitter.emit("Mul", {x, emitter.scalar(0.5)});
  return emitter.finish("Mul", {half, emitter.emit("Add", {odd, emitter.scalar(1)})});
}

std::vector<Unary> table() {
  constexpr auto kF = Elements::kFloating;
  constexpr auto kA = Elements::kArithmetic;
  return {
      {"relu", "Relu", "x → max(x, 0)", kA, applied<Function::kRelu>},
      {"sigmoid", "Sigmoid", "x → 1/(1 + exp(−x))", kF, applied<Function::kSigmoid>},
      {"tanh", "Tanh", "x → tanh(x)", kF, applied<Function::kTanh>},
      {"erf", "Erf", "x → erf(x)", kF, applied<Function::kErf>},
      {"exp", "Exp", "x → exp(x)", kF, applied<Function::kExp>},
      {"log", "Log", "x → log(x)", kF, applied<Function::kLog>},
      {"sqrt", "Sqrt", "x → √x", kF, applied<Function::kSqrt>},
      {"softplus", "Softplus", "x → log(1 + exp(x)), within range for all x", kF, softplus},
      {"neg", "Neg", "x → −x", kA,
       [](const Expr& x, const Attributes&) { return number(-1.0) * x; }},
      {"abs", "Abs", "x → |x|", kA, applied<Function::kAbs>},
      {"reciprocal", "Reciprocal", "x → 1/x", kF,
       [](const Expr& x, const Attributes&) { return inverse(x); }},
      {"hard_swish",
       "HardSwish",
       "x → x·min(max(x/6 + 1/2, 0), 1)",
       kF,
       hard_swish,
       {},
       {},
       write_hard_swish},
      {"floor", "Floor", "x → ⌊x⌋", kF, applied<Function::kFloor>},
      {"ceil", "Ceil", "x → ⌈x⌉", kF, applied<Function::kCeil>},
      {"round", "Round", "x → x rounded, halves to even", kF, applied<Function::kRound>},
      {"sin", "Sin", "x → sin(x)", kF, applied<Function::kSin>},
      {"cos", "Cos", "x → cos(x)", kF, applied<Function::kCos>},
      {"not", "Not", "x → 1 if x = 0, else 0", Elements::kBool, applied<Function::kIsZero>},
      {"leaky_relu",
       "LeakyRelu",
       "x → max(x, 0) − alpha·max(−x, 0)",
       kF,
       leaky_relu,
       {real("alpha", 0.01, {0.01})}},
      {"clip",
       "Clip",
       "x → min(max(x, min), max)",
       Elements::kNumbers,
       clip,
       {real("min", -kInfinity, {0.0}), real("max", kInfinity, {6.0})},
       read_clip,
       write_clip},
      {"hard_sigmoid",
       "HardSigmoid",
       "x → min(max(alpha·x + beta, 0), 1)",
       kF,
       hard_sigmoid,
       {real("alpha", 0.2, {0.2}), real("beta", 0.5, {0.5})}},
      {"gelu",
       "Gelu",
       "x → x/2·(1 + erf(x/√2)), or with approximate=tanh its fit by tanh",
       kF,
       gelu,
       {{"approximate", AttributeKind::kText, "none", {"none", "tanh"}}},
       read_gelu,
       write_gelu},
  };
}

// --- Definitions --------------------------------------------------------------------------------

bool require_attributes(InferContext& c, const Unary& op) {
  for (const AttributeSchema& attribute : op.attributes) {
    if (attribute.kind != AttributeKind::kReal) continue;
    // Only a default may be infinite: it says that there is no bound.
    const double value = c.attributes().get_real(attribute.name);
    if (std::isinf(value) && *attribute.default_value == core::AttributeValue(value)) continue;
    if (!require_representable(c, op.name, attribute.name)) return false;
  }
  if (!c.attributes().find("approximate")) return true;
  const std::string& approximate = c.attributes().get_text("approximate");
  return c.require(approximate == "none" || approximate == "tanh", label(op.name, "approximate"),
                   fmt::format("approximate must be none or tanh, not '{}'", approximate));
}

Semantics elementwise(const OpInstance& op, const std::function<Expr(const Expr&)>& value) {
  SemanticsBuilder builder(1);
  builder.output(op.outputs[0].shape, [&](const Index& i) { return value(read(0, i)); });
  return std::move(builder).finish();
}

ReadFunction read_reals(const Unary& op) {
  return [name = std::string(op.name), schemas = op.attributes](OnnxImport& import) -> ReadResult {
    Attributes attributes;
    for (const AttributeSchema& schema : schemas)
      attributes.set(schema.name,
                     decimal_or(import, schema.name, std::get<double>(*schema.default_value)));
    return import.append(name, {import.input(0)}, std::move(attributes));
  };
}

WriteFunction write_reals(const Unary& op) {
  return [onnx = std::string(op.onnx)](OnnxExport& out) -> core::Status {
    OnnxAttributes attributes;
    for (const auto& [name, value] : out.node().attributes.values())
      attributes.emplace_back(name, static_cast<float>(std::get<double>(value)));
    out.emit_same(onnx, std::move(attributes));
    return core::Done{};
  };
}

OpDefinition define(const Unary& op) {
  return OpDefinition({
      .name = op.name,
      .equation = op.equation,
      .attributes = op.attributes,
      .inputs = std::pair<std::size_t, std::size_t>(1, 1),
      .op_class = OpClass::kElementwise,
      .infer = [op](InferContext& c) -> std::vector<TensorType> {
        if (!require_elements(c, op.name, op.elements) || !require_attributes(c, op)) return {};
        return {c.input(0)};
      },
      .semantics =
          [op](const OpInstance& instance) {
            return elementwise(instance,
                               [&](const Expr& x) { return op.value(x, instance.attributes); });
          },
      .onnx = OnnxMapping{{reader(op.onnx, op.elements, op.read ? op.read : read_reals(op))},
                          op.write ? op.write : write_reals(op)},
  });
}

}  // namespace

std::vector<OpDefinition> unary_ops() {
  std::vector<OpDefinition> ops;
  for (const Unary& op : table()) ops.push_back(define(op));
  ops.push_back(cast());
  return ops;
}

}  // namespace soapstone::ops
