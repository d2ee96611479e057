// Operators on two tensors with NumPy broadcasting: a table of functions, and `where`. On bool
// tensors, min and max are what ONNX calls And and Or.
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::DataType;

struct Binary {
  const char* name;
  const char* onnx;
  const char* onnx_bool;  ///< Its name on bool tensors, or null: as for numbers.
  const char* equation;
  Elements elements;
  bool commutative;
  bool compares;  ///< The result is bool.
  Expr (*value)(Expr a, Expr b);
};

template <Function kFunction>
Expr applied(Expr a, Expr b) {
  return apply(kFunction, {std::move(a), std::move(b)});
}

constexpr Binary kBinaries[] = {
    {"add", "Add", nullptr, "a b → a + b", Elements::kArithmetic, true, false,
     [](Expr a, Expr b) { return a + b; }},
    {"mul", "Mul", "And", "a b → a·b", Elements::kArithmetic, true, false,
     [](Expr a, Expr b) { return a * b; }},
    {"min", "Min", "And", "a b → the smaller", Elements::kNumbers, true, false,
     [](Expr a, Expr b) { return minimum(std::move(a), std::move(b)); }},
    {"max", "Max", "Or", "a b → the larger", Elements::kNumbers, true, false,
     [](Expr a, Expr b) { return maximum(std::move(a), std::move(b)); }},
    {"sub", "Sub", nullptr, "a b → a − b", Elements::kArithmetic, false, false,
     [](Expr a, Expr b) { return a - b; }},
    {"div", "Div", nullptr, "a b → a/b", Elements::kFloating, false, false,
     [](Expr a, Expr b) { return a * inverse(std::move(b)); }},
    {"pow", "Pow", nullptr, "a b → a^b", Elements::kArithmetic, false, false,
     applied<Function::kPow>},
    {"less", "Less", nullptr, "a b → 1 if a < b, else 0", Elements::kNumbers, false, true,
     applied<Function::kLess>},
    {"less_or_equal", "LessOrEqual", nullptr, "a b → 1 if a ≤ b, else 0", Elements::kNumbers, false,
     true, applied<Function::kLessOrEqual>},
    {"equal", "Equal", nullptr, "a b → 1 if a = b, else 0", Elements::kNumbers, true, true,
     applied<Function::kEqual>},
};

bool is(const Binary& op, std::string_view name) { return op.name == name; }

/// mul also multiplies truth values; pow may have an exponent of another type.
bool require_types(InferContext& c, const Binary& op) {
  const DataType a = c.input(0).data_type, b = c.input(1).data_type;
  if (is(op, "mul") && a == DataType::kBool && b == DataType::kBool) return true;
  if (!require_elements(c, op.name, op.elements)) return false;
  if (!is(op, "pow")) return require_same_type(c, op.name);
  return c.require(core::is_floating(a) || !core::is_floating(b), "pow.exponent_type",
                   "an integer to a fractional power is no integer");
}

std::vector<TensorType> infer(const Binary& op, InferContext& c) {
  if (!require_types(c, op)) return {};
  Shape result = c.broadcast(c.shape(0), c.shape(1), label(op.name, "broadcast"));
  if (c.failed()) return {};
  return {{op.compares ? DataType::kBool : c.input(0).data_type, std::move(result)}};
}

Semantics semantics(const Binary& op, const OpInstance& instance) {
  SemanticsBuilder builder(2);
  builder.output(instance.outputs[0].shape, [&](const Index& i) {
    return op.value(read_broadcast(0, instance.inputs[0].shape, i),
                    read_broadcast(1, instance.inputs[1].shape, i));
  });
  return std::move(builder).finish();
}

/// Before opset 11 only integers were compared for equality: true where none of `apart` is, and
/// neither operand is NaN.
core::Status write_without_equality(Emitter& emitter, const std::vector<std::string>& apart) {
  const auto either = [&](const std::string& p, const std::string& q) {
    return emitter.emit("Or", {p, q});
  };
  std::string no =
      either(emitter.emit("IsNaN", {emitter.input(0)}), emitter.emit("IsNaN", {emitter.input(1)}));
  for (const std::string& less : apart) no = either(no, less);
  return emitter.finish("Not", {no});
}

