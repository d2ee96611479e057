// What this process may use of the machine that it runs on.
#pragma once

#include <cstdint>

namespace soapstone::parallel {

struct Processors {
  std::int64_t nodes = 1;  ///< Of memory (NUMA), if all have as many threads; else 1.
  std::int64_t threads_of_node = 1;
  double threads_of_core = 1;  ///< That share its arithmetic units, on average.
  double memory_bytes_of_node = 1;
};

/// By hwloc, if Soapstone was built with it, else what the system says of threads and memory.
Processors local_processors();

}  // namespace soapstone::parallel
