// See body_types.h.
#include "models/onnx/body_types.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/onnx/format/onnx_weights.h"
#include "models/onnx/reading/onnx_document.h"

namespace soapstone::models {
namespace {

using Dimension = onnx::TensorShapeProto::Dimension;

/// Longer constants say nothing about shapes.
constexpr std::int64_t kLongestKnown = 4096;
/// A size of which nothing is known: the body is optimized for this one, and right at all.
constexpr std::int64_t kAnySize = 6;

bool is_fixed(const Dimension& dimension) {
  return dimension.has_dim_value() && dimension.dim_value() >= 0;
}

bool has_shape(const onnx::TypeProto& type) {
  return type.has_tensor_type() && type.tensor_type().has_shape();
}

/// Whether a run may give the input sizes of its own.
bool has_open_size(const onnx::ValueInfoProto& input) {
  return !has_shape(input.type()) ||
         !std::ranges::all_of(input.type().tensor_type().shape().dim(), is_fixed);
}

bool same_size(const Dimension& a, const Dimension& b) {
  if (is_fixed(a) || is_fixed(b))
    return is_fixed(a) && is_fixed(b) && a.dim_value() == b.dim_value();
  return !a.dim_param().empty() && a.dim_param() == b.dim_param();
}

/// Weights whose elements no shape depends on keep their types alone.
void drop_long_weights(onnx::GraphProto& graph) {
  for (auto& tensor : *graph.mutable_initializer()) {
    std::int64_t count = 1;
    for (const std::int64_t size : tensor.dims())
      count *= std::clamp<std::int64_t>(size, 0, 1 << 20);
    if (count <= kLongestKnown) continue;
    tensor.clear_raw_data();
    tensor.clear_float_data();
    tensor.clear_int32_data();
    tensor.clear_int64_data();
    tensor.clear_double_data();
    tensor.clear_uint64_data();
  }
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) drop_long_weights(*attribute.mutable_g());
    }
  }
}

/// Two results may be one tensor; as outputs of a model they need two names.
void tell_outputs_apart(onnx::GraphProto& graph) {
  std::set<std::string> taken;
  for (std::string& name : defined_names(graph)) taken.insert(std::move(name));
  for (std::string& name : captured_names(graph)) taken.insert(std::move(name));
  std::set<std::string> seen;
  for (auto& output : *graph.mutable_output()) {
    if (seen.insert(output.name()).second) continue;
    std::string copy = output.name();
    for (int suffix = 1; !taken.insert(copy).second; ++suffix)
      copy = fmt::format("{}_{}", output.name(), suffix);
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type("Identity");
    node.add_input(output.name());
    node.add_output(copy);
    output.set_name(copy);
  }
}

/// Inference fills in the types of results; an output may also be what the body reads.
const onnx::TypeProto& type_of_output(const onnx::GraphProto& graph, std::size_t output) {
  const onnx::ValueInfoProto& declared = graph.output(static_cast<int>(output));
  const auto input = std::ranges::find_if(
      graph.input(), [&](const auto& value) { return value.name() == declared.name(); });
  return input == graph.input().end() ? declared.type() : input->type();
}

/// Opens the sizes of `input` that an iteration may change, each under a name of its own. True:
/// there were some.
bool open_changing(const onnx::TypeProto& after, TypedInput& input) {
  auto& shape = *input.type.mutable_tensor_type()->mutable_shape();
  const auto& made = after.tensor_type().shape();
  bool changed = false;
  for (int d = 0; d < shape.dim_size(); ++d) {
    Dimension& dimension = *shape.mutable_dim(d);
    const std::string own = fmt::format("{}.size{}", input.name, d);
    if (dimension.dim_param() == own || same_size(dimension, made.dim(d))) continue;
    dimension.set_dim_param(own);
    changed = true;
  }
  return changed;
}

}  // namespace

ExportedModel model_of_body(const onnx::ModelProto& document, const onnx::GraphProto& body,
                            std::span<const TypedInput> inputs) {
  constexpr int kFirstVersion = 4;  // in which weights are no inputs
  ExportedModel result;
  onnx::ModelProto& model = result.model;
  model.set_ir_version(std::max<std::int64_t>(document.ir_version(), kFirstVersion));
  *model.mutable_opset_import() = document.opset_import();
  *model.mutable_functions() = document.functions();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph = body;
  if (graph.name().empty()) graph.set_name("body");
  tell_outputs_apart(graph);
  graph.clear_input();
  for (const TypedInput& input : inputs) {
    if (input.value) {
      result.weights.push_back({input.value, input.name});
      continue;
    }
    onnx::ValueInfoProto& declared = *graph.add_input();
    declared.set_name(input.name);
    *declared.mutable_type() = input.type;
  }
  return result;
}

