// The events of a simulation: parts are run in the order of their ready times, equal ones by slot.
// A simulation keeps what the last one had before a moment, and finds the parts that were waiting
// then in the order that the last one ran them in.
#include <algorithm>
#include <functional>
#include <limits>

#include "parallel/simulation/simulator.h"

namespace soapstone::parallel {
namespace {

constexpr int kSlotBits = 16;
constexpr std::size_t kBetweenCheckpoints = 32;

std::uint64_t key_of(Ticks ready, std::uint32_t slot) {
  return static_cast<std::uint64_t>(ready) << kSlotBits | slot;
}
Ticks ready_of(std::uint64_t key) { return static_cast<Ticks>(key >> kSlotBits); }
std::uint32_t slot_of(std::uint64_t key) {
  return static_cast<std::uint32_t>(key & ((1U << kSlotBits) - 1));
}

}  // namespace

/// When each device is free and how long it was busy, before a position of the order.
void Simulator::restore_devices(std::size_t position) {
  PerDevice busy{};
  free_.fill(0);
  std::size_t k = 0;
  if (const std::size_t checkpoint = position / kBetweenCheckpoints; checkpoint > 0) {
    free_ = checkpoints_[checkpoint - 1].free;
    busy = checkpoints_[checkpoint - 1].busy;
    k = checkpoint * kBetweenCheckpoints;
  }
  for (; k < position; ++k) {
    const std::uint32_t slot = slot_of(order_[k]);
    const std::uint32_t op = op_of_[slot];
    const std::uint8_t device = placement_.device[slot];
    free_[device] = end_[slot];
    busy[device] += part_time(op, placement_.choice[op], device);
  }
  new_span_ = 0;
  for (std::size_t d = 0; d < problem_.device_count; ++d) {
    rest_[d] = new_loads_[d] - busy[d];
    new_span_ = std::max(new_span_, free_[d]);
  }
}

/// Called when a part is first heard of: how many of its inputs are still to come, and when the
/// others had arrived.
void Simulator::meet(std::uint32_t slot) {
  met_in_[slot] = epoch_;
  const std::uint32_t op = op_of_[slot];
  const PlacedOperator& placed = problem_.operators[op];
  const std::uint32_t part = slot - placed.first_slot;
  const std::uint16_t* const classes = &problem_.path_class[placement_.device[slot]];
  std::uint32_t pending = 0;
  Ticks ready = 0;
  for (std::uint32_t k = 0; k < placed.inputs; ++k) {
    const PlacedEdge& edge = problem_.edges[problem_.input_edges[placed.first_input + k]];
    const OverlapTable& table =
        problem_.table(edge, placement_.choice[edge.from], placement_.choice[op]);
    const std::uint32_t* const starts = &problem_.overlap_starts[table.starts_to + part];
    if (is_changed(edge.from)) {
      pending += starts[1] - starts[0];
      continue;
    }
    const std::uint32_t first_slot = problem_.operators[edge.from].first_slot;
    for (std::uint32_t j = starts[0]; j < starts[1]; ++j) {
      const Overlap& overlap = problem_.overlaps[j];
      const std::uint32_t from = first_slot + overlap.part;
      if (ready_[from] >= from_) {
        ++pending;
        continue;
      }
      const std::size_t row = placement_.device[from] * problem_.device_count;
      ready =
          std::max(ready, end_[from] + problem_.transfer_times[overlap.first_time + classes[row]]);
    }
  }
  pending_[slot] = pending;
  new_ready_[slot] = ready;
}

void Simulator::push(std::uint32_t slot, Ticks trigger) {
  new_trigger_[slot] = trigger;
  heap_.push_back(key_of(new_ready_[slot], slot));
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

/// Parts whose inputs all came before the first difference.
void Simulator::seed(std::size_t op) {
  const PlacedOperator& placed = problem_.operators[op];
  const std::uint32_t parts = problem_.configuration(op, placement_.choice[op]).parts;
  for (std::uint32_t slot = placed.first_slot; slot < placed.first_slot + parts; ++slot) {
    meet(slot);
    if (pending_[slot] > 0) continue;
    Ticks trigger = -1;  // When the last input was run.
    for (std::uint32_t k = 0; k < placed.inputs; ++k) {
      const PlacedEdge& edge = problem_.edges[problem_.input_edges[placed.first_input + k]];
      const OverlapTable& table =
          problem_.table(edge, placement_.choice[edge.from], placement_.choice[op]);
      const std::uint32_t* const starts =
          &problem_.overlap_starts[table.starts_to + slot - placed.first_slot];
      for (std::uint32_t j = starts[0]; j < starts[1]; ++j)
        trigger = std::max(
            trigger, ready_[problem_.operators[edge.from].first_slot + problem_.overlaps[j].part]);
    }
    push(slot, trigger);
  }
}

/// Runs one part. False if the limit is certain to be passed.
bool Simulator::run(Key key, Ticks limit) {
  const std::uint32_t slot = slot_of(key), op = op_of_[slot];
  const std::uint8_t device = placement_.device[slot];
  const std::uint16_t choice = placement_.choice[op];
  const Ticks time = part_time(op, choice, device);
  const Ticks end = std::max(ready_of(key), free_[device]) + time;
  free_[device] = end;
  rest_[device] -= time;
  new_span_ = std::max(new_span_, end);
  new_order_.push_back(key);
  new_end_[slot] = end;
  if (end + std::max(rest_[device], new_tails_[op]) > limit) return false;

  const PlacedOperator& placed = problem_.operators[op];
  const std::uint16_t* const classes = &problem_.path_class[device * problem_.device_count];
  for (std::uint32_t k = 0; k < placed.readers; ++k) {
    const PlacedEdge& edge = problem_.edges[problem_.reader_edges[placed.first_reader + k]];
    const OverlapTable& table = problem_.table(edge, choice, placement_.choice[edge.to]);
    const std::uint32_t* const starts =
        &problem_.overlap_starts[table.starts_from + slot - placed.first_slot];
    const std::uint32_t first_slot = problem_.operators[edge.to].first_slot;
    for (std::uint32_t j = starts[0]; j < starts[1]; ++j) {
      const Overlap& overlap = problem_.overlaps[j];
      const std::uint32_t to = first_slot + overlap.part;
      if (met_in_[to] != epoch_) meet(to);
      const Ticks arrival =
          end + problem_.transfer_times[overlap.first_time + classes[placement_.device[to]]];
      new_ready_[to] = std::max(new_ready_[to], arrival);
      if (--pending_[to] == 0) push(to, ready_of(key));
    }
  }
  return true;
}

bool Simulator::simulate(std::span<const PlacementChange> changes, Ticks from, Ticks limit) {
  from_ = from;
  limit -= new_sync_;
  const auto first = std::lower_bound(order_.begin(), order_.end(), key_of(from, 0));
  kept_ = static_cast<std::size_t>(first - order_.begin());
  restore_devices(kept_);
  for (std::size_t d = 0; d < problem_.device_count; ++d)
    if (free_[d] + rest_[d] > limit) return false;
  heap_.clear();
  new_order_.clear();
  for (const PlacementChange& change : changes) seed(change.op);
  for (std::size_t next = kept_;;) {
    // Of the old order, what was waiting at the first difference and is as it was.
    while (next < order_.size() &&
           (trigger_[slot_of(order_[next])] >= from || is_changed(op_of_[slot_of(order_[next])])))
      ++next;
    const bool is_old = next < order_.size() && (heap_.empty() || order_[next] < heap_.front());
    if (!is_old && heap_.empty()) return true;
    Key key = 0;
    if (is_old) {
      key = order_[next++];
      new_trigger_[slot_of(key)] = trigger_[slot_of(key)];
    } else {
      key = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
    }
    if (!run(key, limit)) return false;
  }
}

void Simulator::commit() {
  order_.resize(kept_);
  order_.insert(order_.end(), new_order_.begin(), new_order_.end());
  for (const Key key : new_order_) {
    const std::uint32_t slot = slot_of(key);
    ready_[slot] = ready_of(key);
    end_[slot] = new_end_[slot];
    trigger_[slot] = new_trigger_[slot];
  }
  const std::size_t valid = kept_ / kBetweenCheckpoints;
  checkpoints_.resize(order_.size() / kBetweenCheckpoints);
  Checkpoint state{};
  if (valid > 0) state = checkpoints_[valid - 1];
  for (std::size_t k = valid * kBetweenCheckpoints; k < order_.size(); ++k) {
    const std::uint32_t slot = slot_of(order_[k]), op = op_of_[slot];
    const std::uint8_t device = placement_.device[slot];
    state.free[device] = end_[slot];
    state.busy[device] += part_time(op, placement_.choice[op], device);
    if ((k + 1) % kBetweenCheckpoints == 0) checkpoints_[k / kBetweenCheckpoints] = state;
  }
  span_ = new_span_;
  sync_ = new_sync_;
  loads_ = new_loads_;
  resident_ = new_resident_;
  tails_.swap(new_tails_);
}

}  // namespace soapstone::parallel
