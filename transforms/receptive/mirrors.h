// Images that are mirrored, or of which rows and columns are exchanged: what is done to the mirror
// image is done to the image, with mirrored kernels, until a second mirror or a sum undoes the
// first.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `mirror_of_conv`.
inline constexpr std::string_view kMirrorPrefix = "mirror_of_";

/// A plan for all nodes together that mirror an image, of steps that the mirrors move behind, and
/// then one for each of them, if they are at most 50. Without plans that never get rid of a mirror.
/// Complexity: for each plan, linear in the graph.
std::vector<RewriteSequence> find_mirrors(const core::Graph& graph);
inline constexpr Transform kMirrors{"mirrors",
                                    "mirrors of an image are taken past what is done to it",
                                    find_mirrors,
                                    {kMirrorPrefix}};

}  // namespace soapstone::transforms
