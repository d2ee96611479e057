// See launch.h.
#include "parallel/ranks/launch.h"

#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace soapstone::parallel {
namespace {

/// `otherwise` if there is no such variable or it is no number.
std::size_t number_in_environment(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return otherwise;
  const std::string_view digits = text;
  std::size_t number = 0;
  const auto [end, failure] = std::from_chars(digits.begin(), digits.end(), number);
  return failure == std::errc() && end == digits.end() ? number : otherwise;
}

}  // namespace

std::size_t cores_of_node() { return static_cast<std::size_t>(get_nprocs()); }

std::size_t cores_of_process() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores_of_node();
  return static_cast<std::size_t>(CPU_COUNT(&set));
}

MpiLaunch launch_of_environment() {
  MpiLaunch launch;
  launch.ranks = number_in_environment("OMPI_COMM_WORLD_SIZE", 1);
  launch.rank = number_in_environment("OMPI_COMM_WORLD_RANK", 0);
  launch.ranks_on_node = number_in_environment("OMPI_COMM_WORLD_LOCAL_SIZE", 1);
  if (launch.ranks <= 1 || launch.rank >= launch.ranks) return {};
  return launch;
}

int jobs_of_rank(const MpiLaunch& launch) {
  const std::size_t share = cores_of_node() / std::max<std::size_t>(1, launch.ranks_on_node);
  return static_cast<int>(std::max<std::size_t>(1, std::min(share, cores_of_process())));
}

}  // namespace soapstone::parallel
