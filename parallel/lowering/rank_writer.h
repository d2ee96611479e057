// Writes the program of one rank, step by step.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "parallel/lowering/rank_program.h"

namespace soapstone::parallel {

class RankWriter {
 public:
  /// The graph that computes until the next exchange.
  core::GraphBuilder& builder() { return open().builder; }
  /// A value in that graph.
  core::TensorId operand(RankValueId value);
  /// A value that the graph makes.
  RankValueId define(core::TensorId tensor);

  /// A value that the rank is given before it runs: the same one for the same piece.
  RankValueId input(core::TensorId tensor, const TensorPiece& piece, core::DataType type);
  /// A value that an exchange brings.
  RankValueId received(core::TensorType type);
  void add(MessageStep step) { steps_.emplace_back(std::move(step)); }
  void add(AllReduceStep step) { steps_.emplace_back(std::move(step)); }
  void add_output(HeldPiece piece) { program_.outputs.push_back(std::move(piece)); }

  const core::TensorType& type(RankValueId value) const { return program_.values[value.index()]; }

  /// Graphs give what is read behind them and nothing else. Errors: kInvalidInput if a graph is
  /// none, which is a fault of the program.
  core::Result<RankProgram> finish() &&;

 private:
  struct OpenGraph {
    core::GraphBuilder builder;
    std::vector<RankValueId> inputs;
    std::map<RankValueId, core::TensorId> operands;
    std::vector<std::pair<RankValueId, core::TensorId>> defined;
  };
  using OpenStep = std::variant<OpenGraph, MessageStep, AllReduceStep>;

  OpenGraph& open();
  RankValueId new_value(core::TensorType type);
  core::Result<std::optional<ComputeStep>> closed(OpenGraph graph, std::vector<bool>& is_read);

  RankProgram program_;
  std::vector<OpenStep> steps_;
};

}  // namespace soapstone::parallel
