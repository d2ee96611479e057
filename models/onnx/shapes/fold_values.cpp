// What the folding rules share: literals to values and back, broadcasting, index arithmetic.
#include "models/onnx/shapes/fold_values.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace soapstone::models::folding {

using core::DataType;
using core::Dims;

namespace {

template <class T>
std::optional<core::Literal> as_integers(const Values& values) {
  std::vector<T> elements;
  elements.reserve(values.ints.size());
  for (std::int64_t value : values.ints) {
    if (!std::in_range<T>(value)) return std::nullopt;
    elements.push_back(static_cast<T>(value));
  }
  return core::Literal::copy(values.type, values.dims, std::as_bytes(std::span(elements)));
}

bool is_bool_or_signed_range(DataType type) {
  return type != DataType::kUInt64 && type != DataType::kString && type != DataType::kOther;
}

}  // namespace

std::optional<Values> to_values(const core::Literal& literal) {
  const DataType type = literal.data_type();
  if (literal.count() > kMostFoldedElements || !is_bool_or_signed_range(type)) return std::nullopt;
  Values values{type, literal.dims(), {}, {}};
  if (type == DataType::kFloat32 || type == DataType::kFloat64) {
    values.reals = literal.to_doubles();
    return values;
  }
  auto ints = literal.to_ints();
  if (!ints) return std::nullopt;
  values.ints = *std::move(ints);
  return values;
}

std::optional<core::Literal> to_literal(const Values& values) {
  switch (values.type) {
  case DataType::kFloat32: {
    const std::vector<float> elements(values.reals.begin(), values.reals.end());
    return core::Literal::floats(values.dims, elements);
  }
  case DataType::kFloat64:
    return core::Literal::copy(values.type, values.dims, std::as_bytes(std::span(values.reals)));
  case DataType::kInt64:
    return as_integers<std::int64_t>(values);
  case DataType::kInt32:
    return as_integers<std::int32_t>(values);
  case DataType::kInt16:
    return as_integers<std::int16_t>(values);
  case DataType::kInt8:
    return as_integers<std::int8_t>(values);
  case DataType::kUInt32:
    return as_integers<std::uint32_t>(values);
  case DataType::kUInt16:
    return as_integers<std::uint16_t>(values);
  case DataType::kUInt8:
  case DataType::kBool:
    return as_integers<std::uint8_t>(values);
  default:
    return std::nullopt;
  }
}

bool FoldNode::load_values() {
  for (std::size_t k = 0; k < types_.size(); ++k) {
    if (!types_[k].present) continue;
    if (!types_[k].value) return false;
    values_[k] = to_values(*types_[k].value);
    if (!values_[k]) return false;
  }
  return true;
}

const onnx::AttributeProto* FoldNode::attribute(std::string_view name) const {
  for (const auto& attribute : node_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

std::int64_t FoldNode::int_or(std::string_view name, std::int64_t fallback) const {
  const auto* found = attribute(name);
  return found && found->type() == onnx::AttributeProto::INT ? found->i() : fallback;
}

std::optional<std::vector<std::int64_t>> FoldNode::ints(std::string_view name,
                                                        std::size_t k) const {
  if (const auto* found = attribute(name)) {
    return std::vector<std::int64_t>(found->ints().begin(), found->ints().end());
  }
  if (!has(k) || input(k).is_real()) return std::nullopt;
  return input(k).ints;
}

std::optional<std::size_t> bearable_count(const Dims& dims) {
  const auto count = core::checked_element_count(dims);
  if (!count || *count > kMostFoldedElements) return std::nullopt;
  return static_cast<std::size_t>(*count);
}

std::optional<std::size_t> normal_axis(std::int64_t axis, std::size_t rank) {
  const auto bound = static_cast<std::int64_t>(rank);
  if (axis < -bound || axis >= bound) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + bound : axis);
}

std::optional<std::vector<std::size_t>> normal_axes(const std::vector<std::int64_t>& axes,
                                                    std::size_t rank) {
  std::vector<std::size_t> result;
  for (std::int64_t axis : axes) {
    const auto normal = normal_axis(axis, rank);
    if (!normal) return std::nullopt;
    result.push_back(*normal);
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) return std::nullopt;
  return result;
}

std::vector<std::size_t> row_major_strides(const Dims& dims) {
  std::vector<std::size_t> strides(dims.size());
  std::size_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= static_cast<std::size_t>(dims[i]);
  }
  return strides;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {  // from the last dimension on
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    result[result.size() - 1 - i] = left == 1 ? right : left;
  }
  return result;
}

std::vector<std::size_t> broadcast_sources(const Dims& from, const Dims& to) {
  const auto strides = row_major_strides(from);
  const std::size_t added = to.size() - from.size();
  std::vector<std::size_t> sources;
  each_index(to, [&](const Dims& at) {
    std::size_t source = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] != 1) source += static_cast<std::size_t>(at[i + added]) * strides[i];
    }
    sources.push_back(source);
  });
  return sources;
}

Values take(const Values& from, Dims dims, const std::vector<std::size_t>& sources) {
  Values result{from.type, std::move(dims), {}, {}};
  for (std::size_t source : sources) {
    if (from.is_real())
      result.reals.push_back(from.reals[source]);
    else
      result.ints.push_back(from.ints[source]);
  }
  return result;
}

void append(Values& to, const Values& from, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (to.is_real())
      to.reals.push_back(from.reals[i]);
    else
      to.ints.push_back(from.ints[i]);
  }
}

std::int64_t product(const Dims& dims, std::size_t begin, std::size_t end) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(begin),
                         dims.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1},
                         std::multiplies<>());
}

std::optional<Operands> operands(const FoldNode& node) {
  if (!node.has(0) || !node.has(1) || node.input(0).type != node.input(1).type) return {};
  const Values &a = node.input(0), &b = node.input(1);
  const auto dims = broadcast(a.dims, b.dims);
  if (!dims || !bearable_count(*dims)) return std::nullopt;
  return Operands{take(a, *dims, broadcast_sources(a.dims, *dims)),
                  take(b, *dims, broadcast_sources(b.dims, *dims))};
}

}  // namespace soapstone::models::folding
