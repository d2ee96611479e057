// Products of matrices and einsums alike: letters for their dimensions.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/views/view.h"

namespace soapstone::transforms {

/// Whether it multiplies matrices, or says by an equation what is multiplied and summed.
bool is_product(const core::Node& node);
bool is_equation(const core::Node& node);
/// The first axis of places of an image: behind images and channels.
inline constexpr std::size_t kFirstPlaces = 2;
/// Whether it multiplies the channels of each place of an image by one matrix.
bool is_convolution_of_points(const core::Graph& graph, const core::Node& node);

/// Letters of each operand, and of the result. Dimensions of size 1 that are broadcast have the
/// letter of what they are broadcast to. Empty: it is no contraction, or has a vector as operand.
std::vector<std::string> contraction_labels(const core::Graph& graph, const core::Node& node);

/// Whether each tensor of the node has sizes that are numbers above 0, and it has a meaning.
bool has_known_sizes(const core::Graph& graph, const core::Node& node);

/// Precondition: all sizes are numbers.
Sizes known_sizes(const core::Shape& shape);

}  // namespace soapstone::transforms
