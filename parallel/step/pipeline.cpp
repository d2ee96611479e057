#include "parallel/step/pipeline.h"

#include <algorithm>
#include <optional>

#include "core/base/check.h"

namespace soapstone::parallel {
namespace {

/// Begins of exactly so many pieces of which none takes longer than `limit`, or none. A piece may
/// as well begin at the latest node where the pieces before it can end, as it is the shorter then.
std::optional<std::vector<std::size_t>> pieces_within(const std::vector<PipelineNode>& nodes,
                                                      std::size_t pieces,
                                                      const std::vector<double>& slowness,
                                                      double limit) {
  const std::size_t count = nodes.size();
  std::vector<double> before(count + 1, 0), exchanged(count + 1, 0);
  for (std::size_t k = 0; k < count; ++k) {
    before[k + 1] = before[k] + nodes[k].us;
    exchanged[k + 1] = exchanged[k] + nodes[k].exchange_us;
  }
  // A row a piece: where it begins if it ends before node e; `count + 1`: it cannot end there.
  const std::size_t width = count + 1, nowhere = count + 1;
  std::vector<std::size_t> begin(pieces * width, nowhere);
  for (std::size_t p = 0; p < pieces; ++p) {
    const double slow = slowness[p % slowness.size()];
    std::size_t latest = nowhere;
    for (std::size_t e = p + 1; e <= count; ++e) {
      const std::size_t from = e - 1;
      const bool can_begin = p == 0 ? from == 0 : begin[(p - 1) * width + from] != nowhere;
      if (can_begin) latest = from;
      if (latest == nowhere) continue;
      const double handover_us = e == count ? 0 : nodes[e - 1].handover_us;
      const double us =
          slow * (before[e] - before[latest]) + exchanged[e] - exchanged[latest] + handover_us;
      if (us <= limit) begin[p * width + e] = latest;
    }
  }
  if (begin[(pieces - 1) * width + count] == nowhere) return std::nullopt;
  std::vector<std::size_t> begins(pieces);
  for (std::size_t p = pieces, end = count; p-- > 0;) end = begins[p] = begin[p * width + end];
  return begins;
}

double slowest_stage(const std::vector<PipelineNode>& nodes, const std::vector<std::size_t>& begins,
                     const std::vector<double>& slowness) {
  const std::size_t stages = slowness.size();
  std::vector<double> us(stages, 0);
  for (std::size_t p = 0; p < begins.size(); ++p) {
    const bool is_last = p + 1 == begins.size();
    const std::size_t end = is_last ? nodes.size() : begins[p + 1];
    for (std::size_t k = begins[p]; k < end; ++k)
      us[p % stages] += slowness[p % stages] * nodes[k].us + nodes[k].exchange_us;
    if (!is_last) us[p % stages] += nodes[end - 1].handover_us;
  }
  return *std::max_element(us.begin(), us.end());
}

}  // namespace

PipelineCut cut_pipeline(const std::vector<PipelineNode>& nodes, std::size_t stages,
                         std::size_t chunks, std::span<const double> slowness) {
  const std::size_t pieces = stages * chunks;
  CHECK(pieces >= 1 && nodes.size() >= pieces, "more stages than nodes");
  std::vector<double> slow(slowness.begin(), slowness.end());
  slow.resize(stages, 1);
  const auto [fastest, slowest] = std::ranges::minmax(slow);
  double low = 0, high = 0;
  for (const PipelineNode& node : nodes) {
    low += fastest * node.us + node.exchange_us;
    high += slowest * node.us + node.exchange_us + node.handover_us;
  }
  low /= static_cast<double>(pieces);
  constexpr double kRounding = 1e-9;  // Sums in another order may be a little larger.
  high *= 1 + kRounding;
  std::vector<std::size_t> best = *pieces_within(nodes, pieces, slow, high);
  constexpr double kPrecision = 1e-6;
  while (high - low > kPrecision * high) {
    const double middle = (low + high) / 2;
    if (auto found = pieces_within(nodes, pieces, slow, middle)) {
      best = *std::move(found);
      high = middle;
    } else {
      low = middle;
    }
  }
  return {best, slowest_stage(nodes, best, slow)};
}

}  // namespace soapstone::parallel
