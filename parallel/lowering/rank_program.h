// The program of each rank of a plan: graphs of ordinary operators on its pieces of the model's
// tensors, and messages between them. Whatever is computed, sums of partial results and the putting
// together of pieces included, is in the graphs; ranks exchange whole values.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/graph.h"
#include "parallel/pieces/index_set.h"

namespace soapstone::parallel {

/// A value of one rank.
using RankValueId = core::Id<struct RankValueTag>;

/// A piece of a tensor of the model that the rank is given before it runs, or has in the end.
struct HeldPiece {
  core::TensorId tensor;
  TensorPiece piece;
  RankValueId value;
};

/// Runs a graph, whose inputs and outputs are these values in their order.
struct ComputeStep {
  core::Graph graph;
  std::vector<RankValueId> inputs, outputs;
};

struct Message {
  std::size_t number = 0;  ///< The same at both ends; no other message has it.
  std::int64_t peer = 0;   ///< The rank at the other end.
  core::TensorId tensor;   ///< The model's tensor that is exchanged.
  RankValueId value;
};

/// Values go from some ranks to others. All are sent before any is waited for, and none waits for
/// its receiver. A rank receives what another one sends it in the order in which that one does.
struct MessageStep {
  std::vector<Message> sent, received;
};

enum class JoinedValues : std::uint8_t { kSum, kMax, kMin };

/// Each rank of the group has a value of the same type, and gets what all of them come to. They are
/// joined in the order of the group.
struct AllReduceStep {
  std::size_t number = 0;  ///< The same on all ranks of the group, which have no other step with
                           ///< it. Groups that do not meet may have the same one.
  core::TensorId tensor;
  JoinedValues joined = JoinedValues::kSum;
  std::vector<std::int64_t> group;  ///< Ranks, ascending.
  RankValueId from, to;
};

/// Which reduction a step belongs to: its number, and the first rank of its group.
using ReductionKey = std::pair<std::size_t, std::int64_t>;
inline ReductionKey key_of(const AllReduceStep& step) { return {step.number, step.group.front()}; }

using RankStep = std::variant<ComputeStep, MessageStep, AllReduceStep>;

/// Calls `visit` with each value that the step reads.
template <class Visit>
void for_each_read(const RankStep& step, const Visit& visit) {
  if (const auto* compute = std::get_if<ComputeStep>(&step)) {
    for (const RankValueId id : compute->inputs) visit(id);
  } else if (const auto* messages = std::get_if<MessageStep>(&step)) {
    for (const Message& message : messages->sent) visit(message.value);
  } else {
    visit(std::get<AllReduceStep>(step).from);
  }
}

struct RankProgram {
  std::vector<core::TensorType> values;  ///< By value.
  std::vector<HeldPiece> inputs;         ///< Inputs and weights of the model.
  std::vector<RankStep> steps;
  std::vector<HeldPiece> outputs;  ///< Results of the model; several ranks may have the same.
};

inline double bytes_of(const RankProgram& program, RankValueId id) {
  const core::TensorType& type = program.values[id.index()];
  return static_cast<double>(core::element_count(*core::concrete(type.shape)) *
                             static_cast<std::int64_t>(core::size_bytes(type.data_type)));
}

}  // namespace soapstone::parallel
