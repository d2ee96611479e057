// A plan as a scheduler sees it: units that run one after the other, which must precede
// which, and the bytes that each brings into being and lets go of. It knows no operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::runtime {

/// Launches, conversions and joins of a plan. Views are looked through: their bytes are those of
/// what they show.
struct ScheduleModel {
  struct Unit {
    std::vector<std::uint32_t> before, after;  ///< Units: producers of what it reads, and readers.
    std::vector<std::uint32_t> slots;          ///< Written or read by it, each once, ascending.
    std::vector<std::uint32_t> writes;         ///< The slots that it writes.
    std::optional<std::uint32_t> overwrites;   ///< The slot that its first write may replace.
  };
  /// Bytes that live from the first unit that uses them to the last.
  struct Slot {
    std::size_t bytes = 0;
    bool kept = false;                 ///< Lives to the end: holds an output of the graph.
    std::vector<std::uint32_t> users;  ///< Units that write or read it, ascending.
  };
  std::vector<Unit> units;  ///< In the order of the plan.
  std::vector<Slot> slots;
};

/// Complexity: linear in the plan.
ScheduleModel make_schedule_model(const core::Graph& graph, const ExecutionPlan& plan,
                                  std::span<const std::optional<std::size_t>> in_place);

/// Counts what is live while units run in some order.
class LiveBytes {
 public:
  explicit LiveBytes(const ScheduleModel& model);
  /// The bytes that running the unit next adds while it runs, and those live more, or less,
  /// once it has run.
  struct Change {
    std::size_t during = 0;
    std::ptrdiff_t after = 0;
  };
  Change change(std::uint32_t unit) const;
  /// Runs it. Returns what is live meanwhile.
  std::size_t run(std::uint32_t unit);
  std::size_t now() const { return live_; }
  /// Users of the slot that have not run yet.
  std::uint32_t users_left(std::uint32_t slot) const { return left_[slot]; }

 private:
  const ScheduleModel& model_;
  std::vector<std::uint32_t> left_;
  std::size_t live_ = 0;
};

}  // namespace soapstone::runtime
