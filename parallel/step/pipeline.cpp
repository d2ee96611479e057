#include "parallel/step/pipeline.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/base/check.h"

namespace soapstone::parallel {
namespace {

/// Cuts nodes into pieces of limited time. A piece may as well begin at the latest node where the
/// pieces before it can end, as it is the shorter then.
class PieceCutter {
 public:
  PieceCutter(const std::vector<PipelineNode>& nodes, std::size_t pieces,
              const std::vector<double>& slowness)
      : nodes_(nodes), slowness_(slowness), ends_(pieces), us_(nodes.size() + 1, 0),
        exchange_us_(nodes.size() + 1, 0) {
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      us_[k + 1] = us_[k] + nodes[k].us;
      exchange_us_[k + 1] = exchange_us_[k] + nodes[k].exchange_us;
    }
  }

  /// Begins of pieces of which none takes longer than `limit_us`, or none.
  std::optional<std::vector<std::size_t>> begins(double limit_us) {
    for (std::size_t p = 0; p < ends_.size(); ++p)
      if (!find_ends(p, limit_us)) return std::nullopt;
    const std::size_t count = nodes_.size();
    if (ends_.back().back().end != count) return std::nullopt;
    std::vector<std::size_t> begins(ends_.size());
    for (std::size_t p = ends_.size(), end = count; p-- > 0; end = begins[p]) {
      const auto at = std::ranges::lower_bound(ends_[p], end, {}, &End::end);
      begins[p] = at->begin;
    }
    return begins;
  }

 private:
  /// A piece may end before node `end` if it begins at `begin`.
  struct End {
    std::size_t end, begin;
  };

  /// Fills in where piece `p` may end, ascending; false if nowhere.
  bool find_ends(std::size_t p, double limit_us) {
    std::vector<End>& ends = ends_[p];
    ends.clear();
    static const std::vector<End> kStart{{0, 0}};
    const std::vector<End>& before = p == 0 ? kStart : ends_[p - 1];
    const double slow = slowness_[p % slowness_.size()];
    std::size_t next = 0;
    for (std::size_t end = before[0].end + 1; end <= nodes_.size(); ++end) {
      while (next + 1 < before.size() && before[next + 1].end < end) ++next;
      const std::size_t begin = before[next].end;
      const double alone_us =
          slow * (us_[end] - us_[begin]) + exchange_us_[end] - exchange_us_[begin];
      if (alone_us > limit_us && next + 1 == before.size()) break;
      const double handover_us = end == nodes_.size() ? 0 : nodes_[end - 1].handover_us;
      if (alone_us + handover_us <= limit_us) ends.push_back({end, begin});
    }
    return !ends.empty();
  }

  const std::vector<PipelineNode>& nodes_;
  const std::vector<double>& slowness_;   ///< By stage.
  std::vector<std::vector<End>> ends_;    ///< By piece.
  std::vector<double> us_, exchange_us_;  ///< All nodes before together.
};

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
  const double fastest = std::ranges::min(slow);
  double low = 0;
  for (const PipelineNode& node : nodes) low += fastest * node.us + node.exchange_us;
  low /= static_cast<double>(pieces);
  PieceCutter cutter(nodes, pieces, slow);
  // Limits grow from below, so that there are never many places where a piece may end.
  double high = low + std::numeric_limits<double>::min();
  std::optional<std::vector<std::size_t>> at_high;
  while (!(at_high = cutter.begins(high))) {
    low = high;
    high *= 2;
  }
  std::vector<std::size_t> best = *std::move(at_high);
  constexpr double kPrecision = 1e-4;
  while (high - low > kPrecision * high) {
    const double middle = (low + high) / 2;
    if (auto found = cutter.begins(middle)) {
      best = *std::move(found);
      high = middle;
    } else {
      low = middle;
    }
  }
  return {best, slowest_stage(nodes, best, slow)};
}

}  // namespace soapstone::parallel
