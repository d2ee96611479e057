#include "parallel/planning/pipeline.h"

#include <algorithm>
#include <optional>

#include "core/base/check.h"

namespace soapstone::parallel {
namespace {

/// Begins of pieces of which none takes longer than `limit`, each as long as it may be without
/// leaving too few nodes for the others; none if that takes more pieces than there are.
std::optional<std::vector<std::size_t>> pieces_within(const std::vector<PipelineNode>& nodes,
                                                      std::size_t pieces, double limit) {
  std::vector<std::size_t> begins{0};
  std::size_t from = 0;
  while (begins.size() < pieces) {
    // The piece may end behind any node such that the rest still has a node for each piece.
    const std::size_t last_end = nodes.size() - (pieces - begins.size());
    std::optional<std::size_t> end;
    double us = 0;
    for (std::size_t k = from; k < last_end; ++k) {
      us += nodes[k].us;
      if (us > limit) break;
      if (us + nodes[k].handover_us <= limit) end = k + 1;
    }
    if (!end) return std::nullopt;
    begins.push_back(*end);
    from = *end;
  }
  double us = 0;
  for (std::size_t k = from; k < nodes.size(); ++k) us += nodes[k].us;
  if (us > limit) return std::nullopt;
  return begins;
}

double slowest_stage(const std::vector<PipelineNode>& nodes,
                     const std::vector<std::size_t>& begins, std::size_t stages) {
  std::vector<double> us(stages, 0);
  for (std::size_t p = 0; p < begins.size(); ++p) {
    const bool is_last = p + 1 == begins.size();
    const std::size_t end = is_last ? nodes.size() : begins[p + 1];
    for (std::size_t k = begins[p]; k < end; ++k) us[p % stages] += nodes[k].us;
    if (!is_last) us[p % stages] += nodes[end - 1].handover_us;
  }
  return *std::max_element(us.begin(), us.end());
}

}  // namespace

PipelineCut cut_pipeline(const std::vector<PipelineNode>& nodes, std::size_t stages,
                         std::size_t chunks) {
  const std::size_t pieces = stages * chunks;
  CHECK(pieces >= 1 && nodes.size() >= pieces, "more stages than nodes");
  double low = 0, high = 0;
  for (const PipelineNode& node : nodes) high += node.us + node.handover_us;
  std::vector<std::size_t> best = *pieces_within(nodes, pieces, high);
  constexpr int kHalvings = 40;
  for (int k = 0; k < kHalvings; ++k) {
    const double middle = (low + high) / 2;
    if (auto found = pieces_within(nodes, pieces, middle)) {
      best = *std::move(found);
      high = middle;
    } else {
      low = middle;
    }
  }
  return {best, slowest_stage(nodes, best, stages)};
}

}  // namespace soapstone::parallel
