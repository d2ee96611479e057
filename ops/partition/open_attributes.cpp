// Which number of a part's operator follows from which size, by the roles of attributes.
#include "ops/partition/open_attributes.h"

#include <algorithm>

#include "ops/definition/by_role.h"

namespace soapstone::ops::partition {
namespace {

using core::AttributeRole;
using core::Attributes;
using Sizes = std::vector<Polynomial>;

bool has_ends(AttributeRole role) {
  return role == AttributeRole::kPad || role == AttributeRole::kBorder;
}
bool has_begins(AttributeRole role) { return has_ends(role) || role == AttributeRole::kStart; }

std::size_t begin_count(AttributeRole role, const Sizes& values) {
  return has_ends(role) ? values.size() / 2 : values.size();
}

Sizes sizes_of(const core::Dims& dims) { return {dims.begin(), dims.end()}; }

/// The lengths of the pieces along the axes that another attribute names.
Sizes pieces(const core::Node& node, const core::Dims& extents) {
  Sizes sizes;
  for (const Polynomial& axis : sizes_by_role(node, AttributeRole::kAxes))
    sizes.emplace_back(extents[static_cast<std::size_t>(axis.constant())]);
  return sizes;
}

Sizes parts(const core::Node& node, const std::vector<core::Dims>& extents) {
  const std::size_t axis = axis_by_role(node);
  Sizes sizes;
  for (const core::Dims& dims : extents) sizes.emplace_back(dims[axis]);
  return sizes;
}

/// Lists of a pad or border attribute of which the end in dimension d is `end`.
Attributes with_end(const Attributes& attributes, const std::string& name, std::size_t d,
                    std::int64_t end) {
  Attributes result = attributes;
  Sizes values = attributes.get_sizes(name);
  values[values.size() / 2 + d] = end;
  result.set(name, std::move(values));
  return result;
}

/// Ends of one dimension that give it the extent: the node's own, then the smallest ones.
std::vector<std::int64_t>
fitting_ends(const Attributes& attributes, const core::AttributeSchema& schema, std::size_t d,
             std::size_t dim, std::int64_t extent,
             const std::function<std::optional<core::Dims>(const Attributes&)>& infer) {
  constexpr std::int64_t kLargestPad = 256;
  constexpr std::size_t kMostEnds = 4;
  const Sizes& values = attributes.get_sizes(schema.name);
  const std::int64_t own = values[values.size() / 2 + d].constant();
  const auto size_with = [&](std::int64_t end) -> std::optional<std::int64_t> {
    const auto dims = infer(with_end(attributes, schema.name, d, end));
    return dims && dim < dims->size() ? std::optional((*dims)[dim]) : std::nullopt;
  };
  if (schema.role == AttributeRole::kBorder) {  // each element of a border is one of the result
    for (std::int64_t end : {own, std::int64_t{0}, extent})
      if (const auto size = size_with(end)) return {end + extent - *size};
    return {};
  }
  std::vector<std::int64_t> ends;
  if (size_with(own) == extent) ends.push_back(own);
  std::int64_t nearest = INT64_MAX;
  for (std::int64_t end = 0; end <= kLargestPad && ends.size() < kMostEnds; ++end) {
    const auto size = size_with(end);
    const std::int64_t distance = size ? std::abs(*size - extent) : nearest;
    if (distance > nearest) break;  // sizes only grow with the end, or only shrink
    nearest = distance;
    if (size && distance == 0 && end != own) ends.push_back(end);
  }
  return ends;
}

}  // namespace

std::vector<Attributes> scaled_attributes(const core::Node& node,
                                          const std::vector<CutSize>& cuts) {
  std::vector<Attributes> variants{node.attributes};
  for (const core::AttributeSchema& schema : node.op->attributes)
    for (const CutSize& cut : cuts) {
      if (schema.role == AttributeRole::kGroup &&
          node.attributes.get_int(schema.name) == cut.whole) {
        variants.push_back(node.attributes);
        variants.back().set(schema.name, Polynomial(cut.part));
      }
      if (schema.role != AttributeRole::kStride) continue;
      const Sizes& strides = node.attributes.get_sizes(schema.name);
      for (std::size_t d = 0; d < strides.size(); ++d) {
        if (strides[d] != Polynomial(cut.whole)) continue;
        Sizes values = strides;
        values[d] = cut.part;
        variants.push_back(node.attributes);
        variants.back().set(schema.name, std::move(values));
      }
    }
  return variants;
}

Attributes open_attributes(const core::Node& node, const Attributes& attributes,
                           const std::vector<core::Dims>& extents) {
  Attributes result = attributes;
  std::uint32_t next = 1U << 24;
  for (const core::AttributeSchema& schema : node.op->attributes) {
    if (schema.role == AttributeRole::kShape)
      result.set(schema.name, sizes_of(extents[0]));
    else if (schema.role == AttributeRole::kExtent)
      result.set(schema.name, pieces(node, extents[0]));
    else if (schema.role == AttributeRole::kParts)
      result.set(schema.name, parts(node, extents));
    if (!has_begins(schema.role)) continue;
    Sizes values = node.attributes.get_sizes(schema.name);
    for (std::size_t k = 0; k < begin_count(schema.role, values); ++k)
      values[k] = Polynomial(unknown(next++));
    result.set(schema.name, std::move(values));
  }
  return result;
}

std::vector<std::int64_t> begins_of(const core::Node& node) {
  std::vector<std::int64_t> begins;
  for (const core::AttributeSchema& schema : node.op->attributes) {
    if (!has_begins(schema.role)) continue;
    const Sizes& values = node.attributes.get_sizes(schema.name);
    for (std::size_t k = 0; k < begin_count(schema.role, values); ++k)
      begins.push_back(values[k].constant());
  }
  return begins;
}

Attributes with_begins(const Attributes& open, const Solution& solution,
                       const std::vector<std::int64_t>& otherwise) {
  Solution all = solution;
  for (std::size_t k = 0; k < otherwise.size(); ++k)
    all.emplace(unknown((1U << 24) + static_cast<std::uint32_t>(k)), otherwise[k]);
  Attributes result = open;
  for (const auto& [name, value] : open.values()) {
    const auto* list = std::get_if<Sizes>(&value);
    if (!list) continue;
    Sizes numbers;
    for (const Polynomial& p : *list) numbers.push_back(with_solution(p, all));
    result.set(name, std::move(numbers));
  }
  return result;
}

std::vector<Attributes>
with_ends(const core::Node& node, const Attributes& attributes, const core::Dims& extents,
          const std::function<std::optional<core::Dims>(const Attributes&)>& infer) {
  std::vector<Attributes> results{attributes};
  for (const core::AttributeSchema& schema : node.op->attributes) {
    if (!has_ends(schema.role)) continue;
    const std::size_t rank = attributes.get_sizes(schema.name).size() / 2;
    for (std::size_t d = 0; d < rank; ++d) {
      // Windows slide over the last dimensions.
      const std::size_t dim = extents.size() - rank + d;
      const auto ends = fitting_ends(attributes, schema, d, dim, extents[dim], infer);
      std::vector<Attributes> more;
      for (std::int64_t end : ends)
        for (const Attributes& result : results)
          more.push_back(with_end(result, schema.name, d, end));
      results = std::move(more);
    }
  }
  return results;
}

}  // namespace soapstone::ops::partition
