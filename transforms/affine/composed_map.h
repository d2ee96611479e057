// The text of rules that take one operator into a linear map.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

/// A tensor as a linear map of the source: element by element over the axes that both have (the
/// kept ones), all other axes of the source are summed over.
///
/// The matrix lies as the tensor does, with as many places along its first kept axis as the summed
/// axes of the source have elements, and one along the other kept axes.
struct LinearMap {
  std::vector<std::size_t> kept;  ///< Where the kept axes lie, in the order of the source's.
  bool has_offset = false;        ///< A constant is added.
  /// It lies as the tensor does; else it has one place along kept axes.
  bool is_offset_whole = false;
};

/// The tensor of which all others are maps.
struct MapSource {
  core::TensorId tensor;
  std::vector<std::size_t> kept;  ///< Ascending, not empty, and not all.
};

/// An operand of a node that is taken into a map.
struct MapOperand {
  enum class Kind : std::uint8_t { kConstant, kAdded, kSource, kMap, kMissing };
  Kind kind = Kind::kConstant;  ///< kAdded: a constant that is only added.
  LinearMap map = {};           ///< Of kMap.
  /// Of kAdded, by kept axis: where it lies in the constant, if that has all places along it.
  std::vector<std::optional<std::size_t>> axes = {};
  bool is_repeated = false;  ///< Of kAdded: along all of these it is the same, as its node says.
};

/// A node whose operands are maps of the source or constants, and what its results are then.
struct Composition {
  const core::Graph& graph;
  const core::Node& node;
  MapSource source;
  std::vector<MapOperand> operands;
  std::vector<LinearMap> results;
};

/// Rules that say so: for any sizes, where equal sizes are equal ones and a reshape relates no
/// others, and for those of the graph.
std::vector<std::string> composed_map(const Composition& composition);

/// Rules that make a matrix product of a map, if it is one of either side or a batch of such; else
/// a contraction that each library has. Several tensors of one shape whose maps differ in their
/// matrices alone become parts of one.
std::vector<std::string> plain_maps(const core::Graph& graph, const MapSource& source,
                                    std::span<const core::TensorId> tensors, const LinearMap& map);

}  // namespace soapstone::transforms
