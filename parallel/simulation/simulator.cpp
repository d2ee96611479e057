// See simulator.h. This file has what is known of a change without simulating it: what weights,
// loads and paths cost at least; simulator_run.cpp has the rest.
#include "parallel/simulation/simulator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace soapstone::parallel {

Simulator::Simulator(const PlacementProblem& problem) : problem_(problem) {
  CHECK(problem.device_count <= kMostDevicesPlaced, "sets of devices have 64 bits");
  std::uint32_t masks = 0;
  for (std::size_t op = 0; op < problem.operators.size(); ++op) {
    op_of_.insert(op_of_.end(), problem.operators[op].slots, static_cast<std::uint32_t>(op));
    first_mask_.push_back(masks);
    std::uint32_t most = 0;
    for (std::size_t k = 0; k < problem.operators[op].configurations; ++k)
      most = std::max(most, problem.configuration(op, k).pieces);
    masks += most;
  }
  masks_.resize(masks);
  group_sync_.resize(problem.groups.size());
  for (auto* const list : {&tails_, &new_tails_}) list->resize(problem.operators.size());
  changed_in_.resize(problem.operators.size());
  for (auto* const list : {&ready_, &end_, &trigger_, &new_ready_, &new_end_, &new_trigger_})
    list->resize(problem.slot_count);
  met_in_.resize(problem.slot_count);
  pending_.resize(problem.slot_count);
  for (auto* const list : {&heap_, &order_, &new_order_}) list->reserve(problem.slot_count);
}

Ticks Simulator::part_time(std::size_t op, std::size_t choice, std::size_t device) const {
  return problem_
      .part_times[problem_.configuration(op, choice).first_time + problem_.kind_of[device]];
}

Ticks Simulator::least_part_time(std::size_t op) const {
  const Configuration& chosen = problem_.configuration(op, placement_.choice[op]);
  const Ticks* const times = &problem_.part_times[chosen.first_time];
  return problem_.kind_count == 1 ? *times : *std::min_element(times, times + problem_.kind_count);
}

void Simulator::masks_of(const PlacementChange& change, DeviceSet* masks) const {
  const Configuration& chosen = problem_.configuration(change.op, change.choice);
  std::fill_n(masks, chosen.pieces, DeviceSet{0});
  const std::uint16_t* const piece = &problem_.piece_of_part[chosen.first_piece];
  for (std::size_t part = 0; part < chosen.parts; ++part)
    masks[piece[part]] |= DeviceSet{1} << change.devices[part];
}

/// By the masks and choices as they are.
Ticks Simulator::sync_of(const WeightGroup& group) const {
  std::uint32_t pieces = 1;
  for (const std::uint32_t member : group.members)
    pieces = std::max(pieces, problem_.configuration(member, placement_.choice[member]).pieces);
  const SyncTable* table = group.tables.data();
  while (table->pieces < pieces) ++table;
  Ticks sync = 0;
  for (std::uint32_t piece = 0; piece < pieces; ++piece) {
    DeviceSet devices = 0;
    for (const std::uint32_t member : group.members) {
      const std::uint32_t own = problem_.configuration(member, placement_.choice[member]).pieces;
      devices |= masks_[first_mask_[member] + piece * own / pieces];
    }
    int most = 0, nodes = 0;
    for (const DeviceSet node : problem_.nodes) {
      const int here = std::popcount(devices & node);
      most = std::max(most, here);
      nodes += here > 0 ? 1 : 0;
    }
    const auto entry = static_cast<std::size_t>(most - 1) * problem_.node_count +
                       static_cast<std::size_t>(nodes - 1);
    sync += problem_.sync_times[table->first_time + entry];
  }
  return sync;
}

