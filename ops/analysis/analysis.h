// Derives from a comprehension, without running it: work, traffic, which input elements an
// output slice needs, and how each output dimension may be partitioned.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// Half-open interval low ≤ i < high.
struct Interval {
  std::int64_t low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};
using IndexBox = std::vector<Interval>;

struct Work {
  double flops = 0;       ///< A multiply-add counts two; a function, comparison or max counts one.
  double bytes_read = 0;  ///< Inputs, each once.
  double bytes_written = 0;
};

/// The work of a node with known numeric shapes. Padding does not lessen the count: a convolution
/// costs 2 · output elements · input channels per group · kernel elements, as in the literature. A
/// sum counts only the positions that equations leave: of a strided transposed convolution one
/// position in `stride` has a term for each kernel element.
/// Opaque nodes: bytes only. OpClass::kMovement: one flop an output element, and no more of an
/// input is read than there are output elements (a gather does not read its whole table).
/// OpClass::kView: nothing.
Work work_of(const core::Graph& graph, core::NodeId node);

/// The smallest box of each input that covers all elements which the given box of output
/// `output` reads (the halo of a partition). Clipped to the input. An input that is not read has
/// empty intervals. Never too small; larger than needed only where a dilated window meets the
/// padding or a reshape cuts across dimensions. Precondition: numeric shapes, not opaque.
std::vector<IndexBox> input_regions(const core::Graph& graph, core::NodeId node, std::size_t output,
                                    const IndexBox& box);

/// SOAP role of an output dimension (FlexFlow, section 4) or of a contraction.
enum class DimRole : std::uint8_t {
  kSample,     ///< Every data input is indexed by it alone in some dimension: independent samples.
  kAttribute,  ///< Like a sample, but neighbors are read too (height and width of a convolution),
               ///< or the dimension is needed whole by no one (sequence position).
  kParameter,  ///< Partitions a weight: output channels.
  kReduction,  ///< Not an output dimension: partial sums that must be added up.
  kWhole,      ///< Every output element needs all of it: softmax axis.
};

struct DimInfo {
  DimRole role;
  std::int64_t size;
  /// Output dimension, or none for kReduction.
  std::optional<std::size_t> output_dim;
  /// Per input: the dimension that follows this one: it is indexed by it alone, or by it and its
  /// neighbors (a window, a slice).
  std::vector<std::optional<std::size_t>> input_dim;
};

/// Roles of all dimensions of output 0, then the reductions. `is_weight[k]` says that input k is a
/// parameter. Empty for an opaque node. Precondition: numeric shapes.
std::vector<DimInfo> partition_roles(const core::Graph& graph, core::NodeId node,
                                     const std::vector<bool>& is_weight);

}  // namespace soapstone::ops
