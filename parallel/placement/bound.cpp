// See bound.h. Degrees are narrowed down best-first; the least relaxation of what is left is a
// bound at any time.
#include "parallel/placement/bound.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include <fmt/format.h>

#include "parallel/placement/relaxation.h"

namespace soapstone::parallel {
namespace {

constexpr double kFirstStep = 4, kLaterStep = 2;
/// Rounding of sums, as a share: far above what doubles lose, far below what matters.
constexpr double kSlack = 1e-9;
constexpr std::size_t kCutsNamed = 2;

struct DegreeNode {
  double least;
  std::size_t number;
  DegreeRanges ranges;
  Relaxed relaxed;
  bool operator>(const DegreeNode& other) const {
    return std::tie(least, number) > std::tie(other.least, other.number);
  }
};

/// The range whose ends differ most in synchronization; null if all are settled.
DegreeRanges::Range* widest(const BoundProblem& problem, DegreeRanges& ranges) {
  DegreeRanges::Range* best = nullptr;
  double most = -1;
  const auto look_at = [&](DegreeRanges::Range& range, const std::vector<double>& sync) {
    const double width = sync[range.second - 1] - sync[range.first - 1];
    if (range.first == range.second || width <= most) return;
    most = width;
    best = &range;
  };
  for (std::size_t group = 0; group < ranges.groups.size(); ++group)
    look_at(ranges.groups[group], problem.groups[group].sync);
  for (std::size_t op = 0; op < ranges.operators.size(); ++op)
    if (!problem.sync_of_devices[op].empty())
      look_at(ranges.operators[op], problem.sync_of_devices[op]);
  return best;
}

std::string cut_in_words(const PlacementProblem& problem, const Cut& cut) {
  const auto name = [&](std::uint32_t op) { return "'" + problem.operators[op].name + "'"; };
  if (!cut.paired.empty())
    return fmt::format("the devices of {} and of what it reads", name(cut.paired.front()));
  if (!cut.worked.empty())
    return fmt::format("the work of {} operators, from {} to {}", cut.worked.size(),
                       name(cut.worked.front()), name(cut.worked.back()));
  if (cut.loaded.size() > 1)
    return fmt::format("the devices of {} operators, from {} to {}", cut.loaded.size(),
                       name(cut.loaded.front()), name(cut.loaded.back()));
  if (cut.loaded.size() == 1) return fmt::format("the devices of {}", name(cut.loaded.front()));
  return fmt::format("the path of {} operators to {}", cut.timed.size(), name(cut.timed.back()));
}

std::string in_words(const PlacementProblem& problem, const PlacementBound& bound,
                     const Relaxed& relaxed) {
  std::string text;
  for (std::size_t k = 0; k < std::min(kCutsNamed, relaxed.mixture.size()); ++k) {
    const auto& [share, cut] = relaxed.mixture[k];
    text += fmt::format("{}{} ({:.0f} %)", text.empty() ? "" : ", ", cut_in_words(problem, cut),
                        100 * share);
  }
  return text + fmt::format("; {:.2f} ms for weights", to_us(bound.sync) / 1000);
}

}  // namespace

PlacementBound placement_bound(const PlacementProblem& problem,
                               const PlacementBoundOptions& options) {
  const BoundProblem choices(problem);
  Relaxation relaxation(choices);
  std::priority_queue<DegreeNode, std::vector<DegreeNode>, std::greater<>> open;
  std::size_t nodes = 0;
  const auto add = [&](const DegreeRanges& ranges, double at_least, int rounds, double step) {
    Relaxed relaxed = relaxation.relax(ranges, rounds, step);
    const double least = std::max(at_least, relaxed.least);
    open.push({least, nodes++, ranges, std::move(relaxed)});
  };
  DegreeRanges all;
  all.groups.assign(choices.groups.size(), {1, problem.device_count});
  for (const std::vector<double>& sync : choices.sync_of_devices)
    all.operators.emplace_back(1, std::max<std::size_t>(1, sync.size()));
  add(all, 0, options.rounds, kFirstStep);
  for (int k = 0; k < options.most_nodes; ++k) {
    DegreeRanges half = open.top().ranges;
    DegreeRanges::Range* const range = widest(choices, half);
    if (!range) break;
    const double least = open.top().least;
    open.pop();
    const auto [low, high] = *range;
    const std::size_t middle = low == 1 ? 1 : (low + high) / 2;
    *range = {low, middle};
    add(half, least, options.rounds_later, kLaterStep);
    *range = {middle + 1, high};
    add(half, least, options.rounds_later, kLaterStep);
  }
  const DegreeNode& best = open.top();
  PlacementBound bound;
  bound.time = static_cast<Ticks>(std::floor(best.least * (1 - kSlack)));
  bound.sync = std::min(bound.time, static_cast<Ticks>(best.relaxed.point.sync));
  bound.binding = in_words(problem, bound, best.relaxed);
  return bound;
}

}  // namespace soapstone::parallel
