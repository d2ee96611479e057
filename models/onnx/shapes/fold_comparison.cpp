// Folding of comparisons, logic and the choices that depend on them.
#include "models/onnx/shapes/fold_values.h"

namespace soapstone::models::folding {
namespace {

using core::DataType;

template <class Relation>
Outputs compare(const FoldNode& node, const Relation& holds) {
  auto pair = operands(node);
  if (!pair) return std::nullopt;
  const auto& [a, b] = *pair;
  Values result{DataType::kBool, a.dims, {}, {}};
  for (std::size_t i = 0; i < a.count(); ++i) {
    result.ints.push_back(a.is_real() ? holds(a.reals[i], b.reals[i])
                                      : holds(a.ints[i], b.ints[i]));
  }
  return std::vector{std::move(result)};
}

Outputs fold_less(const FoldNode& node) {
  return compare(node, [](auto a, auto b) { return a < b; });
}
Outputs fold_less_or_equal(const FoldNode& node) {
  return compare(node, [](auto a, auto b) { return a <= b; });
}
Outputs fold_greater(const FoldNode& node) {
  return compare(node, [](auto a, auto b) { return a > b; });
}
Outputs fold_greater_or_equal(const FoldNode& node) {
  return compare(node, [](auto a, auto b) { return a >= b; });
}
Outputs fold_equal(const FoldNode& node) {
  return compare(node, [](auto a, auto b) { return a == b; });
}
Outputs fold_and(const FoldNode& node) {
  return compare(node, [](auto a, auto b) { return a != 0 && b != 0; });
}
Outputs fold_or(const FoldNode& node) {
  return compare(node, [](auto a, auto b) { return a != 0 || b != 0; });
}

Outputs fold_not(const FoldNode& node) {
  Values x = node.input(0);
  if (x.type != DataType::kBool) return std::nullopt;
  for (std::int64_t& value : x.ints) value = value == 0;
  return std::vector{std::move(x)};
}

Outputs fold_where(const FoldNode& node) {
  if (node.input_count() != 3) return std::nullopt;
  const Values &c = node.input(0), &a = node.input(1), &b = node.input(2);
  auto dims = broadcast(a.dims, b.dims);
  if (dims) dims = broadcast(*dims, c.dims);
  if (!dims || !bearable_count(*dims) || a.type != b.type || c.is_real()) return std::nullopt;
  const Values condition = take(c, *dims, broadcast_sources(c.dims, *dims));
  Values result = take(a, *dims, broadcast_sources(a.dims, *dims));
  const Values other = take(b, *dims, broadcast_sources(b.dims, *dims));
  for (std::size_t i = 0; i < condition.ints.size(); ++i) {
    if (condition.ints[i] != 0) continue;
    if (result.is_real())
      result.reals[i] = other.reals[i];
    else
      result.ints[i] = other.ints[i];
  }
  return std::vector{std::move(result)};
}

}  // namespace

FoldFunction find_comparison(std::string_view op_type) {
  static constexpr std::pair<std::string_view, FoldFunction> kTable[] = {
      {"Less", fold_less},       {"LessOrEqual", fold_less_or_equal},
      {"Greater", fold_greater}, {"GreaterOrEqual", fold_greater_or_equal},
      {"Equal", fold_equal},     {"And", fold_and},
      {"Or", fold_or},           {"Not", fold_not},
      {"Where", fold_where},
  };
  for (const auto& [name, function] : kTable) {
    if (name == op_type) return function;
  }
  return nullptr;
}

}  // namespace soapstone::models::folding
