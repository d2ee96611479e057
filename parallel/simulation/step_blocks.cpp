#include "parallel/simulation/step_blocks.h"

#include <fmt/format.h>

namespace soapstone::parallel {
namespace {

enum class Detail : std::uint8_t { kNodes, kBlocks, kPieces };

void add(const NodeEstimate& node, NodeEstimate& sum) {
  sum.forward_us += node.forward_us;
  sum.forward_exchange_us += node.forward_exchange_us;
  sum.again_us += node.again_us;
  sum.backward_us += node.backward_us;
  sum.backward_exchange_us += node.backward_exchange_us;
  sum.gradient_sum_us += node.gradient_sum_us;
  sum.update_us += node.update_us;
  sum.weight_bytes += node.weight_bytes;
  sum.kept_bytes += node.kept_bytes;
  sum.handover_bytes += node.handover_bytes;
}

std::string block_name(const PlannedNode& node, Detail detail) {
  if (detail == Detail::kPieces) return fmt::format("stage {}", node.stage);
  return detail == Detail::kNodes ? node.name : node.name.substr(0, node.name.find('/'));
}

bool takes_nothing(const NodeEstimate& estimate) { return estimate == NodeEstimate{}; }

StepPieces blocks_at(const PlanDocument& plan, Detail detail) {
  StepPieces pieces;
  std::int64_t stage = -1;
  for (const PlannedNode& node : plan.nodes) {
    if (node.stage != stage) pieces.emplace_back();
    stage = node.stage;
    const NodeEstimate& estimate = plan.estimates[node.estimate];
    std::vector<StepBlock>& blocks = pieces.back();
    const std::string name = block_name(node, detail);
    const bool begins = blocks.empty() || detail == Detail::kNodes || blocks.back().name != name;
    if (begins && !blocks.empty() && takes_nothing(estimate)) continue;
    if (begins) blocks.push_back({name, {}});
    add(estimate, blocks.back().sum);
  }
  return pieces;
}

}  // namespace

core::Result<StepPieces> step_blocks(const PlanDocument& plan, std::size_t most_blocks) {
  SOAPSTONE_RETURN_IF_ERROR(check_stages(plan));
  StepPieces pieces = blocks_at(plan, Detail::kNodes);
  for (const Detail detail : {Detail::kBlocks, Detail::kPieces})
    if (block_count(pieces) > most_blocks) pieces = blocks_at(plan, detail);
  return pieces;
}

std::size_t block_count(const StepPieces& pieces) {
  std::size_t blocks = 0;
  for (const auto& piece : pieces) blocks += piece.size();
  return blocks;
}

}  // namespace soapstone::parallel
