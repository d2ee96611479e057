// How weights are updated.
#pragma once

#include <cstdint>

namespace soapstone::parallel {

enum class Optimizer : std::uint8_t { kSgd, kMomentum, kAdam };

}  // namespace soapstone::parallel
