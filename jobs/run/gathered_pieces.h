// Pieces of results, brought to the first rank.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "jobs/run/prepared_run.h"
#include "jobs/run/result_check.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::jobs {

enum class Gathered : std::uint8_t {
  kAll,   ///< Those of every rank.
  kOnce,  ///< What several ranks have, from the first of them.
};

/// Called by all ranks. `outputs`: by output of the rank's program its value. The first rank gets
/// the pieces, the others none. Errors: those of messages.
core::Result<std::vector<ComputedPiece>> gather_pieces(const PreparedRun& prepared,
                                                       const std::vector<core::LiteralPtr>& outputs,
                                                       Gathered which,
                                                       runtime::Collectives& collectives);

}  // namespace soapstone::jobs