void Simulator::place(std::span<const PlacementChange> changes) {
  before_.clear();
  before_devices_.clear();
  before_masks_.clear();
  before_sync_.clear();
  for (const PlacementChange& change : changes) {
    const std::size_t op = change.op;
    const PlacedOperator& placed = problem_.operators[op];
    const Configuration& old = problem_.configuration(op, placement_.choice[op]);
    before_.push_back({change.op, placement_.choice[op]});
    std::uint8_t* const devices = &placement_.device[placed.first_slot];
    before_devices_.insert(before_devices_.end(), devices, devices + old.parts);
    if (placed.group != kNoGroup) {
      DeviceSet* const masks = &masks_[first_mask_[op]];
      before_masks_.insert(before_masks_.end(), masks, masks + old.pieces);
      masks_of(change, masks);
    }
    placement_.choice[op] = change.choice;
    std::copy(change.devices.begin(), change.devices.end(), devices);
    changed_in_[op] = epoch_;
  }
}

void Simulator::take_back() {
  const std::uint8_t* devices = before_devices_.data();
  const DeviceSet* masks = before_masks_.data();
  for (const Before& before : before_) {
    const PlacedOperator& placed = problem_.operators[before.op];
    const Configuration& old = problem_.configuration(before.op, before.choice);
    placement_.choice[before.op] = before.choice;
    std::copy_n(devices, old.parts, &placement_.device[placed.first_slot]);
    devices += old.parts;
    if (placed.group == kNoGroup) continue;
    std::copy_n(masks, old.pieces, &masks_[first_mask_[before.op]]);
    masks += old.pieces;
  }
  for (const auto& [group, sync] : before_sync_) group_sync_[group] = sync;
}

bool Simulator::sync_allows(std::span<const PlacementChange> changes, Ticks limit) {
  new_sync_ = sync_;
  for (const PlacementChange& change : changes) {
    const std::uint32_t group = problem_.operators[change.op].group;
    if (group == kNoGroup) continue;
    bool is_known = false;
    for (const auto& [known, sync] : before_sync_) is_known = is_known || known == group;
    if (is_known) continue;
    before_sync_.emplace_back(group, group_sync_[group]);
    new_sync_ -= group_sync_[group];
    group_sync_[group] = sync_of(problem_.groups[group]);
    new_sync_ += group_sync_[group];
  }
  return new_sync_ <= limit;
}

/// Every device has to run its parts, and to hold them.
bool Simulator::loads_allow(std::span<const PlacementChange> changes, Ticks limit) {
  new_loads_ = loads_;
  new_resident_ = resident_;
  const auto add = [&](std::size_t op, std::size_t choice, const std::uint8_t* devices, int sign) {
    const Configuration& configuration = problem_.configuration(op, choice);
    const auto bytes = static_cast<std::int64_t>(configuration.resident_bytes) * sign;
    const Ticks* const times = &problem_.part_times[configuration.first_time];
    for (std::size_t part = 0; part < configuration.parts; ++part) {
      new_loads_[devices[part]] += times[problem_.kind_of[devices[part]]] * sign;
      new_resident_[devices[part]] += bytes;
    }
  };
  const std::uint8_t* devices = before_devices_.data();
  for (std::size_t k = 0; k < changes.size(); ++k) {
    if (k < before_.size()) {
      add(before_[k].op, before_[k].choice, devices, -1);
      devices += problem_.configuration(before_[k].op, before_[k].choice).parts;
    }
    add(changes[k].op, changes[k].choice, changes[k].devices.data(), 1);
  }
  for (std::size_t d = 0; d < problem_.device_count; ++d) {
    if (new_loads_[d] + new_sync_ > limit) return false;
    if (static_cast<double>(new_resident_[d]) > problem_.memory_bytes[d]) return false;
  }
  return true;
}

/// Operators follow each other; only those up to the last changed one have new tails.
bool Simulator::paths_allow(std::size_t last_changed, Ticks limit) {
  new_tails_ = tails_;
  Ticks longest = 0;
  for (std::size_t op = last_changed + 1; op-- > 0;) {
    const PlacedOperator& placed = problem_.operators[op];
    Ticks tail = 0;
    for (std::uint32_t k = 0; k < placed.readers; ++k) {
      const std::uint32_t to = problem_.edges[problem_.reader_edges[placed.first_reader + k]].to;
      tail = std::max(tail, least_part_time(to) + new_tails_[to]);
    }
    new_tails_[op] = tail;
    if (placed.inputs == 0) longest = std::max(longest, tail + least_part_time(op));
  }
  return longest + new_sync_ <= limit;
}

