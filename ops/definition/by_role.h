// Attributes of a node by what they say instead of by their name, and constants by what they are.
#pragma once

#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::ops {

/// The list with that role. Precondition: the operator has one.
const std::vector<core::Polynomial>& sizes_by_role(const core::Node& node,
                                                   core::AttributeRole role);
/// The same as numbers. Precondition: they are numbers.
core::Dims ints_by_role(const core::Node& node, core::AttributeRole role);
/// The node with that list in place of its own.
core::Node with_ints(core::Node node, core::AttributeRole role, const core::Dims& values);
/// Whether windows of an image are multiplied by a kernel, and not transposed.
bool is_convolution(const core::Node& node);
/// The one dimension that the node names. Precondition: an attribute with the role kAxis, a number.
std::size_t axis_by_role(const core::Node& node);
/// The number that all elements of a constant have. Precondition: the movement is kFill.
double fill_value(const core::Node& node);

/// The number that all elements of a constant of f32 have: of one that holds a single one, or is
/// filled with it. None: it has several, or is no such constant.
std::optional<double> number_of(const core::Graph& graph, core::TensorId id);

/// Whether it fills a tensor with a number that may stand for weights, as in models that come
/// without theirs: of several elements, and neither 0 nor 1.
bool stands_for_weights(const core::Graph& graph, const core::Node& node);

/// Appends the constant of that shape with this number everywhere.
core::Result<core::TensorId> append_filled(core::GraphBuilder& builder, const core::Shape& shape,
                                           double value);
/// Appends the product, element by element.
core::Result<core::TensorId> append_product(core::GraphBuilder& builder, core::TensorId a,
                                            core::TensorId b);
/// Appends the unit matrix, or kernel, of that shape.
core::Result<core::TensorId> append_diagonal(core::GraphBuilder& builder, const core::Shape& shape);

}  // namespace soapstone::ops
