// Operands are aligned by dimensions of size 1. Numbers are computed with until a tensor meets
// them.
#include "ops/lowering/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/definition/indexing.h"
#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {
namespace {

using core::DataType;
using core::TensorId;

/// The operator that is the function; null: there is none.
const char* operator_of(Function function) {
  switch (function) {
  case Function::kIsNan:
    return "is_nan";
  case Function::kIsInfinite:
    return "is_inf";
  case Function::kLess:
    return "less";
  case Function::kLessOrEqual:
    return "less_or_equal";
  case Function::kEqual:
    return "equal";
  case Function::kPow:
    return "pow";
  case Function::kTruncate:
  case Function::kIsZero:
  case Function::kLog1p:
  case Function::kSelect:
    return nullptr;
  default:
    return properties(function).name.data();
  }
}

bool is_integer(double x) { return std::nearbyint(x) == x; }

}  // namespace

DataType SpreadOps::type_of(const Spread& x) const {
  return x.number ? type_ : nodes_.tensor(x.tensor).type.data_type;
}

Spread SpreadOps::constant(const IndexTable& table, DataType type) {
  const core::Dims dims = space_.dims(table.axes);
  const bool is_bool = type == DataType::kBool;
  if (type == DataType::kInt64)
    return {{}, nodes_.constant(core::Literal::ints(dims, table.values)), table.axes};
  std::vector<float> reals(table.values.begin(), table.values.end());
  std::vector<std::uint8_t> bools(table.values.begin(), table.values.end());
  const auto literal = is_bool ? core::Literal::copy(type, dims, std::as_bytes(std::span(bools)))
                               : core::Literal::floats(dims, reals);
  const Spread made{{}, nodes_.constant(literal), table.axes};
  return is_bool ? made : as(made, type);
}

Spread SpreadOps::as(const Spread& x, DataType type) {
  if (nodes_.error()) return x;
  if (x.number) return {{}, nodes_.constant(filled_literal(type, {}, *x.number)), {}};
  if (type_of(x) == type) return x;
  return {
      {}, nodes_.append("cast", {x.tensor}, {{"to", std::string(core::to_string(type))}}), x.axes};
}

Spread SpreadOps::condition(const Spread& x) {
  if (nodes_.error() || type_of(x) == DataType::kBool) return x;
  const Spread zero = as(Spread{0.0, {}, {}}, type_of(x));
  return unary("not", broadcast("equal", {as(x, type_of(x)), zero}));
}

bool SpreadOps::is_small(std::span<const Symbol> axes) {
  const auto count = core::checked_element_count(space_.dims(axes));
  if (count && *count <= kMostSpreadElements) return true;
  nodes_.fail(core::unsupported(
      fmt::format("written with standard operators it takes a tensor of more than {} elements",
                  kMostSpreadElements)));
  return false;
}

Spread SpreadOps::aligned(const Spread& x, std::span<const Symbol> axes) {
  core::Dims dims;
  for (const Symbol axis : axes) {
    const bool has = std::ranges::find(x.axes, axis) != x.axes.end();
    if (has || !dims.empty()) dims.push_back(has ? space_.size(axis) : 1);
  }
  if (dims.size() == x.axes.size()) return x;
  return {{}, nodes_.append("reshape", {x.tensor}, {{"shape", to_sizes(dims)}}), x.axes};
}

Spread SpreadOps::broadcast(std::string_view op, std::vector<Spread> operands) {
  if (nodes_.error()) return operands.front();
  std::vector<Symbol> axes;
  for (const Spread& x : operands) axes = space_.united(axes, x.axes);
  if (!is_small(axes)) return operands.front();
  std::vector<TensorId> inputs;
  for (const Spread& x : operands) inputs.push_back(aligned(x, axes).tensor);
  return {{}, nodes_.append(op, std::move(inputs)), axes};
}

Spread SpreadOps::unary(std::string_view op, const Spread& x) {
  if (nodes_.error()) return x;
  return {{}, nodes_.append(op, {x.tensor}), x.axes};
}

Spread SpreadOps::binary(std::string_view op, const Spread& a, const Spread& b) {
  if (nodes_.error()) return a;
  const auto common = [&](const Spread& x, const Spread& other) {
    DataType type = type_of(x);
    if (x.number) {
      type = type_of(other);
      if (type == DataType::kBool || !(core::is_floating(type) || is_integer(*x.number)))
        type = type_;
    }
    return type;
  };
  DataType type = common(a, b);
  const DataType other = common(b, a);
  if (type != other)
    type = core::is_floating(type) || core::is_floating(other) ? type_ : DataType::kInt64;
  if (type == DataType::kBool) type = type_;
  return broadcast(op, {as(a, type), as(b, type)});
}

