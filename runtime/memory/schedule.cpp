// See schedule.h.
#include "runtime/memory/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace soapstone::runtime {
namespace {

using Unit = ScheduleModel::Unit;
using Order = std::vector<std::uint32_t>;

/// The most units that an exhaustive search orders.
constexpr std::size_t kMostUnits = 64;
/// Around the peak of what is too large for it.
constexpr std::size_t kWindow = 40;
/// A caller that allows less work than this wants an answer at once.
constexpr std::size_t kFewStates = 1000;

/// Units that wait for nothing run right before the first that waits for them: what they leave then
/// lives no longer than it must, and never more is live than before.
Order sources_late(const ScheduleModel& model) {
  Order order;
  std::vector<bool> placed(model.units.size());
  const auto place = [&](std::uint32_t unit) {
    if (!placed[unit]) order.push_back(unit);
    placed[unit] = true;
  };
  for (std::uint32_t u = 0; u < model.units.size(); ++u) {
    const Unit& unit = model.units[u];
    if (unit.before.empty() && !unit.after.empty()) continue;
    for (const std::uint32_t other : unit.before)
      if (model.units[other].before.empty()) place(other);
    place(u);
  }
  return order;
}

struct Cuts {
  std::vector<std::size_t> ends;
  bool exact = true;  ///< The best orders of the parts make the best order of all.
};

/// Positions one past units that all others either lead to or come from, and the end. Units that
/// nothing waits for do not count: they stay in their part, though they might run later.
Cuts cut(const ScheduleModel& model, const Order& order) {
  const std::size_t count = order.size();
  std::vector<std::size_t> position(count);
  for (std::size_t p = 0; p < count; ++p) position[order[p]] = p;
  // A later unit comes from the one at p if its last producer stands at p or comes from there.
  std::vector<std::size_t> from(count + 1, count);
  std::size_t last_rootless = 0;  // that reads only what waits for nothing: it may run earlier
  for (std::size_t p = count; p-- > 0;) {
    std::size_t last = from[p + 1];
    const auto& before = model.units[order[p]].before;
    std::optional<std::size_t> newest;
    for (const std::uint32_t other : before)
      if (!model.units[other].before.empty())
        newest = std::max(newest, std::optional(position[other]));
    if (newest) {
      last = std::min(last, *newest);
    } else if (!before.empty()) {
      last_rootless = std::max(last_rootless, p);
    }
    from[p] = last;
  }
  Cuts cuts;
  std::size_t reach = 0;  // how far the first readers of what is before lie at most
  // One that depends on nothing at all might run anywhere.
  bool ends_before = std::ranges::any_of(
      model.units, [](const Unit& unit) { return unit.before.empty() && unit.after.empty(); });
  for (std::size_t p = 0; p < count; ++p) {
    const auto& after = model.units[order[p]].after;
    ends_before = ends_before || after.empty();
    const bool is_source = model.units[order[p]].before.empty();
    if (!is_source && reach <= p && from[p + 1] >= p && p + 1 < count) {
      cuts.ends.push_back(p + 1);
      cuts.exact = cuts.exact && !ends_before && last_rootless <= p;
    }
    if (after.empty()) continue;
    std::size_t first = count;
    for (const std::uint32_t other : after) first = std::min(first, position[other]);
    reach = std::max(reach, first);
  }
  cuts.ends.push_back(count);
  return cuts;
}

/// Runs what grows least, of what is ready. Of equals, the first.
Order run_greedily(const ScheduleModel& model, LiveBytes live,
                   std::span<const std::uint32_t> part) {
  constexpr std::ptrdiff_t kNotReady = std::numeric_limits<std::ptrdiff_t>::max();
  std::vector<std::ptrdiff_t> key(model.units.size(), kNotReady);
  std::vector<std::size_t> waits(model.units.size());
  std::vector<bool> mine(model.units.size());
  std::set<std::pair<std::ptrdiff_t, std::uint32_t>> ready;
  for (const std::uint32_t unit : part) mine[unit] = true;
  for (const std::uint32_t unit : part)
    for (const std::uint32_t other : model.units[unit].before) waits[unit] += mine[other] ? 1 : 0;
  const auto enter = [&](std::uint32_t unit) {
    key[unit] = live.change(unit).after;
    ready.emplace(key[unit], unit);
  };
  for (const std::uint32_t unit : part)
    if (waits[unit] == 0) enter(unit);
  Order order;
  while (!ready.empty()) {
    const std::uint32_t unit = ready.begin()->second;
    ready.erase(ready.begin());
    key[unit] = kNotReady;
    live.run(unit);
    order.push_back(unit);
    for (const std::uint32_t slot : model.units[unit].slots) {
      // The last to use it frees it, the next to write to it need not make it.
      const bool begins = live.users_left(slot) + 1 == model.slots[slot].users.size();
      if (live.users_left(slot) > 1 && !begins) continue;
      for (const std::uint32_t user : model.slots[slot].users) {
        if (key[user] == kNotReady || key[user] == live.change(user).after) continue;
        ready.erase({key[user], user});
        enter(user);
      }
    }
    for (const std::uint32_t next : model.units[unit].after)
      if (mine[next] && --waits[next] == 0) enter(next);
  }
  return order;
}

struct PeakAt {
  std::size_t bytes = 0, position = 0;
};

PeakAt peak_from(LiveBytes live, std::span<const std::uint32_t> part) {
  PeakAt peak;
  for (std::size_t p = 0; p < part.size(); ++p) {
    const std::size_t bytes = live.run(part[p]);
    if (bytes > peak.bytes) peak = {bytes, p};
  }
  return peak;
}

/// One part between cuts.
class Part {
 public:
  Part(const ScheduleModel& model, const LiveBytes& before, std::span<std::uint32_t> order,
       std::size_t max_states)
      : model_(model), before_(before), order_(order), max_states_(max_states),
        peak_(peak_from(before, order)) {}

