// Folding of elementwise arithmetic. Integer results that overflow 64 bits and divisions by zero
// are not folded; reals are rounded to f32 after each operation, as at run time.
#include <cmath>
#include <limits>

#include "models/onnx/shapes/fold_values.h"

namespace soapstone::models::folding {
namespace {

using core::DataType;
using Int = std::int64_t;

double rounded(DataType type, double value) {
  return type == DataType::kFloat32 ? static_cast<double>(static_cast<float>(value)) : value;
}

/// Same type as the operands. The integer operation answers none where it is undefined.
template <class OnInts, class OnReals>
Outputs combine(const FoldNode& node, const OnInts& on_ints, const OnReals& on_reals) {
  auto pair = operands(node);
  if (!pair) return std::nullopt;
  auto& [a, b] = *pair;
  for (std::size_t i = 0; i < a.ints.size(); ++i) {
    const std::optional<Int> value = on_ints(a.ints[i], b.ints[i]);
    if (!value) return std::nullopt;
    a.ints[i] = *value;
  }
  for (std::size_t i = 0; i < a.reals.size(); ++i) {
    a.reals[i] = rounded(a.type, on_reals(a.reals[i], b.reals[i]));
  }
  return std::vector{std::move(a)};
}

template <class OnInts, class OnReals>
Outputs map(const FoldNode& node, const OnInts& on_ints, const OnReals& on_reals) {
  Values x = node.input(0);
  for (Int& value : x.ints) {
    const std::optional<Int> image = on_ints(value);
    if (!image) return std::nullopt;
    value = *image;
  }
  for (double& value : x.reals) value = rounded(x.type, on_reals(value));
  return std::vector{std::move(x)};
}

Outputs fold_add(const FoldNode& node) {
  return combine(
      node,
      [](Int a, Int b) -> std::optional<Int> {
        Int sum;
        if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
        return sum;
      },
      [](double a, double b) { return a + b; });
}

Outputs fold_sub(const FoldNode& node) {
  return combine(
      node,
      [](Int a, Int b) -> std::optional<Int> {
        Int difference;
        if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
        return difference;
      },
      [](double a, double b) { return a - b; });
}

Outputs fold_mul(const FoldNode& node) {
  return combine(
      node,
      [](Int a, Int b) -> std::optional<Int> {
        Int product;
        if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
        return product;
      },
      [](double a, double b) { return a * b; });
}

bool divides(Int a, Int b) { return b != 0 && !(a == std::numeric_limits<Int>::min() && b == -1); }

Outputs fold_div(const FoldNode& node) {
  return combine(
      node,
      [](Int a, Int b) -> std::optional<Int> {
        if (!divides(a, b)) return std::nullopt;
        return a / b;  // toward zero, as ONNX says
      },
      [](double a, double b) { return a / b; });
}

Outputs fold_mod(const FoldNode& node) {
  const bool c_style = node.int_or("fmod", 0) != 0;
  if (node.input(0).is_real()) return std::nullopt;
  return combine(
      node,
      [c_style](Int a, Int b) -> std::optional<Int> {
        if (!divides(a, b)) return std::nullopt;
        const Int rest = a % b;
        return !c_style && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      },
      [](double a, double) { return a; });
}

template <bool kMax>
Outputs fold_extreme(const FoldNode& node) {
  if (node.input_count() != 2) return std::nullopt;
  return combine(
      node, [](Int a, Int b) -> std::optional<Int> { return (a < b) == kMax ? b : a; },
      [](double a, double b) {
        if (std::isnan(a) || std::isnan(b)) return a + b;
        return (a < b) == kMax ? b : a;
      });
}

Outputs fold_neg(const FoldNode& node) {
  return map(
      node,
      [](Int a) -> std::optional<Int> {
        if (a == std::numeric_limits<Int>::min()) return std::nullopt;
        return -a;
      },
      [](double a) { return -a; });
}

Outputs fold_abs(const FoldNode& node) {
  return map(
      node,
      [](Int a) -> std::optional<Int> {
        if (a == std::numeric_limits<Int>::min()) return std::nullopt;
        return a < 0 ? -a : a;
      },
      [](double a) { return std::fabs(a); });
}

/// Only reals are rounded.
template <double (*kFunction)(double)>
Outputs fold_real(const FoldNode& node) {
  if (!node.input(0).is_real()) return std::nullopt;
  return map(
      node, [](Int a) -> std::optional<Int> { return a; }, kFunction);
}
double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }
double round_of(double x) { return std::nearbyint(x); }
double root_of(double x) { return std::sqrt(x); }

/// A real becomes an integer by truncation, if that integer exists.
std::optional<Int> truncated(double value) {
  if (!(std::fabs(value) < 0x1p63)) return std::nullopt;
  return static_cast<Int>(value);
}

DataType cast_target(const FoldNode& node) {
  switch (node.int_or("to", 0)) {
  case onnx::TensorProto::FLOAT:
    return DataType::kFloat32;
  case onnx::TensorProto::DOUBLE:
    return DataType::kFloat64;
  case onnx::TensorProto::INT64:
    return DataType::kInt64;
  case onnx::TensorProto::INT32:
    return DataType::kInt32;
  case onnx::TensorProto::BOOL:
    return DataType::kBool;
  default:
    return DataType::kOther;  // not needed for shapes
  }
}

Outputs fold_cast(const FoldNode& node) {
  const Values& x = node.input(0);
  Values result{cast_target(node), x.dims, {}, {}};
  if (result.type == DataType::kOther) return std::nullopt;
  for (std::size_t i = 0; i < x.count(); ++i) {
    if (result.is_real()) {
      const double value = x.is_real() ? x.reals[i] : static_cast<double>(x.ints[i]);
      // Through double first would round an integer twice.
      if (!x.is_real() && static_cast<Int>(value) != x.ints[i]) return std::nullopt;
      result.reals.push_back(rounded(result.type, value));
    } else if (result.type == DataType::kBool) {
      result.ints.push_back(x.is_real() ? x.reals[i] != 0 : x.ints[i] != 0);
    } else {
      const auto value = x.is_real() ? truncated(x.reals[i]) : std::optional(x.ints[i]);
      if (!value) return std::nullopt;
      result.ints.push_back(*value);
    }
  }
  return std::vector{std::move(result)};
}

}  // namespace

FoldFunction find_arithmetic(std::string_view op_type) {
  static constexpr std::pair<std::string_view, FoldFunction> kTable[] = {
      {"Add", fold_add},
      {"Sub", fold_sub},
      {"Mul", fold_mul},
      {"Div", fold_div},
      {"Mod", fold_mod},
      {"Max", fold_extreme<true>},
      {"Min", fold_extreme<false>},
      {"Neg", fold_neg},
      {"Abs", fold_abs},
      {"Floor", fold_real<floor_of>},
      {"Ceil", fold_real<ceil_of>},
      {"Round", fold_real<round_of>},
      {"Sqrt", fold_real<root_of>},
      {"Cast", fold_cast},
  };
  for (const auto& [name, function] : kTable) {
    if (name == op_type) return function;
  }
  return nullptr;
}

}  // namespace soapstone::models::folding
