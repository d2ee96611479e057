// The cuts of a relaxation (relaxation.h) that are tightest for what operators choose.
//
// What comes before: a path from the start, first parts only, with what is sent. What comes after:
// a path to the end; some part of each operator waits for the last part of the one before it.
#include <algorithm>

#include "parallel/placement/relaxation.h"

namespace soapstone::parallel {
namespace {

constexpr std::size_t kNoOperator = ~std::size_t{0};
constexpr std::size_t kMostOperatorsInPairs = 200;

}  // namespace

void Relaxation::find_paths(const RelaxedPoint& point) {
  heads_.assign(problem_.size(), 0);
  tails_.assign(problem_.size(), 0);
  head_from_.assign(problem_.size(), kNoOperator);
  tail_to_.assign(problem_.size(), kNoOperator);
  for (std::size_t op = 0; op < problem_.size(); ++op)
    for (const std::uint32_t from : problem_.inputs[op]) {
      const double head = heads_[from] + point.takes[from].time + point.delays[op];
      if (head_from_[op] != kNoOperator && head <= heads_[op]) continue;
      heads_[op] = head;
      head_from_[op] = from;
    }
  for (std::size_t op = problem_.size(); op-- > 0;)
    for (const std::uint32_t to : problem_.readers[op]) {
      const double tail = tails_[to] + point.takes[to].time;
      if (tail_to_[op] != kNoOperator && tail <= tails_[op]) continue;
      tails_[op] = tail;
      tail_to_[op] = to;
    }
}

/// Adds the operators before `op`.
void Relaxation::follow_head(std::size_t op, Cut& cut) const {
  while (head_from_[op] != kNoOperator) {
    if (problem_.continues_chain[op]) cut.delayed.push_back(static_cast<std::uint32_t>(op));
    op = head_from_[op];
    cut.timed.push_back(static_cast<std::uint32_t>(op));
  }
}

void Relaxation::follow_tail(std::size_t op, Cut& cut) const {
  while (tail_to_[op] != kNoOperator) {
    op = tail_to_[op];
    cut.timed.push_back(static_cast<std::uint32_t>(op));
  }
}

void Relaxation::add(Cut cut) {
  for (auto* const list : {&cut.timed, &cut.loaded, &cut.worked, &cut.delayed, &cut.paired})
    std::ranges::sort(*list);
  if (!known_.emplace(cut, cuts_.size()).second) return;
  scores_.push_back(scores_.empty() ? 0 : std::ranges::max(scores_));
  cuts_.push_back(std::move(cut));
}

void Relaxation::add_path(const RelaxedPoint& point) {
  std::size_t last = 0;
  const auto end = [&](std::size_t op) { return heads_[op] + point.takes[op].time; };
  for (std::size_t op = 1; op < problem_.size(); ++op)
    if (end(op) > end(last)) last = op;
  Cut cut;
  cut.timed.push_back(static_cast<std::uint32_t>(last));
  follow_head(last, cut);
  add(std::move(cut));
}

/// The work of what needs `first` and is needed by `last`.
void Relaxation::add_work(const RelaxedPoint& point) {
  const std::size_t operators = problem_.size();
  std::size_t best_first = kNoOperator, best_last = kNoOperator;
  double most = 0;
  for (const BoundOption& option : point.takes) most += option.work;
  std::vector<double> between(operators);  // What `first` comes before, by what it precedes.
  for (std::size_t k = 0; k <= operators; ++k) {
    const std::size_t first = k == operators ? kNoOperator : k;
    if (first != kNoOperator && operators > kMostOperatorsInPairs &&
        head_from_[first] != kNoOperator)
      continue;
    const double head = first == kNoOperator ? 0 : heads_[first] + point.takes[first].time;
    double work = 0;
    std::fill(between.begin(), between.end(), 0);
    for (std::size_t op = 0; op < operators; ++op) {
      if (first != kNoOperator && !problem_.after[first][op]) continue;
      work += point.takes[op].work;
      for (std::size_t last = op + 1; last < operators; ++last)
        if (problem_.after[op][last]) between[last] += point.takes[op].work;
    }
    if (head + work > most) {
      most = head + work;
      best_first = first;
      best_last = kNoOperator;
    }
    for (std::size_t last = 0; last < operators; ++last)
      if (between[last] > 0 &&
          head + between[last] + point.takes[last].time + tails_[last] > most) {
        most = head + between[last] + point.takes[last].time + tails_[last];
        best_first = first;
        best_last = last;
      }
  }
  Cut cut;
  for (std::size_t op = 0; op < operators; ++op)
    if ((best_first == kNoOperator || problem_.after[best_first][op]) &&
        (best_last == kNoOperator || problem_.after[op][best_last]))
      cut.worked.push_back(static_cast<std::uint32_t>(op));
  if (best_first != kNoOperator) {
    cut.timed.push_back(static_cast<std::uint32_t>(best_first));
    follow_head(best_first, cut);
  }
  if (best_last != kNoOperator) {
    cut.timed.push_back(static_cast<std::uint32_t>(best_last));
    follow_tail(best_last, cut);
  }
  add(std::move(cut));
}

/// Of a single operator: its own devices. Of a group: the devices that hold its weight run all
/// members between two of them.
void Relaxation::add_loads(const RelaxedPoint& point) {
  std::size_t heaviest = 0;
  const auto whole = [&](std::size_t op) { return heads_[op] + point.takes[op].load + tails_[op]; };
  for (std::size_t op = 1; op < problem_.size(); ++op)
    if (whole(op) > whole(heaviest)) heaviest = op;
  Cut alone;
  alone.loaded.push_back(static_cast<std::uint32_t>(heaviest));
  follow_head(heaviest, alone);
  follow_tail(heaviest, alone);
  add(std::move(alone));
  for (const BoundGroup& group : problem_.groups) {
    Cut best;
    double most = -1;
    for (const std::uint32_t first : group.members)
      for (const std::uint32_t last : group.members) {
        if (first != last && !problem_.after[first][last]) continue;
        Cut cut;
        double time = heads_[first] + tails_[last];
        for (const std::uint32_t op : group.members)
          if ((op == first || problem_.after[first][op]) &&
              (op == last || problem_.after[op][last])) {
            cut.loaded.push_back(op);
            time += point.takes[op].load;
          }
        if (time <= most) continue;
        most = time;
        follow_head(first, cut);
        follow_tail(last, cut);
        best = std::move(cut);
      }
    add(std::move(best));
  }
}

/// An operator of a chain and the one before it.
void Relaxation::add_pair(const RelaxedPoint& point) {
  std::size_t best = kNoOperator;
  double most = 0;
  for (std::size_t op = 0; op < problem_.size(); ++op) {
    if (!problem_.continues_chain[op]) continue;
    const std::uint32_t from = problem_.inputs[op][0];
    const double time =
        heads_[from] + point.takes[from].time + point.takes[op].time + point.pairs[op] + tails_[op];
    if (time <= most) continue;
    most = time;
    best = op;
  }
  if (best == kNoOperator) return;
  const std::uint32_t from = problem_.inputs[best][0];
  Cut cut;
  cut.timed = {from, static_cast<std::uint32_t>(best)};
  cut.paired = {static_cast<std::uint32_t>(best)};
  follow_head(from, cut);
  follow_tail(best, cut);
  add(std::move(cut));
}

void Relaxation::separate(const RelaxedPoint& point) {
  find_paths(point);
  add_path(point);
  add_work(point);
  add_loads(point);
  add_pair(point);
}

}  // namespace soapstone::parallel
