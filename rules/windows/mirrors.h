// Images that are mirrored, or of which rows and columns are exchanged: what is done to the mirror
// image is done to the image, with mirrored kernels, until a second mirror or a sum undoes the
// first.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/plan.h"

namespace soapstone::rules {

/// How the names of their rules begin: `mirror_of_conv`.
inline constexpr std::string_view kMirrorPrefix = "mirror_of_";

/// A plan for each node that mirrors an image, of steps behind it that the mirror moves behind, and
/// then one for all of them together. Without those that never get rid of a mirror.
std::vector<RewritePlan> find_mirrors(const core::Graph& graph);

}  // namespace soapstone::rules
