// See model_notes.h.
#include "models/onnx/format/model_notes.h"

namespace soapstone::models {

std::unordered_set<std::string> ModelNotes::names() const {
  std::unordered_set<std::string> names;
  for (const onnx::TensorAnnotation& note : quantization) {
    names.insert(note.tensor_name());
    for (const auto& parameter : note.quant_parameter_tensor_names())
      names.insert(parameter.value());
  }
  return names;
}

core::Result<ModelNotes> notes_of(const onnx::GraphProto& graph, ExternalFiles& files) {
  ModelNotes notes;
  notes.quantization.assign(graph.quantization_annotation().begin(),
                            graph.quantization_annotation().end());
  for (const auto& node : graph.node()) {
    if (node.doc_string().empty() && node.metadata_props().empty()) continue;
    onnx::NodeProto docs;
    if (!node.doc_string().empty()) docs.set_doc_string(node.doc_string());
    *docs.mutable_metadata_props() = node.metadata_props();
    for (const std::string& result : node.output())
      if (!result.empty()) notes.nodes.emplace(result, docs);
  }
  if (notes.quantization.empty()) return notes;
  const auto named = notes.names();
  for (const auto& weight : graph.initializer()) {
    if (!named.contains(weight.name()) || !fits_literal(weight)) continue;
    onnx::TensorProto copy = weight;
    SOAPSTONE_ASSIGN_OR_RETURN(notes.parameters[weight.name()], to_literal(copy, files));
  }
  return notes;
}

void add_docs(const ModelNotes& notes, const std::string& result, onnx::NodeProto& node) {
  const auto found = notes.nodes.find(result);
  if (found == notes.nodes.end()) return;
  if (found->second.has_doc_string()) node.set_doc_string(found->second.doc_string());
  *node.mutable_metadata_props() = found->second.metadata_props();
}

}  // namespace soapstone::models
