// Nodes of functions count, nodes of subgraphs do not: no gradient passes these.
#include "models/onnx/training_notes.h"

#include <algorithm>

#include "core/base/file_io.h"
#include "models/onnx/format/onnx_protobuf.h"
#include "models/onnx/format/onnx_weights.h"
#include "models/onnx/reading/onnx_document.h"

namespace soapstone::models {
namespace {

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

/// The ratio of a Dropout, which is a constant or an attribute; 0.5 where it is not known.
double ratio_of(const onnx::NodeProto& node, onnx::GraphProto& graph) {
  constexpr double kDefault = 0.5;
  if (const auto* ratio = find_attribute(node, "ratio")) return ratio->f();
  if (node.input_size() < 2 || node.input(1).empty()) return kDefault;
  ExternalFiles none({});
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.name() != node.input(1) || !fits_literal(tensor)) continue;
    onnx::TensorProto copy = tensor;
    const auto value = to_literal(copy, none);
    return value && (*value)->count() == 1 ? (*value)->to_doubles()[0] : kDefault;
  }
  return kDefault;
}

}  // namespace

core::Result<TrainingNotes> read_training_notes(const std::filesystem::path& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto file, core::MappedFile::open(path));
  auto document = parse_document(file->text());
  if (!document) return document.error().at(path.string());
  if (auto status = inline_functions(*document); !status) return status.error().at(path.string());
  onnx::GraphProto& graph = *document->mutable_graph();
  TrainingNotes notes;
  for (const auto& tensor : graph.initializer()) notes.initializers.insert(tensor.name());
  for (const auto& node : graph.node()) {
    if (node.op_type() == "Dropout" && ratio_of(node, graph) != 0)
      notes.dropouts.push_back(describe(node));
    if (node.op_type() != "BatchNormalization" || node.output_size() == 0) continue;
    if (const auto* momentum = find_attribute(node, "momentum"))
      notes.momenta.emplace(node.output(0), momentum->f());
  }
  return notes;
}

}  // namespace soapstone::models
