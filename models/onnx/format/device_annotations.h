// Which devices hold which shards of the tensors that each node reads and writes, as ONNX says it
// since version 11 of its IR. Knows nothing of how a plan was found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::models {

/// A dimension of `size` elements is nested blocks, outermost first; each level is in so many
/// shards, and the product of the levels is the dimension.
struct ShardedDim {
  struct Level {
    std::int64_t size = 1, shards = 1;
    bool operator==(const Level&) const = default;
  };
  std::size_t dim = 0;
  std::vector<Level> levels;
  bool operator==(const ShardedDim&) const = default;
};

struct TensorShards {
  std::vector<ShardedDim> dims;  ///< Those that are cut, ascending.
  /// The devices that hold each shard. Shards are in row-major order: of dimensions, then of their
  /// levels, the last one varies fastest.
  std::vector<std::vector<std::int64_t>> holders;
};

/// Null: it cannot be said how the tensor lies.
using TensorShardsPtr = std::shared_ptr<const TensorShards>;

struct NodeDevices {
  std::int32_t stage = 0;                        ///< Of a pipeline.
  std::vector<TensorShardsPtr> inputs, outputs;  ///< By input and output of the node.
};

struct DeviceAnnotations {
  std::string configuration;                      ///< A name for all of it.
  std::vector<std::string> devices;               ///< By number.
  std::vector<std::optional<NodeDevices>> nodes;  ///< By node; those beyond the end have none.
};

}  // namespace soapstone::models
