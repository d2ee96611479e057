// Constant tensors of a model file: ONNX's many encodings into Literals and back, and weights
// that lie in files beside the model.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/file_io.h"
#include "core/base/result.h"
#include "core/graph/literal.h"
#include "models/onnx/format/onnx_protobuf.h"

namespace soapstone::models {

/// The files that hold weights outside the model. Opens each once.
class ExternalFiles {
 public:
  /// Locations are relative to the first directory and, with symbolic links followed, must lie in
  /// one of them. None: external weights are an error.
  explicit ExternalFiles(std::vector<std::filesystem::path> directories)
      : directories_(std::move(directories)) {}

  struct Bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const core::MappedFile> owner;
  };
  /// The bytes of an external tensor. Errors: kInvalidInput if the location leaves the directory,
  /// is missing, or has not `expected_bytes` at its offset.
  core::Result<Bytes> read(const onnx::TensorProto& tensor, std::uint64_t expected_bytes);
  bool any() const { return !open_.empty(); }
  std::vector<std::filesystem::path> paths() const;

 private:
  core::Result<std::shared_ptr<const core::MappedFile>> open(const std::string& location);

  std::vector<std::filesystem::path> directories_;
  std::map<std::string, std::shared_ptr<const core::MappedFile>> open_;
};

/// Where the external weights of that model file may lie; the first is its own folder.
std::vector<std::filesystem::path> weight_folders(const std::filesystem::path& model);

/// Whether a Literal can hold the tensor: its elements are of a type of ours that has a size.
bool fits_literal(const onnx::TensorProto& tensor);
/// Takes the bytes out of `tensor` where they can be moved.
/// Errors: kInvalidInput if type, dimensions and data do not fit together.
core::Result<core::LiteralPtr> to_literal(onnx::TensorProto& tensor, ExternalFiles& files);
/// Loads the data of an external tensor into it, whatever the type of its elements.
core::Status embed_external_data(onnx::TensorProto& tensor, ExternalFiles& files);
/// The same for every tensor inside a node, subgraphs included.
core::Status embed_external_data(onnx::NodeProto& node, ExternalFiles& files);

/// Type and dimensions, without data.
onnx::TensorProto tensor_header(const core::Literal& literal, std::string name);
onnx::TensorProto to_tensor_proto(const core::Literal& literal, std::string name);

}  // namespace soapstone::models
