// See pattern_binding.h.
#include "rules/matching/pattern_binding.h"

#include "ops/definition/by_role.h"
#include "ops/definition/infer_rules.h"
#include "ops/onnx/onnx_reading.h"

namespace soapstone::rules {

PatternBinding::PatternBinding(const Graph& graph, std::size_t slots, std::size_t symbols,
                               std::size_t equations)
    : SymbolBinding(symbols, equations), graph_(graph), slots_(slots) {
  slot_trail_.reserve(slots);
}

void PatternBinding::undo(Mark mark) {
  for (; slot_trail_.size() > mark.slots; slot_trail_.pop_back())
    slots_[static_cast<std::size_t>(slot_trail_.back())] = TensorId::none();
  undo_symbols(mark.symbols);
}

bool PatternBinding::bind_outputs(const NodePattern& wanted, const core::Node& node) {
  for (std::size_t k = 0; k < wanted.outputs.size(); ++k)
    if (!bind(wanted.outputs[k], node.outputs[k])) return false;
  return true;
}

bool PatternBinding::bind_inputs(const NodePattern& wanted, const core::Node& node,
                                 bool exchanged) {
  for (std::size_t k = 0; k < wanted.inputs.size(); ++k)
    if (!bind(wanted.inputs[k], node.inputs[exchanged && k < 2 ? 1 - k : k])) return false;
  return true;
}

bool PatternBinding::bind(std::int32_t slot, TensorId id) {
  if (slot < 0 || !id.valid()) return slot < 0 && !id.valid();
  TensorId& at = slots_[static_cast<std::size_t>(slot)];
  const SlotPattern& wanted = pattern().slots[static_cast<std::size_t>(slot)];
  if (wanted.kind == SlotPattern::Kind::kLiteral) {
    const core::Tensor& tensor = graph_.tensor(id);
    return tensor.value && is_wanted(*tensor.value, wanted);
  }
  if (wanted.kind == SlotPattern::Kind::kScalar) return bind_scalar(wanted, id);
  if (at.valid()) return at == id;
  if (is_empty(graph_.tensor(id).type)) return false;
  if (wanted.kind == SlotPattern::Kind::kInput && !admits(wanted, id)) return false;
  at = id;
  slot_trail_.push_back(slot);
  return true;
}

/// The number is a constant of the graph, or what a `full` makes.
bool PatternBinding::bind_scalar(const SlotPattern& wanted, TensorId id) {
  const core::Tensor& tensor = graph_.tensor(id);
  if (tensor.type.data_type != core::DataType::kFloat32 || !tensor.type.shape_known) return false;
  if (!match_shape(wanted.dims, tensor.type.shape)) return false;
  if (tensor.value) {
    const float number = tensor.value->as<float>()[0];
    return ops::is_representable(number) && match_real(wanted.value, ops::shortest_decimal(number));
  }
  const bool filled =
      tensor.producer.valid() && graph_.node(tensor.producer).op->movement == core::Movement::kFill;
  return filled && match_real(wanted.value, ops::fill_value(graph_.node(tensor.producer)));
}

bool PatternBinding::admits(const SlotPattern& wanted, TensorId id) {
  const core::TensorType& type = graph_.tensor(id).type;
  const bool any_float = wanted.data_type == core::DataType::kFloat32;
  if (any_float ? !core::is_floating(type.data_type) : type.data_type != wanted.data_type)
    return false;
  if (!type.shape_known || (wanted.constant && !graph_.is_constant_expression(id))) return false;
  return match_shape(wanted.dims, type.shape);
}

}  // namespace soapstone::rules
