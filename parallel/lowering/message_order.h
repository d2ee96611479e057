// Messages between two ranks in one order at both ends.
#pragma once

#include <vector>

#include "parallel/lowering/rank_program.h"

namespace soapstone::parallel {

/// Lets each rank receive what another one sends it in the order in which that one does: what was
/// sent before something that a step waits for is received in that step as well, if it has not been
/// yet. No rank waits longer for it, as it has been on its way for longer.
void receive_in_order(std::vector<RankProgram>& programs);

}  // namespace soapstone::parallel
