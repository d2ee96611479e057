// Parts of a graph that are linear in one tensor, however many operators they are: one product with
// what they make of the unit matrix, which is a constant.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// How the names of their rules begin: `linear_map_of_conv`.
inline constexpr std::string_view kLinearMapPrefix = "linear_map_of_";

/// Plans for each tensor that enters such a part, and what leaves it: all results together, and
/// each alone. The last steps make matrix products of the contractions. Complexity: nodes of all
/// parts.
std::vector<RewriteSequence> find_linear_maps(const core::Graph& graph);
inline constexpr Transform kLinearMaps{"linear_maps",
                                       "a linear part of the graph becomes one product",
                                       find_linear_maps,
                                       {kLinearMapPrefix}};

/// The same with maps of larger tensors, such as the places of a volume: for what is left at the
/// end, since they hide products that read less.
std::vector<RewriteSequence> find_large_maps(const core::Graph& graph);
inline constexpr Transform kLargeLinearMaps{
    "large_linear_maps", "likewise, of larger tensors", find_large_maps, {kLinearMapPrefix}};

/// The same where what is added may be another number at each place along the axes that a map
/// keeps: positions, anchors, biases of channels in maps of pixels. Longer parts, and more weights.
std::vector<RewriteSequence> find_affine_maps(const core::Graph& graph);
inline constexpr Transform kAffineMaps{
    "affine_maps", "likewise, with constants that are added", find_affine_maps, {kLinearMapPrefix}};

/// The same where what is added may be computed from other tensors: steps of a linear recurrence.
std::vector<RewriteSequence> find_joint_maps(const core::Graph& graph);
inline constexpr Transform kJointAffineMaps{"joint_affine_maps",
                                            "likewise, where what is added may be computed",
                                            find_joint_maps,
                                            {kLinearMapPrefix}};
/// Only those in which something computed is added.
std::vector<RewriteSequence> find_maps_with_others(const core::Graph& graph);
inline constexpr Transform kAffineMapsWithOthers{"affine_maps_with_others",
                                                 "likewise, where what is added is computed",
                                                 find_maps_with_others,
                                                 {kLinearMapPrefix}};

}  // namespace soapstone::transforms
