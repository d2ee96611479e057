// Computes what a node yields if its inputs are known when the model is read: the arithmetic that
// exporters leave in a model to compute shapes. Exact: what would overflow or round otherwise than
// at run time is not folded. Weights are folded elsewhere, when the model is written.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/graph/literal.h"
#include "models/onnx/format/onnx_protobuf.h"
#include "models/onnx/format/onnx_weights.h"
#include "models/onnx/shapes/known_values.h"

namespace soapstone::models {

struct FoldInput {
  bool present = true;  ///< False: an optional input that is left out.
  core::TensorType type;
  core::LiteralPtr value;  ///< Null: only the type is known.
};

/// The values of all outputs, or none if they cannot be known or computed exactly. The node is
/// read by its ordinary reader into a graph of constants, which the evaluator of comprehensions
/// runs; `files` hold the values of its attributes.
KnownValues fold(const onnx::NodeProto& node, int opset, std::span<const FoldInput> inputs,
                 ExternalFiles& files);

/// Whether fold() knows the operator at all.
bool has_fold(const onnx::NodeProto& node);

/// The names of tensors that shapes, axes, sizes and the like are computed from. `order` is
/// topological.
std::unordered_set<std::string> shape_parameters(const onnx::GraphProto& graph,
                                                 std::span<const int> order);
/// For each node of the graph, whether shapes, axes, sizes and the like are computed from its
/// results. `order` is topological.
std::vector<bool> feed_shapes(const onnx::GraphProto& graph, std::span<const int> order);

}  // namespace soapstone::models
