// Duties of every implementation of collective operations on the host, as checks that each
// rank runs: on virtual ranks, and on processes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/collectives/collectives.h"

namespace soapstone::parallel::test {

/// Expects what each result must be, and appends all results to `record`.
struct RankCheck {
  const char* name;
  core::Status (*run)(runtime::Collectives& ranks, std::vector<std::byte>& record);
};

std::span<const RankCheck> rank_checks();

}  // namespace soapstone::parallel::test
