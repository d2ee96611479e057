// Profiles and a plan of an invented cluster, in the format that plan-graph --simulate reads. All
// figures are round, so that tests can add them up.
#pragma once

#include <nlohmann/json.hpp>

namespace soapstone::parallel {

/// Model `small` of four layers (an embedding, two alike, a head) on `fast` and `slow` devices, in
/// nodes of four GPUs. On `fast`, layers take 1, 2, 2, 3 s forward and twice that backward for each
/// sample of a microbatch, with 1 and 4 samples profiled; `slow` takes twice as long. Links have
/// the same rate for all sizes: 1 GB/s between nodes, shared by all pairs, 10 GB/s for each pair in
/// a node.
nlohmann::ordered_json described_profiles();

/// Two stages of two layers on two GPUs of `fast` each, one replica, four microbatches of 1.
nlohmann::ordered_json described_plan();

}  // namespace soapstone::parallel
