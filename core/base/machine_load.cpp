// See machine_load.h. Everything is read from /proc.
#include "core/base/machine_load.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <system_error>

#include "core/base/clock.h"
#include "core/base/file_io.h"

namespace soapstone::core {
namespace {

/// A process as /proc shows it.
struct ProcessTimes {
  int parent = 0;
  double ticks = 0;  ///< Of it and of those of its children that have ended.
};

/// None: it has ended, or the text is none of a process.
std::optional<ProcessTimes> times_of(const std::filesystem::path& process) {
  const auto text = read_file(process / "stat");
  if (!text) return std::nullopt;
  // The name in front may hold anything, also brackets.
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text->substr(name_end + 1));
  std::string skipped;
  ProcessTimes times;
  fields >> skipped >> times.parent;
  for (int k = 0; k < 9; ++k) fields >> skipped;  // up to the number of page faults
  for (int k = 0; k < 4; ++k) {
    double ticks = 0;
    fields >> ticks;
    times.ticks += ticks;
  }
  if (!fields) return std::nullopt;
  return times;
}

double own_ticks() {
  std::map<int, ProcessTimes> all;
  std::error_code error;
  std::filesystem::directory_iterator at("/proc", error), end;
  for (; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    int id = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), id).ec != std::errc()) continue;
    if (const auto times = times_of(at->path())) all[id] = *times;
  }
  const auto is_own = [&](int id) {
    // Parents change while the list is read, so that there may be a cycle in it.
    for (std::size_t k = 0; k <= all.size(); ++k) {
      if (id == getpid()) return true;
      const auto process = all.find(id);
      if (process == all.end()) return false;
      id = process->second.parent;
    }
    return false;
  };
  double ticks = 0;
  for (const auto& [id, times] : all)
    if (is_own(id)) ticks += times.ticks;
  return ticks;
}

}  // namespace

std::optional<LoadSample> parse_load(std::string_view stat, double ticks_per_s) {
  std::istringstream fields{std::string(stat.substr(0, stat.find('\n')))};
  std::string word;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, stolen = 0;
  fields >> word >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> stolen;
  if (!fields || word != "cpu" || ticks_per_s <= 0) return std::nullopt;
  return LoadSample{(user + nice + system + irq + soft_irq + stolen) / ticks_per_s,
                    (idle + waiting) / ticks_per_s, 0, 0};
}

std::optional<LoadSample> sample_load() {
  const auto ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto stat = read_file("/proc/stat");
  if (!stat) return std::nullopt;
  auto sample = parse_load(*stat, ticks_per_s);
  if (!sample) return std::nullopt;
  sample->own_s = own_ticks() / ticks_per_s;
  sample->wall_s = wall_s();
  return sample;
}

bool MachineLoad::is_busy() const {
  constexpr double kMuchOtherWork = 0.25, kLittleLeft = 1;
  return others >= kMuchOtherWork && idle < kLittleLeft;
}

std::optional<MachineLoad> load_between(const LoadSample& before, const LoadSample& after) {
  constexpr double kLeastS = 0.5;  // in less time a tick too many tells nothing
  const double wall_s = after.wall_s - before.wall_s;
  if (wall_s < kLeastS) return std::nullopt;
  const double others_s = after.busy_s - before.busy_s - (after.own_s - before.own_s);
  return MachineLoad{std::max(others_s, 0.0) / wall_s,
                     std::max(after.idle_s - before.idle_s, 0.0) / wall_s};
}

}  // namespace soapstone::core
