// Weights into an exported model, and the model into bytes or files.
#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <limits>
#include <system_error>

#include "core/base/file_io.h"
#include "models/onnx/format/onnx_weights.h"
#include "models/onnx/writing/contrib.h"
#include "models/onnx/writing/onnx_export.h"

namespace soapstone::models {
namespace {

/// Smaller weights stay in the model, where shape inference finds them.
constexpr std::size_t kSmallestExternal = 1024;
/// Large weights start on a page, so that a reader can map them one by one.
constexpr std::uint64_t kAlignment = 64, kPage = 4096, kLargeWeight = 1 << 20;

std::uint64_t aligned(std::uint64_t offset, std::size_t size_bytes) {
  const std::uint64_t unit = size_bytes >= kLargeWeight ? kPage : kAlignment;
  return (offset + unit - 1) / unit * unit;
}

void embed(const NamedWeight& weight, onnx::GraphProto& graph) {
  *graph.add_initializer() = to_tensor_proto(*weight.value, weight.name);
}

void refer(onnx::TensorProto& tensor, const std::string& location, std::uint64_t offset,
           std::uint64_t length) {
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const std::pair<const char*, std::string> entries[] = {{"location", location},
                                                         {"offset", std::to_string(offset)},
                                                         {"length", std::to_string(length)}};
  for (const auto& [key, value] : entries) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
}

/// Appends to the file that will be called `location`.
class ExternalData {
 public:
  ExternalData(std::string location, core::AtomicFile& file)
      : location_(std::move(location)), file_(file) {}

  core::Status write(std::span<const std::byte> bytes, onnx::TensorProto& tensor) {
    const std::uint64_t offset = aligned(end_, bytes.size());
    const std::vector<std::byte> padding(offset - end_);
    SOAPSTONE_RETURN_IF_ERROR(file_.write(padding));
    SOAPSTONE_RETURN_IF_ERROR(file_.write(bytes));
    end_ = offset + bytes.size();
    refer(tensor, location_, offset, bytes.size());
    return core::Done{};
  }

 private:
  std::string location_;
  core::AtomicFile& file_;
  std::uint64_t end_ = 0;
};

/// Writes large weights to `data`.
core::Status write_external(ExportedModel& exported, ExternalData data) {
  onnx::GraphProto& graph = *exported.model.mutable_graph();
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.raw_data().size() < kSmallestExternal) continue;
    const std::string bytes = std::move(*tensor.mutable_raw_data());
    tensor.clear_raw_data();
    SOAPSTONE_RETURN_IF_ERROR(data.write(std::as_bytes(std::span(bytes)), tensor));
  }
  for (const NamedWeight& weight : exported.weights) {
    const auto bytes = weight.value->bytes();
    if (bytes.size() < kSmallestExternal) {
      embed(weight, graph);
      continue;
    }
    auto& tensor = *graph.add_initializer();
    tensor = tensor_header(*weight.value, weight.name);
    SOAPSTONE_RETURN_IF_ERROR(data.write(bytes, tensor));
  }
  return core::Done{};
}

core::Status write_model(const onnx::ModelProto& model, core::AtomicFile& file) {
  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return core::unsupported("the model is larger than 2 GB even without its weights");
  }
  const QuietProtobuf quiet;
  google::protobuf::io::FileOutputStream stream(file.descriptor());
  if (model.SerializeToZeroCopyStream(&stream) && stream.Flush()) return core::Done{};
  return core::unavailable("writing failed: " + std::generic_category().message(stream.GetErrno()));
}

}  // namespace

core::Status write_onnx_bounded(const core::Graph& graph, const ModelHeader& header,
                                const std::filesystem::path& path,
                                std::uint64_t most_embedded_bytes, const WriteOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(ExportedModel exported, export_graph(graph, header, options));
  return write_exported(std::move(exported), header.has_external_weights, path,
                        most_embedded_bytes);
}

core::Status write_exported(ExportedModel exported, bool external,
                            const std::filesystem::path& path, std::uint64_t most_embedded_bytes) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto file, core::AtomicFile::create(path));
  external = external || exported.weight_bytes() > most_embedded_bytes;
  if (!external) {
    for (const NamedWeight& weight : exported.weights)
      embed(weight, *exported.model.mutable_graph());
    SOAPSTONE_RETURN_IF_ERROR(write_model(exported.model, *file));
    return file->commit();
  }
  std::filesystem::path data_path = path;
  data_path += ".data";
  SOAPSTONE_ASSIGN_OR_RETURN(const auto data, core::AtomicFile::create(data_path));
  SOAPSTONE_RETURN_IF_ERROR(
      write_external(exported, ExternalData(data_path.filename().string(), *data)));
  SOAPSTONE_RETURN_IF_ERROR(write_model(exported.model, *file));
  // The weights first, and a model of before goes: none may ever be there beside weights that are
  // not its own.
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  SOAPSTONE_RETURN_IF_ERROR(data->commit());
  return file->commit();
}

core::Status write_onnx(const core::Graph& graph, const ModelHeader& header,
                        const std::filesystem::path& path, const WriteOptions& options) {
  auto status = write_onnx_bounded(graph, header, path, kMostEmbeddedBytes, options);
  if (status || !status.error().where.empty()) return status;
  return status.error().at(path.string());
}

core::Status check_writable(const core::Graph& graph, const ModelHeader& header) {
  const auto exported = export_graph(graph, header);
  if (!exported) return exported.error();
  return core::Done{};
}

core::Result<std::string> serialize_onnx(const core::Graph& graph, const ModelHeader& header,
                                         const WriteOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(ExportedModel exported, export_graph(graph, header, options));
  if (exported.weight_bytes() > kMostEmbeddedBytes) {
    return core::unsupported("the model is larger than 2 GB, which ONNX does not allow",
                             "write it to a file; its weights go to a second one");
  }
  for (const NamedWeight& weight : exported.weights) embed(weight, *exported.model.mutable_graph());
  const QuietProtobuf quiet;
  std::string bytes;
  if (!exported.model.SerializeToString(&bytes)) {
    return core::unavailable("the model cannot be serialized");
  }
  return bytes;
}

std::shared_ptr<const ModelHeader> new_header(int opset) {
  // The IR version that came with each opset, from 13 on; older ones do well with 7.
  static constexpr int kIrVersions[] = {7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13};
  constexpr int kFirst = 13;
  const auto index = static_cast<std::size_t>(std::max(opset - kFirst, 0));
  onnx::ModelProto model;
  model.set_ir_version(kIrVersions[std::min(index, std::size(kIrVersions) - 1)]);
  model.set_producer_name("soapstone");
  auto& import = *model.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  return std::make_shared<const ModelHeader>(std::move(model), false);
}

std::shared_ptr<const ModelHeader> with_contrib(const ModelHeader& header) {
  auto result = std::make_shared<ModelHeader>(header);
  result->contrib = true;
  return result;
}

}  // namespace soapstone::models
