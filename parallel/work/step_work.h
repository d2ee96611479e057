// What each node of a model has to do in one step, for inference or for training, before it is cut:
// operations, traffic, and which tensors have gradients or are kept for them.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "parallel/work/origins.h"

namespace soapstone::parallel {

struct TensorWork {
  double bytes = 0;
  bool is_weight = false;
  bool has_gradient = false;       ///< In training: it depends on a weight.
  bool is_kept = false;            ///< In training: its values are kept for a gradient.
  bool is_computed_again = false;  ///< In training: for a gradient, in place of being kept.
  bool is_stored = true;           ///< False within a launch: it never reaches memory.
  /// A step makes and uses it in so many equal pieces, one after the other, each in the place of
  /// the one before.
  double turns = 1;
};

struct NodeWork {
  double flops = 0;
  core::DataType data_type = core::DataType::kFloat32;  ///< That the arithmetic is done in.
  bool is_contraction = false;
  bool starts_launch = false;
  bool is_free = false;           ///< A view: nothing to do.
  bool scores_attention = false;  ///< A contraction of data with data, whose result another reads.
  double turns = 1;               ///< The node runs on so many pieces of its data in turn.
  bool runs_again = false;        ///< In training: the backward pass computes it again, alone.
  /// In training, by input: the values that gradients read, those of this node or, if it is a view,
  /// of what reads the view. Empty: none.
  std::vector<bool> rereads;
  /// In training: the values that the kernel of the node's gradient reads, wherever they come from:
  /// by input (empty: none), or the result.
  std::vector<bool> gradient_reads;
  bool gradient_reads_result = false;
};

struct StepWork {
  std::vector<NodeWork> nodes;      ///< By node.
  std::vector<TensorWork> tensors;  ///< By tensor.
};

/// What happens to the large tensors between two contractions of data with data, such as the scores
/// of attention: the first contraction makes more than it reads, and the second one reads it again.
enum class Attention : std::uint8_t {
  kStored,      ///< They are tensors like any other.
  kRecomputed,  ///< They are not kept for gradients; the backward pass computes them again.
  kFused,       ///< One kernel computes all in tiles; they never reach memory.
};

struct StepOptions {
  bool is_training = false;
  /// Floating tensors count as if they had that type.
  std::optional<core::DataType> precision;
  Attention attention = Attention::kStored;
};

/// `is_weight` by tensor. Precondition: sizes are numbers.
StepWork step_work(const core::Graph& graph, const std::vector<bool>& is_weight,
                   const StepOptions& options);

/// The work of one of so many microbatches: what runs over the batch is divided.
StepWork per_microbatch(const core::Graph& graph, const GraphLoops& loops, StepWork work,
                        std::int64_t microbatches);

}  // namespace soapstone::parallel
