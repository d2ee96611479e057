// When a graph counts as cheaper than another.
#pragma once

namespace soapstone::search {

/// Below this share of the other's cost: rounding is no gain.
constexpr double kRealGain = 1 - 1e-6;

}  // namespace soapstone::search
