// The attributes of an operator that computes a part, adapted by their roles. Numbers that only the
// comprehension can tell, such as where padding begins, stay open as unknowns.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "ops/restriction/equations.h"

namespace soapstone::ops::partition {

/// A loop that is cut: from so many iterations to those of the part.
struct CutSize {
  /// A dimension that the loop runs over, in a tensor of so many dimensions.
  struct Place {
    std::size_t rank, dim;
  };
  std::int64_t whole, part;
  std::vector<Place> places;
  /// Whether the loop may run over a dimension of a tensor of that rank and size: the same one of a
  /// tensor of as many dimensions, else one as far from the last.
  bool runs_over(std::size_t rank, std::size_t dim, const core::Polynomial& size) const;
};

/// The node's attributes, and variants of it in which numbers of groups or strides that are the
/// size of a loop are that of the part.
std::vector<core::Attributes> scaled_attributes(const core::Node& node,
                                                const std::vector<CutSize>& cuts);

/// The shapes on both sides of a part.
struct PartShapes {
  std::vector<std::optional<core::Dims>> inputs;  ///< None where left out.
  std::vector<core::Dims> outputs;
  std::vector<CutSize> cuts;
};

/// Sizes follow from the shapes. All numbers that are beginnings (of padding, of a border, of a
/// piece) are unknowns, in the order in which `begins_of` lists the node's own.
core::Attributes open_attributes(const core::Node& node, const core::Attributes& attributes,
                                 const PartShapes& shapes);
std::vector<std::int64_t> begins_of(const core::Node& node);
core::Attributes with_begins(const core::Attributes& open, const Solution& solution,
                             const std::vector<std::int64_t>& otherwise);

/// Ends of padding and borders such that the results have those extents: all combinations that may
/// be right, the likeliest first. `infer`: the shape of result 0 with some attributes.
std::vector<core::Attributes>
with_ends(const core::Node& node, const core::Attributes& attributes, const core::Dims& extents,
          const std::function<std::optional<core::Dims>(const core::Attributes&)>& infer);

}  // namespace soapstone::ops::partition
