// See batch_size.h. Only what the file declares changes.
#include "models/onnx/batch_size.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <unordered_set>

#include "models/onnx/writing/document_weights.h"

namespace soapstone::models {
namespace {

using Dimension = onnx::TensorShapeProto::Dimension;

onnx::TensorShapeProto* shape_of(onnx::ValueInfoProto& value) {
  auto& type = *value.mutable_type();
  const bool has = type.has_tensor_type() && type.tensor_type().has_shape();
  return has ? type.mutable_tensor_type()->mutable_shape() : nullptr;
}

Dimension* first_of(onnx::ValueInfoProto& value) {
  onnx::TensorShapeProto* const shape = shape_of(value);
  return shape != nullptr && shape->dim_size() > 0 ? shape->mutable_dim(0) : nullptr;
}

bool leaves_open(const Dimension& dimension) {
  return !dimension.has_dim_value() || dimension.dim_value() < 0;
}

/// The inputs that are no weights with a default.
std::vector<onnx::ValueInfoProto*> inputs_of(ExportedModel& document) {
  std::unordered_set<std::string> weights;
  for (const NamedWeight& weight : document.weights) weights.insert(weight.name);
  std::vector<onnx::ValueInfoProto*> inputs;
  for (auto& input : *document.model.mutable_graph()->mutable_input())
    if (!weights.contains(input.name())) inputs.push_back(&input);
  return inputs;
}

core::Status set_batch(ExportedModel& document, std::int64_t batch) {
  onnx::GraphProto& graph = *document.model.mutable_graph();
  std::vector<Dimension*> open, ones;
  std::set<std::string> names;
  for (onnx::ValueInfoProto* const input : inputs_of(document)) {
    Dimension* const first = first_of(*input);
    if (first == nullptr) continue;
    if (leaves_open(*first)) {
      open.push_back(first);
      if (!first->dim_param().empty()) names.insert(first->dim_param());
    } else if (first->dim_value() == 1) {
      ones.push_back(first);
    }
  }
  if (open.empty() && ones.empty()) {
    return core::invalid_input("no input has a first size that is open or 1, so none is a batch",
                               "leave out the batch, or export the model with an open one");
  }
  const bool has_open = !open.empty();
  for (Dimension* const dimension : has_open ? open : ones) dimension->set_dim_value(batch);
  const auto settle = [&](onnx::ValueInfoProto& value) {
    onnx::TensorShapeProto* const shape = shape_of(value);
    for (int d = 0; shape != nullptr && d < shape->dim_size(); ++d)
      if (names.contains(shape->dim(d).dim_param())) shape->mutable_dim(d)->set_dim_value(batch);
  };
  for (auto& input : *graph.mutable_input()) settle(input);
  for (auto& output : *graph.mutable_output()) {
    settle(output);
    Dimension* const first = first_of(output);
    if (first != nullptr && (leaves_open(*first) || (!has_open && first->dim_value() == 1)))
      first->set_dim_value(batch);
  }
  graph.clear_value_info();
  return core::Done{};
}

}  // namespace

core::Status write_with_batch(const std::filesystem::path& model, std::int64_t batch,
                              const std::filesystem::path& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(ExportedModel document, read_document(model));
  if (auto status = set_batch(document, batch); !status) return status.error().at(model.string());
  return write_document(std::move(document), path);
}

}  // namespace soapstone::models
