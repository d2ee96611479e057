// The decoding of a tensor itself is that of a model's weights.
#include "models/onnx/format/tensor_file.h"

#include "core/base/file_io.h"
#include "models/onnx/format/onnx_weights.h"

namespace soapstone::models {

core::Result<core::Literal> read_tensor(const std::filesystem::path& path) {
  const QuietProtobuf quiet;
  SOAPSTONE_ASSIGN_OR_RETURN(const auto file, core::MappedFile::open(path));
  onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(file->bytes().data(), static_cast<int>(file->bytes().size()))) {
    return core::invalid_input("is no ONNX tensor").at(path.string());
  }
  if (!fits_literal(tensor)) {
    const auto& name = onnx::TensorProto_DataType_Name(tensor.data_type());
    return core::unsupported("has elements of type " + name).at(path.string());
  }
  ExternalFiles files({path.parent_path()});
  auto literal = to_literal(tensor, files);
  if (!literal) return literal.error().at(path.string());
  return **literal;
}

}  // namespace soapstone::models
