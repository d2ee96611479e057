// See lower.h.
#include "ops/lowering/lower.h"

#include <algorithm>

#include "ops/definition/registry.h"
#include "ops/lowering/convolution_gradients.h"
#include "ops/lowering/lowering.h"

namespace soapstone::ops {
namespace {

using core::TensorId;

bool is_plain(const core::Shape& shape) {
  const auto dims = core::concrete(shape);
  return dims && std::ranges::none_of(*dims, [](std::int64_t d) { return d == 0; });
}

/// The type of the first result with real elements, else f32.
core::DataType real_type(std::span<const core::TensorType> outputs) {
  for (const core::TensorType& type : outputs)
    if (core::is_floating(type.data_type)) return type.data_type;
  return core::DataType::kFloat32;
}

}  // namespace

core::Result<std::vector<TensorId>> lower(SharedNodes& nodes, const Semantics& semantics,
                                          std::span<const TensorId> inputs,
                                          std::span<const core::TensorType> outputs) {
  const auto refuse = [] {
    return core::unsupported("tensors without elements are not written with standard operators");
  };
  for (const Stage& stage : semantics.stages)
    if (!is_plain(stage.shape)) return refuse();
  for (const TensorId t : inputs)
    if (t.valid() && !is_plain(nodes.tensor(t).type.shape)) return refuse();
  Lowering lowering(nodes, semantics, inputs, real_type(outputs));
  for (const Stage& stage : semantics.stages) lowering.add_stage(stage);
  std::vector<TensorId> results;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    results.push_back(lowering.output(semantics.outputs[k], outputs[k]));
  if (nodes.error()) return *nodes.error();
  return results;
}

core::Result<std::vector<TensorId>> lower(SharedNodes& nodes, const core::Node& node) {
  const OpDefinition* definition = definition_of(node);
  CHECK(definition, "an opaque node has no meaning");
  if (const auto known = append_convolution_gradient(nodes, node)) {
    if (nodes.error()) return *nodes.error();
    return std::vector{*known};
  }
  std::vector<core::TensorType> inputs, outputs;
  for (const TensorId t : node.inputs)
    inputs.push_back(t.valid() ? nodes.tensor(t).type
                               : core::TensorType{core::DataType::kOther, {}, false});
  for (const TensorId t : node.outputs) outputs.push_back(nodes.tensor(t).type);
  const Semantics semantics = definition->semantics({node.attributes, inputs, outputs});
  return lower(nodes, semantics, node.inputs, outputs);
}

}  // namespace soapstone::ops
