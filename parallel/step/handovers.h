// How fast the stages of a pipeline hand their results over: all devices of all stages do so at the
// same time, so whatever passes one wire or port shares its rate. Gradients come back at another
// time, at the same rate.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/topology/topology.h"

namespace soapstone::parallel {

/// By stage: what each of its devices has for itself on its way to the next stage, the slowest of
/// them; of the last one to the first, if it hands over (`is_ring`). `devices` in all, as many in
/// each stage.
std::vector<Path> handovers(const Topology& topology, std::int64_t devices, std::int64_t stages,
                            bool is_ring);

}  // namespace soapstone::parallel
