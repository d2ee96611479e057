// See relaxation.h. Weights of cuts follow the multiplicative update of S. Arora, E. Hazan and
// S. Kale, "The Multiplicative Weights Update Method" (2012); cuts.cpp finds the cuts.
#include "parallel/placement/relaxation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace soapstone::parallel {
namespace {

constexpr double kNegligible = 1e-9;

}  // namespace

Relaxation::Relaxation(const BoundProblem& problem) : problem_(problem) {}

Relaxation::Weights Relaxation::mix(std::vector<double>& shares) const {
  const std::size_t operators = problem_.size();
  Weights weights;
  for (auto* const each :
       {&weights.time, &weights.load, &weights.work, &weights.delay, &weights.pair})
    each->resize(operators);
  double highest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double score : scores_) highest = std::max(highest, score);
  shares.clear();
  for (const double score : scores_) {
    shares.push_back(std::exp(score - highest));
    sum += shares.back();
  }
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    shares[k] /= sum;
    if (shares[k] < kNegligible) shares[k] = 0;
    for (const std::uint32_t op : cuts_[k].timed) weights.time[op] += shares[k];
    for (const std::uint32_t op : cuts_[k].loaded) weights.load[op] += shares[k];
    for (const std::uint32_t op : cuts_[k].worked) weights.work[op] += shares[k];
    for (const std::uint32_t op : cuts_[k].delayed) weights.delay[op] += shares[k];
    for (const std::uint32_t op : cuts_[k].paired) weights.pair[op] += shares[k];
  }
  return weights;
}

double Relaxation::minimize_group(std::size_t index,
                                  const std::pair<std::size_t, std::size_t>& range,
                                  const Weights& weights, RelaxedPoint& point) const {
  const BoundGroup& group = problem_.groups[index];
  const auto price = [&](std::size_t member, const BoundOption& option) {
    const std::uint32_t op = group.members[member];
    return weights.time[op] * option.time + weights.load[op] * option.load +
           weights.work[op] * option.work;
  };
  const auto cheapest = [&](std::size_t member, std::size_t degree) {
    return std::ranges::min_element(
        group.options[member][degree - 1], {},
        [&](const BoundOption& option) { return price(member, option); });
  };
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t degree = range.first; degree <= range.second; ++degree) {
    double sum = group.sync[degree - 1];
    for (std::size_t k = 0; k < group.members.size() && sum < least; ++k)
      sum += price(k, *cheapest(k, degree));
    if (sum >= least) continue;
    least = sum;
    point.degrees[index] = degree;
  }
  for (std::size_t k = 0; k < group.members.size(); ++k)
    point.takes[group.members[k]] = *cheapest(k, point.degrees[index]);
  point.sync += group.sync[point.degrees[index] - 1];
  return least;
}

/// By dynamic programming along the chain.
double Relaxation::minimize_chain(const BoundChain& chain, const DegreeRanges& ranges,
                                  const Weights& weights, RelaxedPoint& point) const {
  std::vector<double> costs(chain.options[0].size());
  std::vector<std::vector<std::size_t>> from(chain.operators.size());
  for (std::size_t k = 0; k < chain.operators.size(); ++k) {
    const std::uint32_t op = chain.operators[k];
    const std::size_t before = costs.size(), here = chain.options[k].size();
    std::vector<double> next(here);
    from[k].resize(here);
    const auto [fewest, most] = ranges.operators[op];
    for (std::size_t b = 0; b < here; ++b) {
      const SingleOption& option = chain.options[k][b];
      if (option.devices < fewest || option.devices > most) {
        next[b] = std::numeric_limits<double>::infinity();
        continue;
      }
      double least = k == 0 ? 0 : std::numeric_limits<double>::infinity();
      for (std::size_t a = 0; k > 0 && a < before; ++a) {
        const std::size_t pair = a * here + b;
        const double cost = costs[a] + weights.delay[op] * chain.delays[k - 1][pair] +
                            weights.pair[op] * chain.pairs[k - 1][pair];
        if (cost >= least) continue;
        least = cost;
        from[k][b] = a;
      }
      next[b] = least + option.sync + weights.time[op] * option.takes.time +
                weights.load[op] * option.takes.load + weights.work[op] * option.takes.work;
    }
    costs = std::move(next);
  }
  const auto best = std::ranges::min_element(costs);
  auto choice = static_cast<std::size_t>(best - costs.begin());
  for (std::size_t k = chain.operators.size(); k-- > 0;) {
    const std::uint32_t op = chain.operators[k];
    point.takes[op] = chain.options[k][choice].takes;
    point.sync += chain.options[k][choice].sync;
    const std::size_t before = from[k][choice];
    if (k > 0) {
      const std::size_t pair = before * chain.options[k].size() + choice;
      point.delays[op] = chain.delays[k - 1][pair];
      point.pairs[op] = chain.pairs[k - 1][pair];
    }
    choice = before;
  }
  return *best;
}

double Relaxation::minimize(const DegreeRanges& ranges, const Weights& weights,
                            RelaxedPoint& point) const {
  point.takes.assign(problem_.size(), {});
  point.delays.assign(problem_.size(), 0);
  point.pairs.assign(problem_.size(), 0);
  point.degrees.assign(problem_.groups.size(), 1);
  point.sync = 0;
  double sum = 0;
  for (std::size_t group = 0; group < problem_.groups.size(); ++group)
    sum += minimize_group(group, ranges.groups[group], weights, point);
  for (const BoundChain& chain : problem_.chains)
    sum += minimize_chain(chain, ranges, weights, point);
  return sum;
}

void Relaxation::reweigh(const RelaxedPoint& point, double step) {
  std::vector<double> times;
  for (const Cut& cut : cuts_) {
    double time = 0;
    for (const std::uint32_t op : cut.timed) time += point.takes[op].time;
    for (const std::uint32_t op : cut.loaded) time += point.takes[op].load;
    for (const std::uint32_t op : cut.worked) time += point.takes[op].work;
    for (const std::uint32_t op : cut.delayed) time += point.delays[op];
    for (const std::uint32_t op : cut.paired) time += point.pairs[op];
    times.push_back(time);
  }
  const double longest = std::max(1.0, std::ranges::max(times));
  for (std::size_t k = 0; k < cuts_.size(); ++k) scores_[k] += step * (times[k] / longest - 1);
}

Relaxed Relaxation::relax(const DegreeRanges& ranges, int rounds, double step) {
  Relaxed best;
  best.least = -1;
  RelaxedPoint point;
  std::vector<double> shares;
  for (int round = 0; round < rounds; ++round) {
    const Weights weights = mix(shares);
    const double least = minimize(ranges, weights, point);
    if (least > best.least) {
      best = {least, point, {}};
      for (std::size_t k = 0; k < cuts_.size(); ++k)
        if (shares[k] > 0) best.mixture.emplace_back(shares[k], cuts_[k]);
    }
    separate(point);
    reweigh(point, step / std::sqrt(1.0 + round));
  }
  std::ranges::sort(best.mixture, std::greater<>());
  return best;
}

}  // namespace soapstone::parallel
