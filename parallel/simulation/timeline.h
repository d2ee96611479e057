// A simulation that is told in full: which part ran when and what it waited for, what was sent
// when, and how much memory each device held. It also knows links that are shared.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "parallel/simulation/problem.h"

namespace soapstone::parallel {

enum class Links : std::uint8_t {
  kUnshared,   ///< No transfer waits for another one.
  kInTurn,     ///< A transfer has all channels of its route for itself; the first ready is first.
  kFairShare,  ///< Transfers divide channels evenly; what one cannot use, others have.
};
enum class Synchronization : std::uint8_t {
  kAfterLast,   ///< One weight after the other, after the last part.
  kOverlapped,  ///< A weight once its operators have ended, while other devices compute.
};
struct SimulationModel {
  Links links = Links::kUnshared;
  Synchronization synchronization = Synchronization::kAfterLast;
};

constexpr std::size_t kNoRun = std::numeric_limits<std::size_t>::max();

struct PartRun {
  std::uint32_t op = 0, part = 0, device = 0;
  Ticks ready = 0, start = 0, end = 0;
  std::size_t after = kNoRun;    ///< The run that it waited for to the last.
  std::size_t through = kNoRun;  ///< The transfer that brought what it waited for.
};
struct TransferRun {
  std::uint32_t edge = 0, from_device = 0, to_device = 0;
  double bytes = 0;
  Ticks ready = 0, start = 0, end = 0;
};
struct SyncRun {
  std::uint32_t group = 0;
  std::vector<std::uint8_t> devices;  ///< Ascending.
  Ticks start = 0, end = 0;
};

struct Timeline {
  std::vector<PartRun> parts;          ///< In the order in which they became ready.
  std::vector<TransferRun> transfers;  ///< Between different devices.
  std::vector<SyncRun> syncs;
  Ticks computed = 0;  ///< End of the last part.
  Ticks end = 0;
  std::vector<Ticks> busy;  ///< Of each device, with parts.

  /// Runs that each wait for the one before; the last is the one that ends last.
  std::vector<std::size_t> critical_path() const;
  /// Of a device, between 0 and 1, of the whole time.
  double idle_share(std::size_t device) const;
};

Timeline simulate(const PlacementProblem& problem, const Placement& placement,
                  const SimulationModel& model);

/// From a moment on, a device holds so much.
struct MemoryStep {
  Ticks from = 0;
  double bytes = 0;
};
/// Of each device: what is resident; outputs from the start of a part to the end of its last
/// reader; copies that were sent, from the start of the transfer to the end of the part that reads.
std::vector<std::vector<MemoryStep>> memory_over_time(const PlacementProblem& problem,
                                                      const Placement& placement,
                                                      const Timeline& timeline);

}  // namespace soapstone::parallel
