// Writes the program of one rank: a list of steps for each of the passes that it runs, in any
// order.
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
  /// All that is added from now on belongs to this pass; passes are numbered in the order in which
  /// they will run. Pass 0 is there from the beginning.
  void select(std::size_t pass);
  /// The pass that makes a value; 0 for one that is given.
  std::size_t pass_of(RankValueId value) const { return made_in_[value.index()]; }

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
  void add(MessageStep step) { passes_[now_].emplace_back(std::move(step)); }
  void add(AllReduceStep step) { passes_[now_].emplace_back(std::move(step)); }
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
    std::map<core::TensorId, RankValueId> values;  ///< The inverse of `operands`.
    std::vector<std::pair<RankValueId, core::TensorId>> defined;
  };
  using OpenStep = std::variant<OpenGraph, MessageStep, AllReduceStep>;

  OpenGraph& open();
  RankValueId new_value(core::TensorType type, std::size_t pass);
  core::Status close(OpenStep step, std::vector<bool>& is_read);
  core::Result<std::optional<ComputeStep>> closed(OpenGraph graph, std::vector<bool>& is_read);

  RankProgram program_;
  std::vector<std::vector<OpenStep>> passes_{1};
  std::size_t now_ = 0;
  std::vector<std::size_t> made_in_;  ///< By value.
  /// Pieces of inputs, by tensor: places in `program_.inputs`.
  std::map<core::TensorId, std::vector<std::size_t>> given_;
};

}  // namespace soapstone::parallel
