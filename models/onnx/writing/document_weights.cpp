// See document_weights.h.
#include "models/onnx/writing/document_weights.h"

#include <utility>

#include "core/base/file_io.h"
#include "models/onnx/format/onnx_weights.h"
#include "models/onnx/reading/onnx_document.h"

namespace soapstone::models {
namespace {

core::Result<ExportedModel> take_apart(std::string_view bytes, ExternalFiles files) {
  SOAPSTONE_ASSIGN_OR_RETURN(onnx::ModelProto document, parse_document(bytes));
  ExportedModel parts{std::move(document), {}, false};
  onnx::GraphProto& graph = *parts.model.mutable_graph();
  for (auto& node : *graph.mutable_node())
    SOAPSTONE_RETURN_IF_ERROR(embed_external_data(node, files));
  google::protobuf::RepeatedPtrField<onnx::TensorProto> others;
  for (auto& tensor : *graph.mutable_initializer()) {
    if (!fits_literal(tensor)) {
      SOAPSTONE_RETURN_IF_ERROR(embed_external_data(tensor, files));
      *others.Add() = std::move(tensor);
      continue;
    }
    SOAPSTONE_ASSIGN_OR_RETURN(core::LiteralPtr weight, to_literal(tensor, files));
    parts.weights.push_back({std::move(weight), tensor.name()});
  }
  graph.mutable_initializer()->Swap(&others);
  parts.had_external_weights = files.any();
  return parts;
}

}  // namespace

core::Result<ExportedModel> read_document(const std::filesystem::path& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto file, core::MappedFile::open(path));
  auto parts = take_apart(file->text(), ExternalFiles(weight_folders(path)));
  if (!parts) return parts.error().at(path.string());
  return parts;
}

core::Status write_document(ExportedModel document, const std::filesystem::path& path) {
  return write_exported(std::move(document), false, path, kMostEmbeddedBytes);
}

}  // namespace soapstone::models