core::Result<onnx::GraphProto> with_inferred_types(const ExportedModel& model,
                                                   InferenceProcess& inference) {
  onnx::ModelProto question = model.model;
  onnx::GraphProto& graph = *question.mutable_graph();
  drop_long_weights(graph);
  for (const NamedWeight& weight : model.weights) {
    if (weight.value->count() <= kLongestKnown)
      *graph.add_initializer() = to_tensor_proto(*weight.value, weight.name);
    else
      *graph.add_initializer() = tensor_header(*weight.value, weight.name);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(auto answer, inference.infer(question, false));
  // Inference may refuse the graph; then nothing is known but what the file declares.
  if (!answer.refusal.empty()) return graph;
  return std::move(answer.graph);
}

OuterTensors::OuterTensors(const ExportedModel& document, const core::Graph& graph)
    : graph_(graph) {
  constexpr int kFirstVersion = 4;
  for (const NamedWeight& weight : document.weights) constants_.insert(weight.name);
  const bool are_inputs = document.model.ir_version() < kFirstVersion;
  for (const auto& input : document.model.graph().input()) {
    const bool is_weight = constants_.contains(input.name());
    if (is_weight && are_inputs) continue;
    if (is_weight || has_open_size(input)) is_closed_ = false;
    constants_.erase(input.name());
  }
}

core::Result<OuterTensors> OuterTensors::make(const ExportedModel& document,
                                              const core::Graph& graph,
                                              InferenceProcess& inference) {
  OuterTensors outer(document, graph);
  SOAPSTONE_ASSIGN_OR_RETURN(const auto typed, with_inferred_types(document, inference));
  for (const auto* values : {&typed.input(), &typed.value_info(), &typed.output()})
    for (const auto& value : *values) outer.inferred_[value.name()] = value.type();
  return outer;
}

core::Result<TypedInput> OuterTensors::captured(const std::string& name, core::TensorId id) const {
  const core::Tensor& tensor = graph_.tensor(id);
  if (tensor.value && (is_closed_ || constants_.contains(name)))
    return TypedInput{name, type_to_onnx(tensor.type), {}, tensor.value, id};
  return typed(name, id);
}

core::Result<TypedInput> OuterTensors::typed(const std::string& name, core::TensorId id) const {
  const core::Tensor& tensor = graph_.tensor(id);
  TypedInput input{name, type_to_onnx(tensor.type), {}, nullptr, id};
  const auto found = inferred_.find(name);
  const onnx::TypeProto* const inferred = found == inferred_.end() ? nullptr : &found->second;
  if (inferred && inferred->value_case() != onnx::TypeProto::VALUE_NOT_SET &&
      !inferred->has_tensor_type())
    return core::unsupported(fmt::format("it reads '{}', which is no tensor", name));
  const auto known = tensor.type.shape_known ? core::concrete(tensor.type.shape) : std::nullopt;
  if (tensor.type.data_type == core::DataType::kOther) {
    if (!inferred) return core::unsupported(fmt::format("the type of '{}' is not known", name));
    input.type = *inferred;
  }
  const bool has_inferred =
      inferred && has_shape(*inferred) &&
      (!known ||
       known->size() == static_cast<std::size_t>(inferred->tensor_type().shape().dim_size()));
  if (!known && !has_inferred)
    return core::unsupported(fmt::format("the sizes of '{}' are not known", name));
  const std::size_t rank =
      known ? known->size() : static_cast<std::size_t>(inferred->tensor_type().shape().dim_size());
  auto& shape = *input.type.mutable_tensor_type()->mutable_shape();
  shape.clear_dim();
  for (std::size_t d = 0; d < rank; ++d) {
    Dimension& dimension = *shape.add_dim();
    if (has_inferred) dimension = inferred->tensor_type().shape().dim(static_cast<int>(d));
    const std::int64_t size = known                 ? (*known)[d]
                              : is_fixed(dimension) ? dimension.dim_value()
                                                    : kAnySize;
    if (is_closed_ && known)
      dimension.set_dim_value(size);
    else if (is_fixed(dimension) && dimension.dim_value() != size)
      dimension.clear_value();
    input.sizes.push_back(size);
  }
  return input;
}

core::Status open_what_changes(const onnx::ModelProto& document, const onnx::GraphProto& body,
                               std::span<const std::pair<std::size_t, std::size_t>> carried,
                               std::vector<TypedInput>& inputs, InferenceProcess& inference) {
  // Each turn opens a size, so this ends.
  for (bool changed = !carried.empty(); changed;) {
    changed = false;
    SOAPSTONE_ASSIGN_OR_RETURN(
        const auto typed, with_inferred_types(model_of_body(document, body, inputs), inference));
    for (const auto& [in, out] : carried) {
      const onnx::TypeProto& after = type_of_output(typed, out);
      TypedInput& input = inputs[in];
      if (!has_shape(after) ||
          after.tensor_type().shape().dim_size() != input.type.tensor_type().shape().dim_size())
        return core::unsupported(fmt::format(
            "the sizes of '{}' may be others in each iteration, and nothing says how many it has",
            input.name));
      changed = open_changing(after, input) || changed;
    }
  }
  return core::Done{};
}

}  // namespace soapstone::models