core::Status write_equal(OnnxExport& out) {
  Emitter emitter(out);
  const std::string a = emitter.input(0), b = emitter.input(1);
  if (emitter.opset() >= 11 || !core::is_floating(emitter.data_type(0)))
    return emitter.finish("Equal", {a, b});
  return write_without_equality(emitter,
                                {emitter.emit("Less", {a, b}), emitter.emit("Less", {b, a})});
}

/// Before opset 12 there is no LessOrEqual. `not less(b, a)` would be true where an operand is NaN.
core::Status write_less_or_equal(OnnxExport& out) {
  Emitter emitter(out);
  const std::string a = emitter.input(0), b = emitter.input(1);
  if (emitter.opset() >= 12) return emitter.finish("LessOrEqual", {a, b});
  if (!core::is_floating(emitter.data_type(0)))
    return emitter.finish("Not", {emitter.emit("Less", {b, a})});
  if (emitter.opset() < 11) return write_without_equality(emitter, {emitter.emit("Less", {b, a})});
  return emitter.finish("Or", {emitter.emit("Less", {a, b}), emitter.emit("Equal", {a, b})});
}

core::Status write(const Binary& op, OnnxExport& out) {
  if (is(op, "less_or_equal")) return write_less_or_equal(out);
  if (is(op, "equal")) return write_equal(out);
  const core::Tensor& a = out.graph().tensor(out.node().inputs[0]);
  const bool truth = op.onnx_bool && a.type.data_type == DataType::kBool;
  Emitter emitter(out);
  if (!truth && (is(op, "min") || is(op, "max"))) {
    emitter.extremum(op.onnx, emitter.operand(0), emitter.operand(1), true);
    return core::Done{};
  }
  out.emit_same(truth ? op.onnx_bool : op.onnx);
  return core::Done{};
}

// --- Readers ------------------------------------------------------------------------------------

/// Before opset 7, `axis` said where the second operand lies in the first. NumPy has it at the end.
bool is_aligned(const OnnxImport& import) {
  if (import.opset() >= 7 || !import.attribute("axis")) return true;
  const auto a = static_cast<std::int64_t>(input_dims(import, 0).size());
  const auto b = static_cast<std::int64_t>(input_dims(import, 1).size());
  const std::int64_t axis = import.int_or("axis", 0);
  return axis == a - b || axis == -b;
}

ReadFunction read_aligned(std::string op, bool exchanged = false) {
  return [op = std::move(op), exchanged](OnnxImport& import) -> ReadResult {
    if (!has_input(import, 1)) return bad_node(import, "its second input is missing");
    if (!is_aligned(import)) return cannot_read(import, "operands aligned at an axis");
    return import.append(op, {import.input(exchanged ? 1 : 0), import.input(exchanged ? 0 : 1)},
                         {});
  };
}

/// A real number equals itself unless it is NaN, and of that no proof over real numbers knows.
ReadFunction read_reflexive(std::string op, bool exchanged = false) {
  return [read = read_aligned(std::move(op), exchanged)](OnnxImport& import) -> ReadResult {
    const bool is_guard = has_input(import, 1) && import.input(0) == import.input(1) &&
                          core::is_floating(import.type(import.input(0)).data_type);
    if (!is_guard) return read(import);
    Composer compose(import);
    return compose.finish(compose.append("not", {compose.append("is_nan", {import.input(0)})}));
  };
}

/// Min, Max and Sum of any number of tensors, from left to right.
ReadFunction read_chain(std::string op) {
  return [op = std::move(op)](OnnxImport& import) -> ReadResult {
    if (import.input_count() == 0) return bad_node(import, "it has no inputs");
    if (!is_aligned(import)) return cannot_read(import, "operands aligned at an axis");
    Composer compose(import);
    TensorId result = import.input(0);
    for (std::size_t k = 1; k < import.input_count(); ++k)
      result = compose.append(op, {result, import.input(k)});
    return compose.finish(result);
  };
}

