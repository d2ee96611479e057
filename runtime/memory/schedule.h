// In which order units are run so that less is live at once. Source of the exact search: Ahn et
// al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge
// Devices", MLSys 2020 (dynamic programming over what has run, apart between cuts).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/memory/schedule_model.h"

namespace soapstone::runtime {

/// Sets of units that have run, of which a search looks at so many.
inline constexpr std::size_t kMostStates = 20'000;

struct Schedule {
  std::vector<std::uint32_t> order;  ///< All units of the model.
  std::size_t peak_bytes = 0;        ///< Most that is live at once.
  bool optimal = false;              ///< No order of these units has a lower peak.
};

/// The plan is cut where every unit either precedes or follows one and the same; between cuts,
/// small parts are searched exhaustively, large ones greedily and then exhaustively around the
/// peak. What does not matter for the peak stays as it is. Deterministic. Complexity: near linear
/// in the units; a part costs twice `max_states` at most: as a whole, and all that is around peaks.
Schedule schedule_units(const ScheduleModel& model, std::size_t max_states = kMostStates);

/// The peak of running the units in this order. Precondition: all of them, producers first.
std::size_t peak_of(const ScheduleModel& model, std::span<const std::uint32_t> order);

struct ExactSearch {
  std::vector<std::uint32_t> order;  ///< Empty: nothing is better than `must_beat`.
  std::size_t peak_bytes = 0;
  bool complete = false;   ///< The space was exhausted: no order is better.
  std::size_t states = 0;  ///< Looked at.
};
/// The best order of at most 64 units that run one after the other, when `before` has run.
/// `must_beat`: a peak that is known to be possible; `enough`: one that need not be improved on.
/// Complexity: `max_states` sets of units that have run.
ExactSearch search_order(const ScheduleModel& model, const LiveBytes& before,
                         std::span<const std::uint32_t> units, std::size_t must_beat,
                         std::size_t enough, std::size_t max_states);

}  // namespace soapstone::runtime
