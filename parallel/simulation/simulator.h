// How long a placement takes, and how long after a change. Each device runs its parts in the order
// in which they become ready; data moves while devices compute, and no transfer waits for another
// one; weights are synchronized after the last part, one after the other.
//
// A change repeats only what follows the first moment that it can have changed, and stops as soon
// as the result is certain to be above a limit. Times are integers, so the result is the one that a
// simulation from the start gives. After Z. Jia, M. Zaharia and A. Aiken, "Beyond Data and Model
// Parallelism for Deep Neural Networks" (MLSys 2019), section 5.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "parallel/simulation/problem.h"

namespace soapstone::parallel {

struct PlacementChange {
  std::uint32_t op = 0;
  std::uint16_t choice = 0;
  std::span<const std::uint8_t> devices;  ///< Of each part.
};

class Simulator {
 public:
  /// The problem must outlive this.
  explicit Simulator(const PlacementProblem& problem);

  /// Starts over.
  Ticks full(const Placement& placement);
  /// Makes changes of different operators. None, and nothing has changed, if the time would be
  /// above `limit` or a device's memory would not do.
  std::optional<Ticks> change(std::span<const PlacementChange> changes, Ticks limit);
  /// Takes back the change that the last call made.
  void undo();

  Ticks time() const { return span_ + sync_; }
  Ticks sync_time() const { return sync_; }
  const Placement& placement() const { return placement_; }

  /// How proposals ended.
  struct Counts {
    std::uint64_t refused_by_sync = 0, refused_by_load = 0, refused_by_path = 0,
                  refused_in_simulation = 0, made = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  using Key = std::uint64_t;  ///< Ready time and slot.
  using PerDevice = std::array<Ticks, kMostDevicesPlaced>;
  struct Checkpoint {
    PerDevice free, busy;
  };

  Ticks part_time(std::size_t op, std::size_t choice, std::size_t device) const;
  Ticks least_part_time(std::size_t op) const;
  bool is_changed(std::size_t op) const { return changed_in_[op] == epoch_; }

  void masks_of(const PlacementChange& change, DeviceSet* masks) const;
  Ticks sync_of(const WeightGroup& group) const;
  bool prices_allow(std::span<const PlacementChange> changes, Ticks limit);
  bool sync_allows(std::span<const PlacementChange> changes, Ticks limit);
  bool loads_allow(std::span<const PlacementChange> changes, Ticks limit);
  bool paths_allow(std::size_t last_changed, Ticks limit);
  void place(std::span<const PlacementChange> changes);
  void take_back();
  Ticks first_difference(std::span<const PlacementChange> changes) const;

  bool simulate(std::span<const PlacementChange> changes, Ticks from, Ticks limit);
  void restore_devices(std::size_t position);
  void seed(std::size_t op);
  void meet(std::uint32_t slot);
  void push(std::uint32_t slot, Ticks trigger);
  bool run(Key key, Ticks limit);
  void commit();

  const PlacementProblem& problem_;
  Placement placement_;
  std::vector<std::uint32_t> op_of_;       ///< By slot.
  std::vector<std::uint32_t> first_mask_;  ///< By operator, in `masks_`.
  // The state that the last change left.
  Ticks span_ = 0, sync_ = 0;
  PerDevice loads_{};
  std::array<std::int64_t, kMostDevicesPlaced> resident_{};
  std::vector<DeviceSet> masks_;              ///< Where each piece of an operator's weight is.
  std::vector<Ticks> group_sync_, tails_;     ///< A tail: least time after an operator's end.
  std::vector<Ticks> ready_, end_, trigger_;  ///< Trigger: when the last of the inputs was run.
  std::vector<Key> order_;
  std::vector<Checkpoint> checkpoints_;  ///< Before each kth position of `order_`.
  // What a change needs while it is made.
  std::uint64_t epoch_ = 0;
  Ticks from_ = 0;
  std::size_t kept_ = 0;  ///< Positions of `order_` before it.
  Ticks new_sync_ = 0, new_span_ = 0;
  PerDevice new_loads_{}, free_{}, rest_{};
  std::array<std::int64_t, kMostDevicesPlaced> new_resident_{};
  std::vector<std::uint64_t> changed_in_, met_in_;  ///< The epoch of the last change that did.
  std::vector<std::uint32_t> pending_;
  std::vector<Ticks> new_tails_, new_ready_, new_end_, new_trigger_;
  std::vector<Key> heap_, new_order_;
  struct Before {
    std::uint32_t op;
    std::uint16_t choice;
  };
  std::vector<Before> before_;  ///< Of the last change, with the devices and masks of each.
  std::vector<std::uint8_t> before_devices_;
  std::vector<DeviceSet> before_masks_;
  std::vector<std::pair<std::uint32_t, Ticks>> before_sync_;
  Counts counts_;
};

}  // namespace soapstone::parallel
