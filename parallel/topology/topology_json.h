// Topologies as JSON; docs/topology.md describes the format.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel {

/// Errors: kInvalidInput with the place in the document, as in `levels[1].size`.
core::Result<Topology> topology_from_json(std::string_view text);
/// The same, of a file; its path stands in front of the place.
core::Result<Topology> read_topology(const std::filesystem::path& path);
/// Reading it gives the same topology.
std::string topology_to_json(const Topology& topology);

}  // namespace soapstone::parallel
