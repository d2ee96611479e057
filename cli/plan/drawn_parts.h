// The rectangles of a picture: runs of a simulated step, told as one where there are too many.
#pragma once

#include <string>
#include <vector>

#include "parallel/simulation/step_simulation.h"

namespace soapstone::cli {

/// What one device does for some time.
struct DrawnPart {
  std::size_t device = 0;
  parallel::Ticks start = 0, end = 0;
  parallel::StepPart does = parallel::StepPart::kForward;
  std::string name;
  std::int64_t microbatch = 0;
  bool is_critical = false;
};

/// Of all devices: runs one by one, or as one those of a block of the network (whose names begin
/// alike up to the first '/'), or of a whole pass, whichever is the finest that has no more than
/// `most`; passes if nothing has. What is told as one follows each other without a pause, and stays
/// apart by what it does, so that no time changes.
std::vector<DrawnPart> drawn_parts(const parallel::SimulatedStep& step, std::size_t most);

}  // namespace soapstone::cli
