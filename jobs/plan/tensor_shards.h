// How the parts of a loop lie in a tensor: nested blocks of its dimensions, and the devices that
// hold each shard.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/tensor_type.h"
#include "models/onnx/format/device_annotations.h"
#include "ops/partition/loops.h"

namespace soapstone::jobs {

/// The devices of one stage: axes of a mesh, innermost first.
struct StageMesh {
  std::int64_t first_device = 0;
  std::vector<std::int64_t> axis_sizes;
};

/// An axis of the mesh cuts a tensor as the loop at this place does.
struct TensorCut {
  std::size_t axis = 0;
  ops::LoopPlace place;
};

/// What the tensor's shards are if these cut it; the first of `cuts` along one dimension is the
/// outermost. None: the cuts of a dimension do not nest. Complexity: the number of devices.
std::optional<models::TensorShards>
shards_of(const core::Dims& dims, std::span<const TensorCut> cuts, const StageMesh& mesh);

}  // namespace soapstone::jobs
