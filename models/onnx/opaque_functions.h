// Compares what two files say of an opaque node that both have: does it mean the same in both, and
// does it compute the same each time?
#pragma once

#include "core/graph/graph.h"
#include "models/onnx/format/onnx_model.h"

namespace soapstone::models {

/// Whether the two models give the opaque node one meaning: by the same function of their own, by
/// the same version of its domain, or by one in which ONNX's operator has not changed.
bool means_the_same(const core::Node& node, const ModelHeader& a, const ModelHeader& b);

/// Whether the opaque node computes the same each time that it reads the same, as all of ONNX's
/// operators do that draw no random numbers. Nothing is known of other domains.
bool is_repeatable(const core::Node& node);

}  // namespace soapstone::models