/// A square by itself is simpler than a power. A root is not x^½: that of −∞ is no number, and
/// (−∞)^½ is ∞.
ReadResult read_pow(OnnxImport& import) {
  if (!has_input(import, 1)) return bad_node(import, "its second input is missing");
  if (!is_aligned(import)) return cannot_read(import, "operands aligned at an axis");
  Composer compose(import);
  const TensorId base = import.input(0), exponent = import.input(1);
  const bool floating = core::is_floating(compose.data_type(base));
  if (!admits(Elements::kArithmetic, compose.data_type(exponent)) ||
      (!floating && core::is_floating(compose.data_type(exponent))))
    return cannot_read(import, "its element types");
  const core::LiteralPtr value = import.constant_input(1);
  const core::Dims dims = compose.dims(exponent);
  if (value && value->count() == 1 && dims.size() <= compose.dims(base).size()) {
    const double power = value->to_doubles()[0];
    if (power == 1) return std::vector{base};
    if (power == 2) return compose.finish(compose.append("mul", {base, base}));
  }
  return compose.finish(compose.append("pow", {base, exponent}));
}

std::vector<OnnxReader> readers(const Binary& op) {
  if (is(op, "pow")) return {reader("Pow", op.elements, read_pow)};
  if (is(op, "less"))
    return {reader("Less", op.elements, read_aligned("less")),
            reader("Greater", op.elements, read_aligned("less", true))};
  if (is(op, "less_or_equal"))
    return {reader("LessOrEqual", op.elements, read_reflexive("less_or_equal"), 12),
            reader("GreaterOrEqual", op.elements, read_reflexive("less_or_equal", true), 12)};
  if (is(op, "equal")) return {reader("Equal", op.elements, read_reflexive("equal"))};
  if (is(op, "add"))
    return {reader("Add", op.elements, read_aligned("add")),
            reader("Sum", op.elements, read_chain("add"))};
  if (!is(op, "min") && !is(op, "max"))
    return {reader(op.onnx, op.elements, read_aligned(op.name))};
  return {reader(op.onnx, op.elements, read_chain(op.name)),
          reader(op.onnx_bool, Elements::kBool, read_chain(op.name))};
}

OpDefinition define(const Binary& op) {
  return OpDefinition({
      .name = op.name,
      .equation = op.equation,
      .attributes = std::vector<core::AttributeSchema>{},
      .inputs = Arity(2, 2),
      .op_class = OpClass::kElementwise,
      .infer = [&op](InferContext& c) { return infer(op, c); },
      .semantics = [&op](const OpInstance& instance) { return semantics(op, instance); },
      .onnx = OnnxMapping{readers(op), [&op](OnnxExport& out) { return write(op, out); }},
      .is_commutative = op.commutative,
  });
}

// --- where --------------------------------------------------------------------------------------

std::vector<TensorType> infer_where(InferContext& c) {
  if (!c.require(c.input(0).data_type == DataType::kBool, "where.condition_type",
                 "the condition must have bool elements") ||
      !require_elements(c, "where", Elements::kNumbers) || !require_same_type(c, "where", 1))
    return {};
  Shape result = c.broadcast(c.shape(1), c.shape(2), "where.broadcast");
  if (c.failed()) return {};
  result = c.broadcast(c.shape(0), result, "where.broadcast");
  if (c.failed()) return {};
  return {{c.input(1).data_type, std::move(result)}};
}

Semantics where_semantics(const OpInstance& op) {
  SemanticsBuilder builder(3);
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    std::vector<Expr> arguments;
    for (std::uint32_t k = 0; k < 3; ++k)
      arguments.push_back(read_broadcast(k, op.inputs[k].shape, i));
    return apply(Function::kSelect, std::move(arguments));
  });
  return std::move(builder).finish();
}

OpDefinition where() {
  return OpDefinition({
      .name = "where",
      .equation = "c a b → a if c ≠ 0, else b",
      .attributes = std::vector<core::AttributeSchema>{},
      .inputs = Arity(3, 3),
      .op_class = OpClass::kElementwise,
      .movement = Movement::kChoose,
      .infer = infer_where,
      .semantics = where_semantics,
      .onnx =
          OnnxMapping{{reader("Where", Elements::kBool, read_same("where"))}, write_same("Where")},
  });
}

}  // namespace

std::vector<OpDefinition> binary_ops() {
  std::vector<OpDefinition> ops;
  for (const Binary& op : kBinaries) ops.push_back(define(op));
  ops.push_back(where());
  return ops;
}

}  // namespace soapstone::ops
