// The nodes that one kernel computes, as stages over numbered tensors: what the graph's operators
// state, with concrete sizes and nothing left of their names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "ops/evaluation/evaluate_tree.h"

namespace soapstone::runtime::generated {

using ops::evaluation::StageTree;
using ops::evaluation::TreeNode;

/// What values are held in by a thread.
enum class Scalar : std::uint8_t { kInteger, kFloat, kDouble };
Scalar register_type(core::DataType type);

struct RegionTensor {
  core::TensorId id;  ///< None: an intermediate result of a node.
  core::DataType data_type = core::DataType::kFloat32;
  Scalar scalar = Scalar::kFloat;
  std::int64_t elements = 1;
  std::optional<std::size_t> stage;  ///< The stage that computes it; none: it is read from memory.
};

struct RegionStage {
  std::uint32_t tensor = 0;
  /// Its reads name tensors of the region.
  StageTree tree;
  std::int64_t longest_loop = 1;  ///< The most terms that one sum or maximum has.
  std::int64_t work = 0;          ///< Operations and function calls for an element, loops once.
  bool has_costly_functions = false;
  /// A sum of products of two tensors, over binders that both depend on.
  bool is_contraction = false;
};

struct Region {
  std::vector<RegionTensor> tensors;
  std::vector<RegionStage> stages;     ///< In an order in which they can be computed.
  std::vector<std::uint32_t> inputs;   ///< Tensors that are read from memory.
  std::vector<std::uint32_t> outputs;  ///< Tensors that are stored.

  bool is_output(std::uint32_t tensor) const;
  /// The sizes of the stage's index, outermost first.
  static std::vector<std::int64_t> sizes_of(const StageTree& tree);
};

/// True for functions that take as long as loading several elements does.
bool is_costly(ops::Function function);

/// The type of an expression's value.
Scalar type_of(const Region& region, const TreeNode& node);

/// `nodes` in topological order; `outputs` are those of their results that are stored. Constants of
/// one element become numbers. Errors: kUnsupported for opaque nodes, for shapes that are no
/// numbers or too large for 32 bits, and for elements that are no numbers.
core::Result<Region> make_region(const core::Graph& graph, std::span<const core::NodeId> nodes,
                                 std::span<const core::TensorId> outputs);

}  // namespace soapstone::runtime::generated
