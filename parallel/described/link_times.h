// How long GPUs of profiled nodes send to each other, by the fitted rates of their links.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "parallel/described/profiles.h"

namespace soapstone::parallel {

/// Seconds in which `pairs` pairs of GPUs of two nodes send `bytes` each at once.
///
/// Rates are those of the table as far as it agrees with itself: pairs share their nodes' network,
/// so all together are no slower than some of them alone, and one is no slower alone than beside
/// others; and fewer bytes take no longer than more, which keeps fits that fall below zero out.
/// A direction that is not there is as fast as the other one. Errors: kUnavailable if neither is.
core::Result<double> between_nodes_s(const Profiles& profiles, const std::string& from,
                                     const std::string& to, std::int64_t pairs, double bytes);

/// Seconds in which `gpus` GPUs of a node, each with one of as many parts of `bytes`, gather the
/// whole in a ring. Of a number of GPUs that was not measured: the next larger one, or the largest.
/// Errors: kUnavailable if no link within the node is there.
core::Result<double> gathered_in_node_s(const Profiles& profiles, const std::string& device,
                                        std::int64_t gpus, double bytes);

}  // namespace soapstone::parallel