Spread SpreadOps::times(const Spread& a, const Spread& b) {
  if (a.number && b.number) return {*a.number * *b.number, {}, {}};
  if (a.number) return times(b, a);
  if (b.number && *b.number == 0) return b;
  if (b.number && *b.number == 1) return a;
  if (b.number && *b.number == -1 && type_of(a) != DataType::kBool) return unary("neg", a);
  return binary("mul", a, b);
}

Spread SpreadOps::over(const Spread& a, const Spread& b) {
  if (a.number && b.number) return {*a.number / *b.number, {}, {}};
  if (b.number && *b.number == 1) return a;
  if (core::is_floating(type_of(b)) && a.number && *a.number == 1)
    return unary("reciprocal", as(b, type_of(b)));
  return broadcast("div", {as(a, type_), as(b, type_)});
}

Spread SpreadOps::plus(const Spread& a, const Spread& b) {
  if (a.number && b.number) return {*a.number + *b.number, {}, {}};
  if (a.number) return plus(b, a);
  if (b.number && *b.number == 0) return a;
  return binary("add", a, b);
}

Spread SpreadOps::minus(const Spread& a, const Spread& b) {
  if (b.number) return plus(a, {-*b.number, {}, {}});
  if (a.number && *a.number == 0) return times({-1.0, {}, {}}, b);
  return binary("sub", a, b);
}

Spread SpreadOps::select(const Spread& given, const Spread& a, const Spread& b) {
  if (given.number) return *given.number != 0 ? a : b;
  if (nodes_.error() || (a.number && b.number && *a.number == *b.number)) return a;
  DataType type = a.number ? type_of(b) : type_of(a);
  if (type != DataType::kInt64 || (!b.number && type_of(b) != DataType::kInt64)) type = type_;
  return broadcast("where", {condition(given), as(a, type), as(b, type)});
}

Spread SpreadOps::apply(Function function, const std::vector<Spread>& arguments) {
  const bool is_constant =
      std::ranges::all_of(arguments, [](const Spread& x) { return x.number.has_value(); });
  if (is_constant) {
    std::vector<double> numbers;
    for (const Spread& x : arguments) numbers.push_back(*x.number);
    return {evaluate(function, numbers), {}, {}};
  }
  const Spread& x = arguments[0];
  if (const char* op = operator_of(function)) {
    if (function == Function::kPow) return broadcast(op, {as(x, type_), as(arguments[1], type_)});
    if (arguments.size() == 2) return binary(op, x, arguments[1]);
    return unary(op, core::is_floating(type_of(x)) ? x : as(x, type_));
  }
  switch (function) {
  case Function::kSelect:
    return select(x, arguments[1], arguments[2]);
  case Function::kIsZero:
    return unary("not", condition(x));
  case Function::kLog1p:
    return unary("log", plus({1.0, {}, {}}, x));
  case Function::kTruncate:
    if (!core::is_floating(type_of(x))) return x;
    return select(binary("less", x, {0.0, {}, {}}), unary("ceil", x), unary("floor", x));
  default:
    CHECK(false, "a function without operators");
  }
}

Spread SpreadOps::masked(const IndexTable& mask, const Spread& x, double other) {
  if (std::ranges::count(mask.values, 0) == 0) return x;
  if (std::ranges::count(mask.values, 0) == std::ssize(mask.values)) return {other, {}, {}};
  return select(constant(mask, DataType::kBool), x, {other, {}, {}});
}

Spread SpreadOps::reduced(std::string_view op, const Spread& x, std::span<const Symbol> axes) {
  if (nodes_.error() || axes.empty()) return x;
  Spread result{{}, {}, {}};
  std::vector<Polynomial> dims;
  for (std::size_t d = 0; d < x.axes.size(); ++d) {
    if (std::ranges::find(axes, x.axes[d]) == axes.end())
      result.axes.push_back(x.axes[d]);
    else
      dims.emplace_back(static_cast<std::int64_t>(d));
  }
  if (dims.empty()) return x;
  result.tensor = nodes_.append(op, {x.tensor}, {{"axes", dims}, {"keep_dims", Polynomial(0)}});
  return result;
}

}  // namespace soapstone::ops
