// Nodes of a plan that are told as one: single nodes, blocks of a network, or pieces of a stage.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "parallel/plans/plan_document.h"

namespace soapstone::parallel {

struct StepBlock {
  std::string name;
  NodeEstimate sum;  ///< Of its nodes.
};

/// Piece k · stages + s is the kth that stage s runs.
using StepPieces = std::vector<std::vector<StepBlock>>;

/// The finest that has no more than `most_blocks`; pieces as a whole if nothing finer does.
/// Errors: kInvalidInput if the stages of the nodes are not those of the pipeline.
core::Result<StepPieces> step_blocks(const PlanDocument& plan, std::size_t most_blocks);

std::size_t block_count(const StepPieces& pieces);

}  // namespace soapstone::parallel
