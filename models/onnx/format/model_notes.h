// Notes in a model file about its tensors and nodes, with which nothing is computed: annotations
// for quantization, and doc strings of nodes that are not understood. Private to models/.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/graph/literal.h"
#include "models/onnx/format/onnx_protobuf.h"
#include "models/onnx/format/onnx_weights.h"

namespace soapstone::models {

struct ModelNotes {
  std::vector<onnx::TensorAnnotation> quantization;
  /// Weights that annotations name, which nodes need not read.
  std::map<std::string, core::LiteralPtr> parameters;
  /// A node with nothing but its doc string and metadata, by each of its results.
  std::map<std::string, onnx::NodeProto> nodes;

  /// The names that annotations know: no other tensor may get one of them.
  std::unordered_set<std::string> names() const;
};

/// Takes no bytes out of the graph. Errors: those of to_literal().
core::Result<ModelNotes> notes_of(const onnx::GraphProto& graph, ExternalFiles& files);

/// Puts the doc string and the metadata to a node that was written again without them.
void add_docs(const ModelNotes& notes, const std::string& result, onnx::NodeProto& node);

}  // namespace soapstone::models