/// The least time at which a part of these was run before or can be run now. Whatever else happens
/// differently follows from that.
Ticks Simulator::first_difference(std::span<const PlacementChange> changes) const {
  Ticks first = std::numeric_limits<Ticks>::max();
  for (std::size_t k = 0; k < changes.size(); ++k) {
    const PlacedOperator& placed = problem_.operators[changes[k].op];
    const std::uint32_t parts = problem_.configuration(before_[k].op, before_[k].choice).parts;
    for (std::uint32_t part = 0; part < parts; ++part)
      first = std::min(first, ready_[placed.first_slot + part]);
    Ticks ready = 0;
    for (std::uint32_t input = 0; input < placed.inputs; ++input) {
      const std::uint32_t from =
          problem_.edges[problem_.input_edges[placed.first_input + input]].from;
      if (is_changed(from)) {  // Then this follows a difference.
        ready = std::numeric_limits<Ticks>::max();
        break;
      }
      const PlacedOperator& source = problem_.operators[from];
      const std::uint32_t ends = problem_.configuration(from, placement_.choice[from]).parts;
      const Ticks* const end = &end_[source.first_slot];
      ready = std::max(ready, *std::min_element(end, end + ends));
    }
    first = std::min(first, ready);
  }
  return first;
}

bool Simulator::prices_allow(std::span<const PlacementChange> changes, Ticks limit) {
  if (!sync_allows(changes, limit)) return ++counts_.refused_by_sync, false;
  if (!loads_allow(changes, limit)) return ++counts_.refused_by_load, false;
  std::size_t last = 0;
  for (const PlacementChange& change : changes) last = std::max<std::size_t>(last, change.op);
  if (!paths_allow(last, limit)) return ++counts_.refused_by_path, false;
  return true;
}

std::optional<Ticks> Simulator::change(std::span<const PlacementChange> changes, Ticks limit) {
  ++epoch_;
  place(changes);
  if (!prices_allow(changes, limit)) return take_back(), std::nullopt;
  if (!simulate(changes, first_difference(changes), limit)) {
    ++counts_.refused_in_simulation;
    return take_back(), std::nullopt;
  }
  ++counts_.made;
  commit();
  return time();
}

void Simulator::undo() {
  std::vector<PlacementChange> changes;
  const std::vector<std::uint8_t> devices = before_devices_;
  std::size_t first = 0;
  for (const Before& before : before_) {
    const std::uint32_t parts = problem_.configuration(before.op, before.choice).parts;
    changes.push_back({before.op, before.choice, std::span(devices).subspan(first, parts)});
    first += parts;
  }
  const auto again = change(changes, std::numeric_limits<Ticks>::max() / 2);
  CHECK(again.has_value(), "what was possible is possible again");
  before_.clear();
}

Ticks Simulator::full(const Placement& placement) {
  CHECK(placement.choice.size() == problem_.operators.size() &&
            placement.device.size() == problem_.slot_count,
        "a placement places every operator");
  ++epoch_;
  placement_ = placement;
  span_ = sync_ = 0;
  loads_.fill(0);
  resident_.fill(0);
  std::fill(group_sync_.begin(), group_sync_.end(), 0);
  order_.clear();
  checkpoints_.clear();
  before_.clear();
  before_devices_.clear();
  before_sync_.clear();
  std::vector<PlacementChange> all;
  for (std::uint32_t op = 0; op < problem_.operators.size(); ++op) {
    const PlacedOperator& placed = problem_.operators[op];
    const std::uint32_t parts = problem_.configuration(op, placement.choice[op]).parts;
    all.push_back(
        {op, placement.choice[op], std::span(placement.device).subspan(placed.first_slot, parts)});
    if (placed.group != kNoGroup) masks_of(all.back(), &masks_[first_mask_[op]]);
    changed_in_[op] = epoch_;
  }
  constexpr Ticks kNoLimit = std::numeric_limits<Ticks>::max() / 2;
  const bool fits = prices_allow(all, kNoLimit);
  CHECK(simulate(all, 0, kNoLimit), "there is no limit");
  commit();
  before_.clear();
  return fits ? time() : std::numeric_limits<Ticks>::max();
}

}  // namespace soapstone::parallel
