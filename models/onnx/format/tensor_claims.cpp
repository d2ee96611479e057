// See tensor_claims.h. Nothing is allocated for a tensor before this has seen it.
#include "models/onnx/format/tensor_claims.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/tensor_type.h"
#include "models/files/size_limits.h"
#include "models/onnx/format/onnx_types.h"

namespace soapstone::models {
namespace {

using onnx::TensorProto;

/// Elements that lie in the tensor itself, at most.
std::uint64_t elements_held(const TensorProto& tensor) {
  const std::uint64_t bits = fewest_element_bits(tensor.data_type());
  if (!tensor.raw_data().empty())
    return bits == 0 ? 0 : tensor.raw_data().size() * std::uint64_t{8} / bits;
  const int longest =
      std::max({tensor.float_data_size(), tensor.int32_data_size(), tensor.string_data_size(),
                tensor.int64_data_size(), tensor.double_data_size(), tensor.uint64_data_size()});
  // Small types are packed into bytes, each of which is a number of its own.
  return static_cast<std::uint64_t>(longest) * (bits != 0 && bits < 8 ? 8 / bits : 1);
}

core::Error at_tensor(const std::string& name, std::string why) {
  return core::invalid_input(std::move(why), "the file is damaged, or made up")
      .at(fmt::format("tensor '{}'", name));
}

template <class Field>
core::Result<std::int64_t> count_of(const Field& field, const std::string& name) {
  const core::Dims dims(field.begin(), field.end());
  const auto count = core::checked_element_count(dims);
  if (!count)
    return at_tensor(name, fmt::format("has the impossible dimensions {}", core::to_string(dims)));
  return *count;
}

/// `f32[2]`, or what the dimensions are where we have no word for the type.
std::string what_it_claims(const TensorProto& tensor) {
  const core::Dims dims(tensor.dims().begin(), tensor.dims().end());
  const auto type = data_type_from_onnx(tensor.data_type());
  return (type ? std::string(core::to_string(*type)) : "its dimensions ") + core::to_string(dims);
}

/// Whether this check leaves the tensor alone: one whose data lie in another file or in segments,
/// or whose type is unknown, is refused by its reader.
bool is_for_others(const TensorProto& tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL || tensor.has_segment() ||
         !onnx::TensorProto_DataType_IsValid(tensor.data_type()) ||
         (tensor.data_type() == TensorProto::UNDEFINED && tensor.dims().empty());
}

core::Status check(const TensorProto& tensor) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t count, count_of(tensor.dims(), tensor.name()));
  const core::Dims dims(tensor.dims().begin(), tensor.dims().end());
  if (count > kMostElements)
    return at_tensor(tensor.name(), fmt::format("is too large: {}", core::to_string(dims)));
  if (is_for_others(tensor)) return core::Done{};
  const std::uint64_t held = elements_held(tensor);
  if (static_cast<std::uint64_t>(count) <= held) return core::Done{};
  const std::uint64_t bits = fewest_element_bits(tensor.data_type());
  if (!tensor.raw_data().empty() && bits != 0)
    return at_tensor(tensor.name(),
                     fmt::format("has {} bytes of data, but {} need {}", tensor.raw_data().size(),
                                 what_it_claims(tensor),
                                 (static_cast<std::uint64_t>(count) * bits + 7) / 8));
  return at_tensor(tensor.name(), fmt::format("has {} numbers of data, but {} need {}", held,
                                              what_it_claims(tensor), count));
}

core::Status check(const onnx::SparseTensorProto& tensor) {
  SOAPSTONE_RETURN_IF_ERROR(check(tensor.values()));
  SOAPSTONE_RETURN_IF_ERROR(check(tensor.indices()));
  auto count = count_of(tensor.dims(), tensor.values().name());
  if (!count) return count.error();
  return core::Done{};
}

core::Status check(const onnx::GraphProto& graph);

core::Status check(const onnx::AttributeProto& attribute) {
  if (attribute.has_t()) SOAPSTONE_RETURN_IF_ERROR(check(attribute.t()));
  if (attribute.has_sparse_tensor()) SOAPSTONE_RETURN_IF_ERROR(check(attribute.sparse_tensor()));
  if (attribute.has_g()) SOAPSTONE_RETURN_IF_ERROR(check(attribute.g()));
  for (const auto& tensor : attribute.tensors()) SOAPSTONE_RETURN_IF_ERROR(check(tensor));
  for (const auto& tensor : attribute.sparse_tensors()) SOAPSTONE_RETURN_IF_ERROR(check(tensor));
  for (const auto& graph : attribute.graphs()) SOAPSTONE_RETURN_IF_ERROR(check(graph));
  return core::Done{};
}

template <class Nodes>
core::Status check_nodes(const Nodes& nodes) {
  for (const onnx::NodeProto& node : nodes)
    for (const auto& attribute : node.attribute())
      if (auto status = check(attribute); !status) return status.error().at(describe(node));
  return core::Done{};
}

core::Status check(const onnx::GraphProto& graph) {
  for (const auto& tensor : graph.initializer()) SOAPSTONE_RETURN_IF_ERROR(check(tensor));
  for (const auto& tensor : graph.sparse_initializer()) SOAPSTONE_RETURN_IF_ERROR(check(tensor));
  return check_nodes(graph.node());
}

}  // namespace

core::Status check_tensor_claims(const onnx::ModelProto& model) {
  SOAPSTONE_RETURN_IF_ERROR(check(model.graph()));
  for (const auto& function : model.functions()) {
    SOAPSTONE_RETURN_IF_ERROR(check_nodes(function.node()));
    for (const auto& attribute : function.attribute_proto())
      SOAPSTONE_RETURN_IF_ERROR(check(attribute));
  }
  return core::Done{};
}

}  // namespace soapstone::models
