// Machines that are known by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

/// `dgx-h100x16` has 16 nodes; of the others `nodes` is the only form. `local` is this machine.
/// Errors: kInvalidInput if there is no such preset or its number of nodes is out of range; the
/// hint lists them.
core::Result<Topology> preset_topology(std::string_view name);

/// The names; N stands for a number of nodes.
std::vector<std::string> preset_names();

/// One device for each thread of the processor that this process may use. Its rates are estimates.
core::Result<Topology> local_topology();

}  // namespace soapstone::parallel
