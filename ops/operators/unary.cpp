// Operators on one tensor, element by element: a table of functions. `cast` has a file of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <optional>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"
namespace soapstone::ops {
namespace {

using core::AttributeKind;
using core::AttributeRole;
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

/// The number without rounding. One that no single fraction of a comprehension can hold becomes a
/// product. Precondition: finite.
Expr exact_number(double value) {
  if (is_representable(value)) return number(value);
  constexpr int kMantissa = 53, kMost = 62;
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(value, &exponent), kMantissa);
  Expr result = number(Rational{static_cast<std::int64_t>(mantissa), 1});
  for (int rest = exponent - kMantissa; rest != 0;) {
    const int step = std::clamp(rest, -kMost, kMost);
    const std::int64_t power = std::int64_t{1} << std::abs(step);
    result = result * number(step < 0 ? Rational{1, power} : Rational{power, 1});
    rest -= step;
  }
  return result;
}

/// max before min, as ONNX has it where the bounds cross.
Expr clamp(Expr x, double low, double high) {
  if (low != -kInfinity) x = maximum(std::move(x), exact_number(low));
  return high == kInfinity ? x : minimum(std::move(x), exact_number(high));
}

Expr leaky_relu(const Expr& x, const Attributes& attributes) {
  return relu(x) - number(attributes.get_real("alpha")) * relu(number(-1.0) * x);
}

Expr elu(const Expr& x, const Attributes& attributes) {
  const Expr below = number(-1.0) * relu(number(-1.0) * x);
  return relu(x) +
         number(attributes.get_real("alpha")) * (apply(Function::kExp, {below}) + number(-1.0));
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
  return {name, AttributeRole::kReal, fallback, std::move(tried)};
}

/// A bound of Clip: none, a number, or a tensor that is computed at run time.
struct Bound {
  std::optional<double> number;
  TensorId tensor;
};

/// The largest finite number of a real type; none for integers, which have no others.
std::optional<double> largest_of(DataType type) {
  switch (type) {
  case DataType::kFloat32:
    return std::numeric_limits<float>::max();
  case DataType::kFloat64:
    return std::numeric_limits<double>::max();
  case DataType::kFloat16:
    return 65504;
  case DataType::kBFloat16:
    return 0x1.FEp127;
  default:
    return std::nullopt;
  }
}

/// The bound as a constant, none if there is none or if it is computed at run time. An attribute
/// before opset 11, a scalar input since. One that is left out is the largest finite number, to
/// which infinity is clipped.
core::LiteralPtr known_bound(const OnnxImport& import, std::size_t k) {
  const bool low = k == 1;
  const DataType type = import.type(import.input(0)).data_type;
  if (import.opset() >= 11 && has_input(import, k)) return import.constant_input(k);
  std::optional<double> value = largest_of(type);
  if (import.opset() < 11)
    value = import.real_or(low ? "min" : "max", low ? -std::numeric_limits<float>::max()
                                                    : std::numeric_limits<float>::max());
  else if (value && low)
    value = -*value;
  if (!value) return nullptr;
  return std::make_shared<const core::Literal>(filled_literal(type, {}, *value));
}

core::Result<Bound> read_bound(OnnxImport& import, std::size_t k) {
  const bool given = import.opset() >= 11 && has_input(import, k);
  const core::LiteralPtr literal = known_bound(import, k);
  const bool scalar = literal ? literal->count() == 1 : !given || input_dims(import, k).empty();
  if (!scalar) return cannot_read(import, "a bound is no scalar");
  if (!literal) return given ? Bound{std::nullopt, import.input(k)} : Bound{};
  double value = literal->to_doubles()[0];
  if (value == (k == 1 ? -kInfinity : kInfinity)) return Bound{};
  if (!std::isfinite(value)) return cannot_read(import, "a bound that no number is within");
  if (literal->data_type() == DataType::kFloat32 && is_representable(value))
    value = shortest_decimal(static_cast<float>(value));
  return Bound{value, {}};
}

/// Bounds that are computed at run time become a maximum and a minimum.
ReadResult read_clip(OnnxImport& import) {
  Composer compose(import);
  SOAPSTONE_ASSIGN_OR_RETURN(const Bound low, read_bound(import, 1));
  SOAPSTONE_ASSIGN_OR_RETURN(const Bound high, read_bound(import, 2));
  TensorId x = import.input(0);
  if (low.tensor.valid()) x = compose.append("max", {x, low.tensor});
  if (low.number || high.number || (!low.tensor.valid() && !high.tensor.valid()))
    x = compose.append(
        "clip", {x},
        {{"min", low.number.value_or(-kInfinity)}, {"max", high.number.value_or(kInfinity)}});
  if (high.tensor.valid()) x = compose.append("min", {x, high.tensor});
  return compose.finish(x);
}

/// A bound that is left out would clip infinity to the largest number, so reals get both. Bounds
/// were floats before opset 11, and integers had none before opset 12.
core::Status write_clip(OnnxExport& out) {
  Emitter emitter(out);
  const double low = emitter.attributes().get_real("min");
  const double high = emitter.attributes().get_real("max");
  const bool has_low = low != -kInfinity, has_high = high != kInfinity;
  const bool real = core::is_floating(emitter.data_type(0));
  const bool as_floats = emitter.data_type(0) != DataType::kFloat64 ||
                         (static_cast<float>(low) == low && static_cast<float>(high) == high);
  if (!has_low && !has_high) return emitter.finish("Identity", {emitter.input(0)});
  if (out.opset() < 11 && real && as_floats)
    return emitter.finish("Clip", {emitter.input(0)},
                          {{"min", static_cast<float>(low)}, {"max", static_cast<float>(high)}});
  if (out.opset() < (real ? 11 : 12)) {
    Emitted x = emitter.operand(0);
    if (has_low) x.name = emitter.extremum("Max", x, {emitter.scalar(low), {}}, !has_high);
    if (has_high) emitter.extremum("Min", x, {emitter.scalar(high), {}}, true);
    return core::Done{};
  }
  std::vector<std::string> inputs{emitter.input(0), has_low || real ? emitter.scalar(low) : ""};
  if (has_high || real) inputs.push_back(emitter.scalar(high));
  return emitter.finish("Clip", std::move(inputs));
}

/// Before opset 14 for reals alone.
core::Status write_relu(OnnxExport& out) {
  Emitter emitter(out);
  if (out.opset() >= 14 || core::is_floating(emitter.data_type(0)))
    return emitter.finish("Relu", {emitter.input(0)});
  emitter.extremum("Max", emitter.operand(0), {emitter.scalar(0), {}}, true);
  return core::Done{};
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
      {"relu", "Relu", "x → max(x, 0)", kA, applied<Function::kRelu>, {}, {}, write_relu},
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
      {"elu",
       "Elu",
       "x → max(x, 0) + alpha·(exp(min(x, 0)) − 1)",
       kF,
       elu,
       {real("alpha", 1.0, {1.0})}},
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
       {{"approximate", AttributeRole::kVariant, "none", {"none", "tanh"}}},
       read_gelu,
       write_gelu},
  };
}

// --- Definitions --------------------------------------------------------------------------------

bool require_attributes(InferContext& c, const Unary& op) {
  for (const AttributeSchema& attribute : op.attributes) {
    if (attribute.kind() != AttributeKind::kReal) continue;
    // Only a default may be infinite: it says that there is no bound.
    const double value = c.attributes().get_real(attribute.name);
    if (std::isinf(value) && *attribute.default_value == core::AttributeValue(value)) continue;
    // ONNX clips ±∞ to the largest numbers of the type where a bound is left out.
    if (std::string_view(op.name) == "clip" && std::isfinite(value)) continue;
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
      .inputs = Arity(1, 1),
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
  return ops;
}

}  // namespace soapstone::ops
