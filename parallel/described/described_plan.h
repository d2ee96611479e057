// A plan of training as its user describes it: which layers are on which stage, on which devices,
// in how many parts and microbatches. This is what configurations of Megatron and DeepSpeed say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace soapstone::parallel {

struct DescribedStage {
  std::vector<std::size_t> layers;   ///< Consecutive numbers of the model's.
  std::vector<std::string> devices;  ///< The kind of each replica's GPUs.
  std::int64_t tensor_parallel = 1;  ///< GPUs of a replica, on a node of their own.
};

/// In which way a stage passes activations and gradients on.
enum class HandoverOrder : std::uint8_t {
  kInTurn,    ///< One send or receive after the other: DeepSpeed's pipeline engine.
  kBothWays,  ///< An activation and the gradient that comes back at a time: Megatron-LM.
};

/// The framework's part in a plan. Units: MB are 10⁶ bytes.
struct DescribedFramework {
  HandoverOrder handovers = HandoverOrder::kInTurn;
  /// The CUDA context of a process with PyTorch's and cuBLAS's kernels and workspaces.
  double context_mb = 560;
  /// Groups of processes that each GPU is in: world, tensor, data, pipeline, model parallel.
  std::int64_t communicators = 5;
  /// Buffers of NCCL for one of them: 688 on four A100 with NVLink (NVIDIA/nccl, issue 964).
  double communicator_mb = 688;
  /// PyTorch's caching allocator reserves more than is allocated: by this share of activations.
  double fragmentation = 0.05;
  /// Gradients are copied together into buckets of so many elements and summed there: DeepSpeed's
  /// MEMORY_OPT_ALLREDUCE_SIZE.
  double bucket_elements = 5e8;
};

struct DescribedPlan {
  std::string id, model;
  std::int64_t nodes = 0;                         ///< 0: not said.
  std::int64_t microbatch = 1, microbatches = 1;  ///< Samples of a replica; a step has so many.
  std::vector<DescribedStage> stages;             ///< All with as many replicas.
  DescribedFramework framework;

  std::size_t replicas() const { return stages.front().devices.size(); }
};

/// One plan, or a list of plans with different ids; docs/plans.md describes the format. Errors:
/// kInvalidInput with the place in the document: a key is missing, a figure is none, layers are
/// missing or there twice, microbatches are not the global batch; kUnsupported if stages have
/// different numbers of replicas.
core::Result<std::vector<DescribedPlan>> described_plans_from_json(std::string_view text);

}  // namespace soapstone::parallel
