// Changes of attributes: a neighbor of each number, another axis, exchanged entries.
#include <algorithm>
#include <cmath>

#include "verifier/mutation/mutation_edits.h"

namespace soapstone::verifier {

using core::AttributeRole;
using core::AttributeValue;
using core::Polynomial;
using Sizes = std::vector<Polynomial>;

namespace {

constexpr std::int64_t kAxesToTry = 4;

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

std::vector<AttributeValue> other_lists(MutationKind kind, const core::OpSchema& op,
                                        AttributeRole role, const Sizes& list) {
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
    if (op.movement != core::Movement::kReshape) add_neighbors(list, 1, out);
    break;
  case MutationKind::kExtent:
    if (role == AttributeRole::kParts)
      add_shifts(list, out);
    else
      add_neighbors(list, role == AttributeRole::kStep ? 1 : -2, out);
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

std::optional<MutationKind> kind_of_attribute(AttributeRole role) {
  switch (role) {
  case AttributeRole::kAxis:
    return MutationKind::kAxis;
  case AttributeRole::kAxes:
    return MutationKind::kReducedAxes;
  case AttributeRole::kKeepsRank:
    return MutationKind::kKeepDims;
  case AttributeRole::kStride:
    return MutationKind::kStride;
  case AttributeRole::kDilation:
    return MutationKind::kDilation;
  case AttributeRole::kPad:
    return MutationKind::kPadding;
  case AttributeRole::kFlag:
  case AttributeRole::kCountsPad:
    return MutationKind::kConvention;
  case AttributeRole::kGroup:
    return MutationKind::kGroup;
  case AttributeRole::kWindow:
    return MutationKind::kKernel;
  case AttributeRole::kStart:
  case AttributeRole::kExtent:
  case AttributeRole::kParts:
  case AttributeRole::kStep:
  case AttributeRole::kBorder:
  case AttributeRole::kGap:
  case AttributeRole::kInteger:
    return MutationKind::kExtent;
  case AttributeRole::kPermutation:
    return MutationKind::kPermutation;
  case AttributeRole::kShape:
    return MutationKind::kShape;
  case AttributeRole::kReal:
    return MutationKind::kConstant;
  case AttributeRole::kPositiveReal:
    return MutationKind::kEpsilon;
  case AttributeRole::kVariant:
  case AttributeRole::kElementType:
    return MutationKind::kVariant;
  case AttributeRole::kRatio:
  case AttributeRole::kLabels:
  case AttributeRole::kInput:
  case AttributeRole::kInputShapes:
  case AttributeRole::kEquation:
  case AttributeRole::kText:
    return std::nullopt;
  }
  return std::nullopt;
}

std::vector<AttributeValue> other_values(MutationKind kind, const DraftNode& node,
                                         const core::AttributeSchema& attribute) {
  const AttributeValue* value = node.attributes.find(attribute.name);
  if (!value) return {};
  if (const auto* p = std::get_if<Polynomial>(value)) return other_numbers(kind, *p);
  if (const auto* r = std::get_if<double>(value)) return other_reals(kind, *r);
  if (const auto* l = std::get_if<Sizes>(value))
    return other_lists(kind, *node.op, attribute.role, *l);
  std::vector<AttributeValue> out;
  const auto add = [&](const AttributeValue& other) {
    if (other != *value) out.push_back(other);
  };
  if (attribute.role == AttributeRole::kElementType)
    for (const char* type : {"f32", "i32", "i64", "bool", "f16", "f64"}) add(std::string(type));
  else
    std::ranges::for_each(attribute.values_to_try, add);
  return out;
}

}  // namespace soapstone::verifier
