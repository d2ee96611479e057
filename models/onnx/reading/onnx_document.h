// A model file as protobuf messages: parsed, its versions checked, local functions inlined, names
// and order of its nodes checked. No graph of ours yet.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "models/onnx/format/onnx_protobuf.h"

namespace soapstone::models {

/// Oldest and newest opset of the default domain that is read.
inline constexpr int kOldestOpset = 7, kNewestOpset = 27;
/// Operators that changed after this one are read if the change is known to matter to nobody here.
inline constexpr int kNewestReviewedOpset = 23;

/// Errors: kInvalidInput if these bytes are no model; kUnsupported for its versions.
core::Result<onnx::ModelProto> parse_document(std::string_view bytes);

/// Opset versions by domain; the default domain is "".
using Opsets = std::unordered_map<std::string, int>;
Opsets opsets_of(const onnx::ModelProto& model);

/// ONNX Runtime runs models that use its own operators without importing their domain. True: this
/// is one, and imports version 1 now, of which all these operators are.
bool import_contrib_domain(onnx::ModelProto& model);

/// Replaces calls of local functions by their bodies. A function that needs other opsets than the
/// model stays, and so do its calls.
/// Errors: kInvalidInput if functions call each other in a circle or grow without measure.
core::Status inline_functions(onnx::ModelProto& model);

/// Names from outside that the subgraphs of a node read, each once, in order of their first use.
std::vector<std::string> captured_names(const onnx::NodeProto& node);
/// The same for one subgraph.
std::vector<std::string> captured_names(const onnx::GraphProto& graph);
/// Renames what subgraphs read from outside.
void rename_captured(onnx::NodeProto& node,
                     const std::unordered_map<std::string, std::string>& new_names);
/// Every tensor name that a subgraph of the node defines itself.
std::vector<std::string> subgraph_names(const onnx::NodeProto& node);
/// Every tensor name that the graph, or a subgraph in it, defines.
std::vector<std::string> defined_names(const onnx::GraphProto& graph);
/// Renames tensors wherever the graph, or a subgraph in it, defines or reads them.
void rename_everywhere(onnx::GraphProto& graph,
                       const std::unordered_map<std::string, std::string>& new_names);

/// The nodes in an order in which each comes after what it reads; the order of the file if that
/// is one. Errors: kInvalidInput for names defined twice, read but not defined, or cycles.
core::Result<std::vector<int>> topological_order(const onnx::GraphProto& graph);

}  // namespace soapstone::models
