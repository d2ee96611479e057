// The state that the parts of the importer share while a model is read: the graph that grows, and
// what is known of each tensor name so far.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "models/files/size_limits.h"
#include "models/onnx/format/folded_nodes.h"
#include "models/onnx/format/model_notes.h"
#include "models/onnx/format/onnx_model.h"
#include "models/onnx/format/onnx_weights.h"
#include "models/onnx/format/original_nodes.h"
#include "models/onnx/reading/inference_process.h"
#include "models/onnx/reading/onnx_document.h"
#include "models/onnx/reading/onnx_inputs.h"
#include "models/onnx/shapes/fold.h"
#include "onnx/checker.h"

namespace soapstone::models {

struct ImportState {
  ImportState(onnx::ModelProto document, ExternalFiles external)
      : model(std::move(document)), opsets(opsets_of(model)), files(std::move(external)) {}

  /// TensorId::none() for "". Precondition: the name is defined.
  core::TensorId tensor(const std::string& name) const;
  /// Gives a result its name. The first name of a tensor stays.
  void bind(const std::string& name, core::TensorId id);

  onnx::ModelProto model;
  Opsets opsets;
  ExternalFiles files;
  DimensionSizes sizes;
  std::unordered_set<std::string> default_inputs;    ///< Inputs that stay, with initializers.
  std::map<std::string, core::LiteralPtr> defaults;  ///< Their values.
  core::GraphBuilder builder;
  std::unordered_map<std::string, core::TensorId> tensors;
  /// From value_info and the graph's outputs; only asked where nothing better is known.
  std::unordered_map<std::string, onnx::TypeProto> declared_types;
  /// Types that ours cannot express, by tensor: sequences, float8, ….
  std::unordered_map<std::string, onnx::TypeProto> foreign_types;
  /// Opaque nodes, each with one of its results, which tells later whether the node is still there.
  std::vector<std::pair<core::TensorId, OpaqueNode>> opaque;
  std::vector<std::string> warnings;
  std::int64_t folded_elements = 0;
  std::int64_t elements_read = 0;  ///< By folding.
  std::vector<OriginalNode> originals;
  /// Nodes that were folded; null: nobody asks for them, as all inputs have sizes.
  std::shared_ptr<FoldedNodes> folded;
  ModelNotes notes;
  /// How many scopes define a name, subgraphs included.
  std::unordered_map<std::string, int> definitions;
  InferenceProcess inference;
  onnx::checker::CheckerContext checker;
  onnx::checker::LexicalScopeContext scope;
};

/// Appends what the node means. `feeds_shapes`: worth folding even if its results are real.
core::Status import_node(ImportState& state, onnx::NodeProto& node, bool feeds_shapes);

/// Weights of the graph or of a subgraph that becomes part of it.
core::Status import_weights(ImportState& state, onnx::GraphProto& graph);

/// The nodes of the branch that an If takes, if its condition is known. False: it is not.
core::Result<bool> import_taken_branch(ImportState& state, onnx::NodeProto& node);

/// Appends the node as it is, with the tensors that its subgraphs read as further inputs.
core::Status import_opaque(ImportState& state, const onnx::NodeProto& node, std::string reason);

using InferredTypes = std::unordered_map<std::string, onnx::TypeProto>;
/// The types of the node's named results as far as ONNX's own inference knows them.
/// Errors: kInvalidInput or kUnsupported if the node breaks it.
core::Result<InferredTypes> infer_with_onnx(ImportState& state, const onnx::NodeProto& node);
/// Why ONNX's own inference refuses the node, or an empty text. Errors: as above.
core::Result<std::string> refusal_of_onnx(ImportState& state, const onnx::NodeProto& node);

}  // namespace soapstone::models
