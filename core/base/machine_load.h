// How busy the machine is besides this process: what others do makes whatever is timed slower.
#pragma once

#include <optional>
#include <string_view>

namespace soapstone::core {

/// Seconds since some time in the past, of all processors together.
struct LoadSample {
  double busy_s = 0, idle_s = 0;
  double own_s = 0;   ///< Of the busy ones, what this process and those that it started took.
  double wall_s = 0;  ///< By the clock.
};
/// None: the system does not tell.
std::optional<LoadSample> sample_load();
/// The first two numbers from the first line of /proc/stat, whose times are in ticks.
std::optional<LoadSample> parse_load(std::string_view stat, double ticks_per_s);

/// Means over some time, in processors.
struct MachineLoad {
  double others = 0;  ///< Those that other processes used.
  double idle = 0;    ///< Those that nobody used.
  /// Whether there was so much other work, and so little left, that times are longer for it.
  bool is_busy() const;
};
/// None: too little time lies between the two.
std::optional<MachineLoad> load_between(const LoadSample& before, const LoadSample& after);

}  // namespace soapstone::core
