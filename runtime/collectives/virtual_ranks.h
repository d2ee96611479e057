// Ranks that are threads of one process and share the host's memory: on them programs for many
// devices are tested where there is none.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "runtime/collectives/collectives.h"

namespace soapstone::runtime {

/// One object for each rank, for one thread each. Calls are done when they return. A rank that is
/// destroyed while others wait for it ends their waits.
std::vector<std::unique_ptr<Collectives>>
make_virtual_ranks(int size, std::chrono::milliseconds time_limit = std::chrono::seconds(60));

}  // namespace soapstone::runtime
