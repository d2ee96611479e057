// Puts an optimized body back among the names of the model around it. Private to models/.
#pragma once

#include <map>
#include <string>
#include <unordered_set>

#include "models/onnx/body_types.h"

namespace soapstone::models {

/// The names that a body's own may clash with.
struct BodyScope {
  const onnx::GraphProto& before;          ///< The body as it stands in the node.
  std::span<const TypedInput> inputs;      ///< Of its model.
  std::unordered_set<std::string>& taken;  ///< Every name of the file; gets those that are new.
};

/// The body with the nodes and weights of `optimized`, which was made of its model. Constants of
/// the graph around it are read from there. Its inputs and what it says of itself stay.
onnx::GraphProto body_within(const BodyScope& scope, ExportedModel optimized);

}  // namespace soapstone::models
