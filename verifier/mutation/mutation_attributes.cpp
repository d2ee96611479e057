// Changes of attributes: a neighbor of each number, another axis, exchanged entries.
#include <algorithm>
#include <cmath>

#include "verifier/mutation/mutation_edits.h"

namespace soapstone::verifier {

using core::AttributeValue;
using core::Polynomial;
using Sizes = std::vector<Polynomial>;

namespace {

constexpr std::int64_t kAxesToTry = 4;

bool is_window(std::string_view op) {
  return op == "conv" || op == "max_pool" || op == "average_pool";
}

/// Each entry one larger, and one smaller where it stays at least `least`.
void add_neighbors(const Sizes& list, std::int64_t least, std::vector<AttributeValue>& out) {
  for (std::size_t k = 0; k < list.size(); ++k)
    for (std::int64_t step : {1, -1}) {
      Sizes other = list;
      other[k] += step;
      if (!other[k].is_constant() || other[k].constant() >= least) out.push_back(std::move(other));
    }
}

void add_exchanges(const Sizes& list, std::vector<AttributeValue>& out) {
  for (std::size_t a = 0; a < list.size(); ++a)
    for (std::size_t b = a + 1; b < list.size(); ++b) {
      Sizes other = list;
      std::swap(other[a], other[b]);
      if (other != list) out.push_back(std::move(other));
    }
}

/// Sizes that still add up, as those of a split must.
void add_shifts(const Sizes& list, std::vector<AttributeValue>& out) {
  for (std::size_t a = 0; a < list.size(); ++a)
    for (std::size_t b = 0; b < list.size(); ++b) {
      if (a == b) continue;
      Sizes other = list;
      other[a] += 1;
      other[b] += -1;
      out.push_back(std::move(other));
    }
}

/// Another axis in one place, one fewer, one more.
void add_axis_sets(const Sizes& axes, std::vector<AttributeValue>& out) {
  const auto add = [&](Sizes other) {
    std::ranges::sort(other);
    if (std::ranges::adjacent_find(other) == other.end() && other != axes)
      out.push_back(std::move(other));
  };
  for (std::int64_t axis = 0; axis < kAxesToTry; ++axis) {
    Sizes more = axes;
    more.push_back(axis);
    add(more);
    for (std::size_t k = 0; k < axes.size(); ++k) {
      Sizes other = axes;
      other[k] = axis;
      add(other);
    }
  }
  for (std::size_t k = 0; k < axes.size() && axes.size() > 1; ++k) {
    Sizes fewer = axes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
    out.push_back(std::move(fewer));
  }
}

std::vector<AttributeValue> other_numbers(MutationKind kind, const Polynomial& value) {
  std::vector<AttributeValue> out;
  if (kind == MutationKind::kAxis) {
    for (std::int64_t axis = 0; axis < kAxesToTry; ++axis)
      if (value != Polynomial(axis)) out.push_back(Polynomial(axis));
  } else if (kind == MutationKind::kKeepDims || kind == MutationKind::kConvention) {
    out.push_back(Polynomial(1) - value);
  } else {
    out.push_back(value + 1);
    out.push_back(value * 2);
    if (!value.is_constant() || value.constant() > 1) out.push_back(value + -1);
    if (value != Polynomial(1)) out.push_back(Polynomial(1));
  }
  return out;
}

std::vector<AttributeValue> other_lists(MutationKind kind, const DraftNode& node,
                                        std::string_view name, const Sizes& list) {
  std::vector<AttributeValue> out;
  switch (kind) {
  case MutationKind::kReducedAxes:
    add_axis_sets(list, out);
    break;
  case MutationKind::kPermutation:
    add_exchanges(list, out);
    break;
  case MutationKind::kConvention:
    out.push_back(Sizes(list.size()));
    if (list == Sizes(list.size())) out.clear();
    break;
  case MutationKind::kShape:
    add_exchanges(list, out);
    if (node.op->name != "reshape") add_neighbors(list, 1, out);
    break;
  case MutationKind::kExtent:
    if (node.op->name == "split") add_shifts(list, out);
    if (node.op->name != "split") add_neighbors(list, name == "steps" ? 1 : -2, out);
    add_exchanges(list, out);
    break;
  default:
    add_neighbors(list, kind == MutationKind::kPadding ? 0 : 1, out);
    add_exchanges(list, out);
  }
  return out;
}

std::vector<AttributeValue> other_reals(MutationKind kind, double value) {
  if (kind == MutationKind::kEpsilon) return {value * 2, value / 2, 1.0};
  std::vector<AttributeValue> out;
  if (!std::isfinite(value)) return {0.0, 1.0};
  for (double other : {value + 1, value - 0.5, -value, 2 * value, 0.0})
    if (other != value) out.emplace_back(other);
  return out;
}

}  // namespace

std::optional<MutationKind> kind_of_attribute(const core::OpSchema& op, std::string_view name) {
  if (name == "axis") return MutationKind::kAxis;
  if (name == "axes") return MutationKind::kReducedAxes;
  if (name == "keep_dims") return MutationKind::kKeepDims;
  if (name == "strides") return MutationKind::kStride;
  if (name == "dilations") return MutationKind::kDilation;
  if (name == "pads") return is_window(op.name) ? MutationKind::kPadding : MutationKind::kExtent;
  if (name == "ceil_mode" || name == "count_include_pad") return MutationKind::kConvention;
  if (name == "group") return MutationKind::kGroup;
  if (name == "kernel") return MutationKind::kKernel;
  if (name == "starts" || name == "sizes" || name == "steps" || name == "interior")
    return MutationKind::kExtent;
  if (name == "perm") return MutationKind::kPermutation;
  if (name == "shape") return MutationKind::kShape;
  if (name == "epsilon") return MutationKind::kEpsilon;
  if (name == "approximate" || name == "to") return MutationKind::kVariant;
  const core::AttributeSchema* schema = op.find_attribute(name);
  if (schema && schema->kind == core::AttributeKind::kReal) return MutationKind::kConstant;
  return std::nullopt;
}

std::vector<AttributeValue> other_values(MutationKind kind, const DraftNode& node,
                                         std::string_view attribute) {
  const AttributeValue* value = node.attributes.find(attribute);
  if (!value) return {};
  if (const auto* p = std::get_if<Polynomial>(value)) return other_numbers(kind, *p);
  if (const auto* r = std::get_if<double>(value)) return other_reals(kind, *r);
  if (const auto* l = std::get_if<Sizes>(value)) return other_lists(kind, node, attribute, *l);
  const std::string& text = std::get<std::string>(*value);
  if (attribute == "approximate") return {std::string(text == "none" ? "tanh" : "none")};
  std::vector<AttributeValue> out;
  for (const char* type : {"f32", "i32", "i64", "bool", "f16", "f64"})
    if (text != type) out.emplace_back(std::string(type));
  return out;
}

}  // namespace soapstone::verifier
