// Checks that the shape rules of many operators share. They say what is wrong in terms that the
// author of a model or a rule knows: attribute names, axes, element types.
#include "ops/definition/infer_rules.h"

#include "ops/language/comprehension.h"

#include <fmt/format.h>

#include <cmath>

namespace soapstone::ops {

using core::DataType;

std::string label(std::string_view op, std::string_view what) {
  std::string text;
  text.reserve(op.size() + 1 + what.size());
  return text.append(op).append(1, '.').append(what);
}

bool admits(Elements elements, DataType type) {
  switch (elements) {
  case Elements::kFloating:
    return core::is_floating(type);
  case Elements::kArithmetic:
    return core::is_floating(type) || type == DataType::kInt32 || type == DataType::kInt64;
  case Elements::kNumbers:
    return core::size_bytes(type) != 0;
  case Elements::kBool:
    return type == DataType::kBool;
  }
  return false;
}

std::string_view to_string(Elements elements) {
  switch (elements) {
  case Elements::kFloating:
    return "floating-point";
  case Elements::kArithmetic:
    return "floating-point, i32 or i64";
  case Elements::kNumbers:
    return "numeric";
  case Elements::kBool:
    return "bool";
  }
  return "";
}

bool require_elements(InferContext& context, std::string_view op, Elements elements) {
  for (std::size_t k = 0; k < context.input_count(); ++k) {
    if (!context.has_input(k)) continue;
    const DataType type = context.input(k).data_type;
    if (admits(elements, type)) continue;
    return context.require(false, label(op, "element_type"),
                           fmt::format("input {} has elements of type {}; {} needs {} elements", k,
                                       core::to_string(type), op, to_string(elements)));
  }
  return !context.failed();
}

bool require_same_type(InferContext& context, std::string_view op, std::size_t first) {
  for (std::size_t k = first + 1; k < context.input_count(); ++k) {
    if (!context.has_input(k)) continue;
    const DataType a = context.input(first).data_type, b = context.input(k).data_type;
    if (a == b) continue;
    return context.require(false, label(op, "same_type"),
                           fmt::format("input {} has elements of type {}, input {} of type {}",
                                       first, core::to_string(a), k, core::to_string(b)));
  }
  return !context.failed();
}

bool require_one_type(InferContext& context, std::string_view op, Elements elements) {
  return require_elements(context, op, elements) && require_same_type(context, op);
}

std::optional<std::int64_t> require_int(InferContext& context, std::string_view op,
                                        std::string_view name) {
  auto value = context.attributes().get_size(name).as_constant();
  if (!value)
    context.require(false, label(op, "concrete"),
                    fmt::format("attribute '{}' must be a plain number", name));
  return value;
}

std::optional<std::vector<std::int64_t>> require_ints(InferContext& context, std::string_view op,
                                                      std::string_view name) {
  std::vector<std::int64_t> values;
  for (const Polynomial& size : context.attributes().get_sizes(name)) {
    auto value = size.as_constant();
    if (!value)
      context.require(false, label(op, "concrete"),
                      fmt::format("attribute '{}' must be a list of plain numbers", name));
    if (context.failed()) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

core::AttributeSchema axis_attribute() {
  return {"axis",
          core::AttributeRole::kAxis,
          std::nullopt,
          {Polynomial(0), Polynomial(1), Polynomial(2)}};
}

std::optional<std::size_t> require_axis(InferContext& context, std::string_view op,
                                        std::size_t rank) {
  auto axis = require_int(context, op, "axis");
  if (!axis) return std::nullopt;
  if (*axis < 0 || static_cast<std::uint64_t>(*axis) >= rank)
    context.require(false, label(op, "axis"),
                    fmt::format("axis {} is not one of a tensor of rank {}", *axis, rank));
  if (context.failed()) return std::nullopt;
  return static_cast<std::size_t>(*axis);
}

std::optional<std::vector<std::size_t>> require_axes(InferContext& context, std::string_view op,
                                                     std::size_t rank) {
  auto axes = require_ints(context, op, "axes");
  if (!axes) return std::nullopt;
  std::int64_t previous = -1;
  for (std::int64_t axis : *axes) {
    if (axis <= previous || static_cast<std::uint64_t>(axis) >= rank)
      context.require(
          false, label(op, "axes"),
          fmt::format("axes must ascend from 0 below the rank {}; found {}", rank, axis));
    if (context.failed()) return std::nullopt;
    previous = axis;
  }
  return std::vector<std::size_t>(axes->begin(), axes->end());
}

std::size_t axis_of(const core::Attributes& attributes) {
  return static_cast<std::size_t>(attributes.get_int("axis"));
}

std::vector<std::size_t> axes_of(const core::Attributes& attributes) {
  const std::vector<std::int64_t> axes = attributes.get_ints("axes");
  return {axes.begin(), axes.end()};
}

bool require_broadcasts_to(InferContext& context, std::string_view op, std::string_view what,
                           const Shape& input, const Shape& result) {
  if (input.size() > result.size())
    return context.require(false, label(op, what),
                           fmt::format("a tensor of rank {} cannot be broadcast to rank {}",
                                       input.size(), result.size()));
  const std::size_t lead = result.size() - input.size();
  for (std::size_t d = 0; d < input.size(); ++d)
    if (input[d] != Polynomial(1) &&
        !context.require_equal(input[d], result[lead + d], label(op, what)))
      return false;
  return true;
}

bool is_representable(double value) {
  constexpr double kLargest = 0x1p62, kSmallest = 0x1p-50;
  const double size = std::fabs(value);
  if (value == 0) return true;
  if (!(size >= kSmallest && size <= kLargest)) return false;
  const Rational fraction = to_rational(value);
  return static_cast<double>(fraction.numerator) / static_cast<double>(fraction.denominator) ==
         value;
}

bool require_representable(InferContext& context, std::string_view op, std::string_view name) {
  const double value = context.attributes().get_real(name);
  return context.require(is_representable(value), label(op, name),
                         fmt::format("attribute '{}' is {}, which is out of range", name, value));
}

}  // namespace soapstone::ops
