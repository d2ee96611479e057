// Which number of a part's operator follows from which size, by the roles of attributes.
#include "ops/restriction/open_attributes.h"

#include <algorithm>
#include <utility>

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
    sizes.emplace_back(extents.at(static_cast<std::size_t>(axis.constant())));
  return sizes;
}

Sizes parts(const core::Node& node, const std::vector<core::Dims>& extents) {
  const std::size_t axis = axis_by_role(node);
  Sizes sizes;
  for (const core::Dims& dims : extents) sizes.emplace_back(axis < dims.size() ? dims[axis] : 0);
  return sizes;
}

/// A gradient's attributes list the shapes of its operator's inputs, each behind its rank.
struct ListedShape {
  std::size_t begin;  ///< Of the sizes, in the list.
  std::int64_t rank;  ///< −1: left out.
};
std::vector<ListedShape> listed_shapes(const Sizes& list) {
  std::vector<ListedShape> shapes;
  for (std::size_t k = 0; k < list.size();) {
    shapes.push_back({k + 1, list[k].constant()});
    k += 1 + static_cast<std::size_t>(std::max<std::int64_t>(shapes.back().rank, 0));
  }
  return shapes;
}

/// Shapes of the inputs that are given, of the one that the result is the cotangent of, and as far
/// as cut loops tell of those that are not read.
Sizes input_shapes(const core::Node& node, const core::AttributeSchema& schema,
                   const PartShapes& shapes) {
  Sizes list = node.attributes.get_sizes(schema.name);
  const auto* input = node.op->find_role(AttributeRole::kInput);
  const auto result = static_cast<std::size_t>(node.attributes.get_int(input->name));
  const std::vector<ListedShape> listed = listed_shapes(list);
  for (std::size_t k = 0; k < listed.size(); ++k)
    for (std::size_t d = 0; std::cmp_less(d, listed[k].rank); ++d) {
      Polynomial& size = list[listed[k].begin + d];
      if (k == result)
        size = shapes.outputs[0][d];
      else if (shapes.inputs[k])
        size = (*shapes.inputs[k])[d];
      else
        for (const CutSize& cut : shapes.cuts)
          if (cut.runs_over(static_cast<std::size_t>(listed[k].rank), d, size)) {
            size = cut.part;
            break;
          }
    }
  return list;
}

/// The shapes of the operator's results: a gradient has their cotangents behind its operator's
/// inputs.
std::vector<core::Dims> results_of(const core::Node& node, const PartShapes& shapes) {
  const auto* schema = node.op->find_role(AttributeRole::kInputShapes);
  if (!schema) return shapes.outputs;
  std::vector<core::Dims> results;
  const std::size_t first = listed_shapes(node.attributes.get_sizes(schema->name)).size();
  for (std::size_t k = first; k < shapes.inputs.size(); ++k)
    results.push_back(shapes.inputs[k].value_or(core::Dims()));
  return results;
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
  constexpr int kMostRefused = 16;
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
  int refused = 0;
  for (std::int64_t end = 0; refused < kMostRefused && ends.size() < kMostEnds; ++end) {
    const auto size = size_with(end);
    if (!size) {
      ++refused;
      continue;
    }
    const std::int64_t distance = std::abs(*size - extent);
    if (distance > nearest) break;  // sizes only grow with the end, or only shrink
    nearest = distance;
    if (distance == 0 && end != own) ends.push_back(end);
  }
  return ends;
}

}  // namespace

bool CutSize::runs_over(std::size_t rank, std::size_t dim, const Polynomial& size) const {
  if (size != Polynomial(whole)) return false;
  const bool has_equal =
      std::ranges::any_of(places, [&](const Place& place) { return place.rank == rank; });
  return std::ranges::any_of(places, [&](const Place& place) {
    return has_equal ? place.rank == rank && place.dim == dim
                     : place.rank - place.dim == rank - dim;
  });
}

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
                           const PartShapes& shapes) {
  Attributes result = attributes;
  const std::vector<core::Dims> extents = results_of(node, shapes);
  std::uint32_t next = 1U << 24;
  for (const core::AttributeSchema& schema : node.op->attributes) {
    if (schema.role == AttributeRole::kShape)
      result.set(schema.name, sizes_of(extents[0]));
    else if (schema.role == AttributeRole::kExtent)
      result.set(schema.name, pieces(node, extents[0]));
    else if (schema.role == AttributeRole::kParts)
      result.set(schema.name, parts(node, extents));
    else if (schema.role == AttributeRole::kInputShapes)
      result.set(schema.name, input_shapes(node, schema, shapes));
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
    // Windows slide over the last dimensions. A gradient's result may have fewer: a bias has one.
    const std::size_t rank = attributes.get_sizes(schema.name).size() / 2;
    for (std::size_t d = 0; d < rank && rank <= extents.size(); ++d) {
      const std::size_t dim = extents.size() - rank + d;
      std::vector<Attributes> more;
      for (const Attributes& result : results) {
        const auto ends = fitting_ends(result, schema, d, dim, extents[dim], infer);
        for (std::int64_t end : ends) more.push_back(with_end(result, schema.name, d, end));
        // Another dimension may have to change first before there are types.
        if (ends.empty()) more.push_back(result);
      }
      results = std::move(more);
    }
  }
  return results;
}

}  // namespace soapstone::ops::partition