  /// Orders it so that its peak is lower, if that is above `enough`. True: there is no lower one.
  bool improve(std::size_t enough) {
    if (peak_.bytes <= enough) return false;
    if (order_.size() <= kMostUnits && search(0, order_.size(), enough, max_states_).complete)
      return true;
    const Order greedy = run_greedily(model_, before_, order_);
    const PeakAt peak = peak_from(before_, greedy);
    if (peak.bytes < peak_.bytes) adopt(greedy, 0, peak);
    if (max_states_ < kFewStates) return false;
    std::size_t states_left = max_states_;
    while (peak_.bytes > enough && search_around_peak(enough, states_left)) {
    }
    return false;
  }
  std::size_t peak_bytes() const { return peak_.bytes; }

 private:
  void adopt(const Order& order, std::size_t begin, const PeakAt& peak) {
    std::ranges::copy(order, order_.begin() + static_cast<std::ptrdiff_t>(begin));
    peak_ = peak;
  }

  /// What it finds is adopted.
  ExactSearch search(std::size_t begin, std::size_t end, std::size_t enough,
                     std::size_t max_states) {
    LiveBytes live = before_;
    for (const std::uint32_t unit : order_.first(begin)) live.run(unit);
    const auto window = order_.subspan(begin, end - begin);
    ExactSearch found = search_order(model_, live, window, peak_.bytes, enough, max_states);
    if (!found.order.empty()) {
      adopt(found.order, begin, {});
      peak_ = peak_from(before_, order_);
    }
    return found;
  }

  /// Whether the peak is lower then, or stands later.
  bool search_around_peak(std::size_t enough, std::size_t& states_left) {
    const PeakAt before = peak_;
    const std::size_t width = std::min(kWindow, order_.size());
    for (const std::size_t back : {width / 2, width - 1, std::size_t{1}}) {
      const std::size_t begin =
          std::min(before.position - std::min(before.position, back), order_.size() - width);
      const std::size_t states = search(begin, begin + width, enough, states_left).states;
      states_left -= std::min(states_left, states);
      if (peak_.bytes < before.bytes || peak_.position > before.position) return true;
    }
    return false;
  }

  const ScheduleModel& model_;
  const LiveBytes& before_;
  std::span<std::uint32_t> order_;
  std::size_t max_states_;
  PeakAt peak_;
};

}  // namespace

std::size_t peak_of(const ScheduleModel& model, std::span<const std::uint32_t> order) {
  return peak_from(LiveBytes(model), order).bytes;
}

Schedule schedule_units(const ScheduleModel& model, std::size_t max_states) {
  Schedule schedule;
  schedule.order = sources_late(model);
  struct Span {
    std::size_t begin, end, peak_bytes;
  };
  std::vector<Span> parts;
  LiveBytes live(model);
  std::size_t begin = 0;
  const Cuts cuts = cut(model, schedule.order);
  for (const std::size_t end : cuts.ends) {
    Span part{begin, end, 0};
    for (; begin < end; ++begin)
      part.peak_bytes = std::max(part.peak_bytes, live.run(schedule.order[begin]));
    parts.push_back(part);
  }
  const auto improve = [&](const Span& part, const LiveBytes& before) {
    if (part.peak_bytes <= schedule.peak_bytes) return;
    Part work(model, before, std::span(schedule.order).subspan(part.begin, part.end - part.begin),
              max_states);
    const bool best = work.improve(schedule.peak_bytes);
    if (work.peak_bytes() <= schedule.peak_bytes) return;
    schedule.peak_bytes = work.peak_bytes();
    schedule.optimal = best && cuts.exact;
  };
  // The highest part first: what stays below what it comes to need not be looked at.
  const auto highest = std::ranges::max_element(parts, {}, &Span::peak_bytes);
  if (highest == parts.end()) return schedule;
  LiveBytes before(model);
  for (std::size_t p = 0; p < highest->begin; ++p) before.run(schedule.order[p]);
  improve(*highest, before);
  const Span done = *highest;
  LiveBytes at(model);
  for (const Span& part : parts) {
    if (part.begin != done.begin) improve(part, at);
    for (std::size_t p = part.begin; p < part.end; ++p) at.run(schedule.order[p]);
  }
  return schedule;
}

}  // namespace soapstone::runtime
