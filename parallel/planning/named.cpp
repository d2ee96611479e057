#include "parallel/planning/named.h"

namespace soapstone::parallel {
namespace {

using enum AxisPolicy;

Freedom only(std::vector<AxisPolicy> policies) {
  Freedom freedom;
  freedom.policies = std::move(policies);
  freedom.pipelines = false;
  freedom.cuts_states = false;
  freedom.cuts_gradients = false;
  freedom.cuts_weights = false;
  freedom.cuts_unevenly = false;
  freedom.recompute = Recompute::kNothing;
  freedom.loss_chunks = 1;
  freedom.bucket_bytes = kUsualBucket;
  freedom.gathers_once = false;
  freedom.model = 1;
  freedom.any = 1;
  freedom.premises.uses_all_axes = true;
  const AxisPolicy outermost = freedom.policies.back();
  freedom.premises.divides_batch = outermost != kModel && outermost != kAny;
  return freedom;
}

Freedom data_parallel() { return only({kBatch, kBatch, kBatchAlways}); }

Freedom zero(int stage) {
  Freedom freedom = data_parallel();
  freedom.cuts_states = true;
  freedom.cuts_gradients = stage >= 2;
  freedom.cuts_weights = freedom.always_cuts_weights = stage >= 3;
  // With several microbatches the gradients of all are added where they arise.
  if (stage == 2) freedom.microbatches = 1;
  freedom.recompute.reset();
  freedom.premises.needs_training = true;
  return freedom;
}

Freedom hybrid_sharded() {
  Freedom freedom = zero(3);
  freedom.has_any_a_node = true;
  freedom.weight_axes = {false, true, false};
  return freedom;
}

Freedom kept_sharded() {
  Freedom freedom = zero(3);
  freedom.gathers_once = true;
  return freedom;
}

Freedom tensor_and_sharded() {
  Freedom freedom = zero(3);
  freedom.policies = {kNoBatch, kBatch, kBatchAlways};
  freedom.model.reset();
  freedom.weight_axes = {false, true, true};
  freedom.keeps_pieces = true;
  freedom.premises.least.model = 2;
  freedom.cuts_heads = true;
  return freedom;
}

Freedom model_parallel() {
  Freedom freedom = only({kModel, kModel, kModel});
  freedom.model.reset();
  return freedom;
}

Freedom megatron(AxisPolicy policy) {
  Freedom freedom = only({policy, kBatch, kBatchAlways});
  freedom.model.reset();
  freedom.pipelines = true;
  freedom.recompute.reset();
  freedom.premises.least.model = 2;
  freedom.cuts_heads = true;
  freedom.premises.needs_sequence = policy == kNoBatch;
  freedom.keeps_residuals_whole = policy == kModel;
  freedom.keeps_pieces = true;
  freedom.cuts_states = true;  // The distributed optimizer.
  return freedom;
}

Freedom one_weird_trick() {
  Freedom freedom = only({kBatch, kBatch, kPositions});
  freedom.premises.needs_linear_layer = true;
  return freedom;
}

Freedom experts() {
  Freedom freedom = only({kBatch, kBatch, kExperts});
  freedom.premises.needs_experts = true;
  return freedom;
}

Freedom context_parallel() {
  Freedom freedom = only({kSequence, kSequence, kBatchAlways});
  freedom.any.reset();
  freedom.recompute.reset();
  freedom.premises.least.any = 2;
  freedom.premises.needs_sequence = true;
  return freedom;
}

Freedom mesh() {
  Freedom freedom = only({kNoBatch, kBatch, kBatchAlways});
  freedom.model.reset();
  return freedom;
}

Freedom pipelined() {
  Freedom freedom = data_parallel();
  freedom.pipelines = true;
  freedom.recompute.reset();
  freedom.chunks = 1;
  freedom.premises.least.stages = 2;
  return freedom;
}

Freedom interleaved() {
  Freedom freedom = pipelined();
  freedom.chunks.reset();
  freedom.premises.least.chunks = 2;
  return freedom;
}

Freedom layers_on_nodes() {
  Freedom freedom = data_parallel();
  freedom.pipelines = true;
  freedom.has_stage_a_node = true;
  freedom.microbatches = 1;
  freedom.chunks = 1;
  return freedom;
}

Freedom bisection() {
  Freedom freedom = only({kAny, kAny, kAny});
  freedom.bisects = true;
  freedom.premises.halves_devices = true;
  return freedom;
}

std::vector<NamedStrategy> make_strategies() {
  return {
      {"best", "everything that a plan can do", "", {}},
      {"data", "the batch is cut, every device has all weights, gradients are summed in buckets",
       "Li et al., PyTorch Distributed, 2020", data_parallel()},
      {"model", "weights and what they act on are cut, the batch is not", "", model_parallel()},
      {"mesh-tensorflow",
       "one axis of the mesh cuts the batch, the other one more dimension of "
       "each tensor",
       "Shazeer et al., Mesh-TensorFlow, 2018", mesh()},
      {"megatron",
       "attention heads and hidden layers are cut, then there are pipeline stages "
       "and the batch, along which states of the optimizer are cut",
       "Narayanan et al., 2021, arXiv 2104.04473", megatron(kModel)},
      {"megatron-sp", "the same, and the sequence is cut where heads are not",
       "Korthikanti et al., 2022, arXiv 2205.05198", megatron(kNoBatch)},
      {"zero-1", "data parallel; states of the optimizer are cut", "Rajbhandari et al., ZeRO, 2020",
       zero(1)},
      {"zero-2", "the same, and gradients are cut", "Rajbhandari et al., ZeRO, 2020", zero(2)},
      {"zero-3",
       "data parallel; weights, gradients and states are cut, and weights are gathered (FSDP)",
       "Rajbhandari et al., ZeRO, 2020", zero(3)},
      {"fsdp-keep", "zero-3, but what the forward pass gathers is kept for the backward pass",
       "Zhao et al., PyTorch FSDP, 2023", kept_sharded()},
      {"hsdp", "weights are cut within a node of the machine, every node has all of them",
       "Zhao et al., PyTorch FSDP, 2023", hybrid_sharded()},
      {"tensor-fsdp",
       "heads, hidden layers and the sequence are cut along one axis of the mesh, weights in "
       "addition along the batch",
       "Liang et al., TorchTitan, 2024", tensor_and_sharded()},
      {"one-weird-trick",
       "weights that serve many positions of a sample are whole and the batch is cut, others are "
       "cut along their outputs",
       "Krizhevsky, One Weird Trick for Parallelizing Convolutional Neural Networks, 2014",
       one_weird_trick()},
      {"layers", "layers on the nodes of the machine, the batch cut within each",
       "Wu et al., Google's Neural Machine Translation System, 2016", layers_on_nodes()},
      {"bisection", "everything in two, the halves in two, and so on, the best way each time",
       "Wang et al., Supporting Very Large Models using Automatic Dataflow Graph Partitioning, "
       "2019",
       bisection()},
      {"expert", "experts are on devices of their own, everything else is cut along the batch",
       "Lepikhin et al., GShard, 2020", experts()},
      {"context", "the sequence is cut, keys and values are gathered",
       "Liu et al., Ring Attention, 2023", context_parallel()},
      {"pipeline", "pipeline stages and the batch (GPipe's cut, 1F1B's order)",
       "Huang et al., GPipe, 2019; Narayanan et al., PipeDream, 2019", pipelined()},
      {"interleaved", "the same, each stage in several pieces",
       "Narayanan et al., 2021, arXiv 2104.04473", interleaved()},
  };
}

}  // namespace

std::span<const NamedStrategy> named_strategies() {
  static const std::vector<NamedStrategy> kStrategies = make_strategies();
  return kStrategies;
}

core::Result<const NamedStrategy*> named_strategy(std::string_view name) {
  if (name == "ddp") name = "data";
  if (name == "fsdp") name = "zero-3";
  std::string names;
  for (const NamedStrategy& strategy : named_strategies()) {
    if (strategy.name == name) return &strategy;
    names += (names.empty() ? "" : ", ") + strategy.name;
  }
  return core::Error{core::ErrorCode::kUsage,
                     "there is no strategy '" + std::string(name) + "'",
                     {},
                     "there are " + names + "; ddp is data, fsdp is zero-3"};
}

}  // namespace soapstone::parallel
