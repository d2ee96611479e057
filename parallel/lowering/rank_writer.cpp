#include "parallel/lowering/rank_writer.h"

#include <algorithm>

namespace soapstone::parallel {

RankWriter::OpenGraph& RankWriter::open() {
  if (steps_.empty() || !std::holds_alternative<OpenGraph>(steps_.back()))
    steps_.emplace_back(OpenGraph());
  return std::get<OpenGraph>(steps_.back());
}

RankValueId RankWriter::new_value(core::TensorType type) {
  program_.values.push_back(std::move(type));
  return RankValueId(program_.values.size() - 1);
}

core::TensorId RankWriter::operand(RankValueId value) {
  OpenGraph& graph = open();
  const auto [at, is_new] = graph.operands.try_emplace(value);
  if (is_new) {
    graph.inputs.push_back(value);
    at->second = graph.builder.add_input("v" + std::to_string(value.index()), type(value));
  }
  return at->second;
}

RankValueId RankWriter::define(core::TensorId tensor) {
  OpenGraph& graph = open();
  for (const auto& [value, operand] : graph.operands)
    if (operand == tensor) return value;
  const RankValueId value = new_value(graph.builder.tensor(tensor).type);
  graph.operands.emplace(value, tensor);
  graph.defined.emplace_back(value, tensor);
  return value;
}

RankValueId RankWriter::input(core::TensorId tensor, const TensorPiece& piece,
                              core::DataType type) {
  for (const HeldPiece& held : program_.inputs)
    if (held.tensor == tensor && held.piece == piece) return held.value;
  const RankValueId value = new_value({type, core::to_shape(piece.extents()), true});
  program_.inputs.push_back({tensor, piece, value});
  return value;
}

RankValueId RankWriter::received(core::TensorType type) { return new_value(std::move(type)); }

core::Result<std::optional<ComputeStep>> RankWriter::closed(OpenGraph graph,
                                                            std::vector<bool>& is_read) {
  ComputeStep step;
  std::vector<core::TensorId> outputs;
  for (const auto& [value, tensor] : graph.defined) {
    if (!is_read[value.index()]) continue;
    step.outputs.push_back(value);
    outputs.push_back(tensor);
  }
  if (outputs.empty()) return std::optional<ComputeStep>();
  graph.builder.set_outputs(std::move(outputs));
  SOAPSTONE_ASSIGN_OR_RETURN(step.graph, std::move(graph.builder).finish());
  step.inputs = std::move(graph.inputs);
  for (const RankValueId value : step.inputs) is_read[value.index()] = true;
  return std::optional(std::move(step));
}

core::Result<RankProgram> RankWriter::finish() && {
  std::vector<bool> is_read(program_.values.size());
  for (const HeldPiece& output : program_.outputs) is_read[output.value.index()] = true;
  for (std::size_t k = steps_.size(); k-- > 0;) {
    if (auto* graph = std::get_if<OpenGraph>(&steps_[k])) {
      SOAPSTONE_ASSIGN_OR_RETURN(std::optional<ComputeStep> step,
                                 closed(std::move(*graph), is_read));
      if (step) program_.steps.emplace_back(*std::move(step));
    } else if (auto* messages = std::get_if<MessageStep>(&steps_[k])) {
      for (const Message& message : messages->sent) is_read[message.value.index()] = true;
      program_.steps.emplace_back(std::move(*messages));
    } else {
      auto& reduction = std::get<AllReduceStep>(steps_[k]);
      is_read[reduction.from.index()] = true;
      program_.steps.emplace_back(std::move(reduction));
    }
  }
  std::ranges::reverse(program_.steps);
  return std::move(program_);
}

}  // namespace soapstone::parallel
