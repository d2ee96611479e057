#include "parallel/lowering/rank_writer.h"

#include <algorithm>
#include <ranges>

namespace soapstone::parallel {

void RankWriter::select(std::size_t pass) {
  if (pass >= passes_.size()) passes_.resize(pass + 1);
  now_ = pass;
}

RankWriter::OpenGraph& RankWriter::open() {
  std::vector<OpenStep>& steps = passes_[now_];
  if (steps.empty() || !std::holds_alternative<OpenGraph>(steps.back()))
    steps.emplace_back(OpenGraph());
  return std::get<OpenGraph>(steps.back());
}

RankValueId RankWriter::new_value(core::TensorType type, std::size_t pass) {
  program_.values.push_back(std::move(type));
  made_in_.push_back(pass);
  return RankValueId(program_.values.size() - 1);
}

core::TensorId RankWriter::operand(RankValueId value) {
  OpenGraph& graph = open();
  const auto [at, is_new] = graph.operands.try_emplace(value);
  if (is_new) {
    graph.inputs.push_back(value);
    at->second = graph.builder.add_input("v" + std::to_string(value.index()), type(value));
    graph.values.emplace(at->second, value);
  }
  return at->second;
}

RankValueId RankWriter::define(core::TensorId tensor) {
  OpenGraph& graph = open();
  if (const auto known = graph.values.find(tensor); known != graph.values.end())
    return known->second;
  const RankValueId value = new_value(graph.builder.tensor(tensor).type, now_);
  graph.operands.emplace(value, tensor);
  graph.values.emplace(tensor, value);
  graph.defined.emplace_back(value, tensor);
  return value;
}

RankValueId RankWriter::input(core::TensorId tensor, const TensorPiece& piece,
                              core::DataType type) {
  std::vector<std::size_t>& given = given_[tensor];
  for (const std::size_t at : given)
    if (program_.inputs[at].piece == piece) return program_.inputs[at].value;
  const RankValueId value = new_value({type, core::to_shape(piece.extents()), true}, 0);
  given.push_back(program_.inputs.size());
  program_.inputs.push_back({tensor, piece, value});
  return value;
}

RankValueId RankWriter::received(core::TensorType type) { return new_value(std::move(type), now_); }

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

core::Status RankWriter::close(OpenStep step, std::vector<bool>& is_read) {
  if (auto* graph = std::get_if<OpenGraph>(&step)) {
    SOAPSTONE_ASSIGN_OR_RETURN(std::optional<ComputeStep> compute,
                               closed(std::move(*graph), is_read));
    if (compute) program_.steps.emplace_back(*std::move(compute));
  } else if (auto* messages = std::get_if<MessageStep>(&step)) {
    for (const Message& message : messages->sent) is_read[message.value.index()] = true;
    program_.steps.emplace_back(std::move(*messages));
  } else {
    auto& reduction = std::get<AllReduceStep>(step);
    is_read[reduction.from.index()] = true;
    program_.steps.emplace_back(std::move(reduction));
  }
  return core::Done{};
}

core::Result<RankProgram> RankWriter::finish() && {
  std::vector<bool> is_read(program_.values.size());
  for (const HeldPiece& output : program_.outputs) is_read[output.value.index()] = true;
  for (std::vector<OpenStep>& steps : passes_ | std::views::reverse)
    for (OpenStep& step : steps | std::views::reverse)
      SOAPSTONE_RETURN_IF_ERROR(close(std::move(step), is_read));
  std::ranges::reverse(program_.steps);
  return std::move(program_);
}

}  // namespace soapstone::parallel
