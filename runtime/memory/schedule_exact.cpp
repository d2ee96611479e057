// The set of units that have run determines what is live, so a search over such sets, lowest peak
// first, is exact.
#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "runtime/memory/schedule.h"

namespace soapstone::runtime {
namespace {

using Mask = std::uint64_t;

Mask bit(std::size_t k) { return Mask{1} << k; }

class OrderSearch {
 public:
  OrderSearch(const ScheduleModel& model, const LiveBytes& before,
              std::span<const std::uint32_t> units, std::size_t must_beat, std::size_t enough,
              std::size_t max_states)
      : must_beat_(must_beat), enough_(enough), max_states_(max_states),
        units_(units.begin(), units.end()), live_at_start_(before.now()) {
    CHECK(units.size() <= 64, "more units than bits");
    std::unordered_map<std::uint32_t, std::size_t> number;
    for (std::size_t k = 0; k < units_.size(); ++k) number[units_[k]] = k;
    std::unordered_map<std::uint32_t, std::size_t> slot_number;
    for (std::size_t k = 0; k < units_.size(); ++k) {
      const ScheduleModel::Unit& unit = model.units[units_[k]];
      Local local;
      for (const std::uint32_t other : unit.before)
        if (const auto at = number.find(other); at != number.end()) local.needs |= bit(at->second);
      const auto slot = [&](std::uint32_t id) {
        const auto [at, is_new] = slot_number.emplace(id, slots_.size());
        if (is_new) {
          const bool fresh = before.users_left(id) == model.slots[id].users.size();
          slots_.push_back({model.slots[id].bytes, 0, fresh, model.slots[id].kept});
        }
        return at->second;
      };
      for (const std::uint32_t id : unit.slots) {
        local.slots.push_back(slot(id));
        slots_[slot(id)].users |= bit(k);
      }
      for (const std::uint32_t id : unit.writes) local.writes.push_back(slot(id));
      if (unit.overwrites) local.overwrites = slot(*unit.overwrites);
      locals_.push_back(std::move(local));
    }
    for (const auto& [id, k] : slot_number)
      if (before.users_left(id) > static_cast<std::uint32_t>(std::popcount(slots_[k].users)))
        slots_[k].lives_on = true;
  }

  ExactSearch run() {
    push({0, live_at_start_, enough_, kNone, 0});
    ExactSearch result = search();
    result.states = states_.size();
    return result;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Local {
    Mask needs = 0;
    std::vector<std::size_t> slots, writes;
    std::optional<std::size_t> overwrites;
  };
  struct Slot {
    std::size_t bytes;
    Mask users;
    bool fresh;     // no unit before these uses it
    bool lives_on;  // it is used later
  };
  struct State {
    Mask done;
    std::size_t live, peak, parent;
    std::size_t unit;  // that ran last
  };

  ExactSearch search() {
    ExactSearch result;
    while (!queue_.empty()) {
      const std::size_t at = std::get<3>(queue_.top());
      queue_.pop();
      const State state = states_[at];
      if (best_.at(state.done) < state.peak) continue;  // reached at a lower peak meanwhile
      if (state.done == all()) {
        result.order = order_to(at);
        result.peak_bytes = state.peak;
        result.complete = true;
        return result;
      }
      if (states_.size() > max_states_) return result;
      expand(at);
    }
    result.complete = true;
    return result;
  }

  Mask all() const { return units_.size() == 64 ? ~Mask{0} : bit(units_.size()) - 1; }

  bool is_first_use(const Slot& slot, Mask done) const {
    return slot.fresh && (slot.users & done) == 0;
  }
  bool is_last_use(const Slot& slot, Mask done, std::size_t unit) const {
    return !slot.lives_on && (slot.users & ~done & ~bit(unit)) == 0;
  }

  State after(std::size_t at, std::size_t unit) const {
    const State& state = states_[at];
    const Local& local = locals_[unit];
    std::size_t made = 0, freed = 0, spared = 0;
    for (const std::size_t k : local.writes)
      if (is_first_use(slots_[k], state.done)) made += slots_[k].bytes;
    for (const std::size_t k : local.slots)
      if (is_last_use(slots_[k], state.done, unit)) freed += slots_[k].bytes;
    if (local.overwrites && is_last_use(slots_[*local.overwrites], state.done, unit) &&
        is_first_use(slots_[local.writes[0]], state.done))
      spared = slots_[*local.overwrites].bytes;
    const std::size_t peak = std::max(state.peak, state.live + made - spared);
    return {state.done | bit(unit), state.live + made - freed, peak, at, unit};
  }

  void push(const State& state) {
    if (state.peak >= must_beat_) return;
    const auto [known, is_new] = best_.emplace(state.done, state.peak);
    if (!is_new) {
      if (known->second <= state.peak) return;
      known->second = state.peak;
    }
    states_.push_back(state);
    // Among equal peaks the state that is furthest on comes first: below `enough` that goes
    // straight to the end.
    queue_.emplace(state.peak, 64 - std::popcount(state.done), state.live, states_.size() - 1);
  }

  /// A unit that fits under the peak and leaves no more live than before can only do good: whatever
  /// order is best without it is as good with it at the front.
  void expand(std::size_t at) {
    const State state = states_[at];
    std::vector<State> next;
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      if ((state.done & bit(unit)) != 0 || (locals_[unit].needs & ~state.done) != 0) continue;
      const State child = after(at, unit);
      if (child.live <= state.live && child.peak == state.peak) return push(child);
      next.push_back(child);
    }
    for (const State& child : next) push(child);
  }

  std::vector<std::uint32_t> order_to(std::size_t at) const {
    std::vector<std::uint32_t> order;
    for (; states_[at].parent != kNone; at = states_[at].parent)
      order.push_back(units_[states_[at].unit]);
    std::ranges::reverse(order);
    return order;
  }

  std::size_t must_beat_, enough_, max_states_;
  std::vector<std::uint32_t> units_;
  std::size_t live_at_start_;
  std::vector<Local> locals_;
  std::vector<Slot> slots_;
  std::vector<State> states_;
  std::unordered_map<Mask, std::size_t> best_;  // the lowest peak at which a set was reached
  using Waiting = std::tuple<std::size_t, int, std::size_t, std::size_t>;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue_;
};

}  // namespace

ExactSearch search_order(const ScheduleModel& model, const LiveBytes& before,
                         std::span<const std::uint32_t> units, std::size_t must_beat,
                         std::size_t enough, std::size_t max_states) {
  return OrderSearch(model, before, units, must_beat, enough, max_states).run();
}

}  // namespace soapstone::runtime
