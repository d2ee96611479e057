// See contest.h.
#include "search/passes/contest.h"

#include <algorithm>

#include "core/base/hash.h"
#include "search/base/real_gain.h"

namespace soapstone::search {
namespace {

/// Saturation that gains less than this share of what moves gain is hopeless.
constexpr double kHopeless = 0.4;

/// Equal for regions that have the same kinds of operators, in any number.
std::uint64_t family_of(const Region& region) {
  std::set<std::uint64_t> operators;
  for (const core::NodeId id : region.graph.order())
    if (!region.graph.is_constant_expression(id))
      operators.insert(region.graph.node(id).op->hash());
  std::uint64_t hash = operators.size();
  for (const std::uint64_t op : operators) hash = core::hash_combine(hash, op);
  return hash;
}

}  // namespace

bool Contest::Score::is_close() const { return saturation_us > kHopeless * moves_us; }

bool Contest::Score::is_decided() const {
  constexpr int kMostTrials = 4;
  if (trials == 0) return false;
  return trials == kMostTrials || !is_close() || saturation_us >= kRealGain * moves_us;
}

std::vector<const Region*> Contest::trials(const std::vector<Region>& regions) const {
  std::vector<const Region*> next;
  std::set<std::uint64_t> met;
  for (const Region& region : regions) {
    const std::uint64_t family = family_of(region);
    const auto score = scores_.find(family);
    if (score != scores_.end() && score->second.is_decided()) continue;
    if (tried_.contains(region.signature) || !met.insert(family).second) continue;
    next.push_back(&region);
  }
  return next;
}

void Contest::judge(const Region& region, const RegionResult& moves,
                    const RegionResult& saturation) {
  Score& score = scores_[family_of(region)];
  score.moves_us += moves.gain_us();
  score.saturation_us += saturation.gain_us();
  ++score.trials;
  if (moves.stop == RegionStop::kExhausted && saturation.stop == RegionStop::kBudget) ++score.ended;
  tried_.insert(region.signature);
}

bool Contest::deepen() {
  const bool decides = !is_depth_decided_;
  is_depth_decided_ = true;
  if (!decides ||
      std::ranges::none_of(scores_, [](const auto& entry) { return entry.second.is_stuck(); }))
    return false;
  is_deep_ = true;
  scores_.clear();
  tried_.clear();
  return true;
}

bool Contest::is_for_saturation(const Score& score) const {
  return score.moves_us < score.saturation_us * kRealGain || (is_deep_ && score.is_stuck());
}

bool Contest::prefers_saturation(const Region& region) const {
  const auto score = scores_.find(family_of(region));
  return score != scores_.end() && is_for_saturation(score->second);
}

bool Contest::is_won_by_saturation() const {
  return std::ranges::any_of(scores_,
                             [&](const auto& entry) { return is_for_saturation(entry.second); });
}

}  // namespace soapstone::search
