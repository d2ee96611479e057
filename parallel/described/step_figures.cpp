// See step_figures.h.
#include "parallel/described/step_figures.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "parallel/described/link_times.h"

namespace soapstone::parallel {
namespace {

/// One copy of an activation or its gradient is cut among the GPUs that send it.
core::Status add_handovers(const DescribedPlan& plan, const Profiles& profiles,
                           const std::vector<StageSizes>& sizes, AlikeReplicas& alike) {
  for (std::size_t s = 0; s + 1 < plan.stages.size(); ++s) {
    const DescribedStage &stage = plan.stages[s], &next = plan.stages[s + 1];
    const std::string &from = stage.devices[alike.first], &to = next.devices[alike.first];
    const std::int64_t pairs = std::min(stage.tensor_parallel, next.tensor_parallel);
    const double bytes =
        sizes[s].output_bytes * static_cast<double>(plan.microbatch) / static_cast<double>(pairs);
    const auto there = between_nodes_s(profiles, from, to, pairs, bytes);
    const auto back = between_nodes_s(profiles, to, from, pairs, bytes);
    for (const auto* const time : {&there, &back})
      if (!*time) return time->error().at(fmt::format("stages[{}]", s));
    alike.activation_s.push_back(*there);
    alike.gradient_s.push_back(*back);
  }
  return core::Done{};
}

// DeepSpeed's engine clears the tensor that it gathers, NCCL's parts are copied into it, and it is
// cloned.
constexpr double kPassesOfGathers = 5;

/// A stage gathers the activation before its forward pass and the gradient before its backward
/// pass. DeepSpeed keeps the stage's own result cut, too, and gathers it before the backward pass.
core::Status add_gathers(const DescribedPlan& plan, const Profiles& profiles,
                         const std::vector<StageSizes>& sizes, AlikeReplicas& alike) {
  const bool is_deepspeed = plan.framework.handovers == HandoverOrder::kInTurn;
  const double element_bytes = profiles.models.at(plan.model).element_bytes;
  const std::size_t stages = plan.stages.size();
  alike.forward_gathers_s.assign(stages, 0);
  alike.backward_gathers_s.assign(stages, 0);
  for (std::size_t s = 0; s < stages; ++s) {
    const DescribedStage& stage = plan.stages[s];
    if (stage.tensor_parallel == 1) continue;
    const auto gathered = [&](std::size_t of) -> core::Result<double> {
      const double bytes = sizes[of].output_bytes * static_cast<double>(plan.microbatch);
      const double copies_s = kPassesOfGathers * alike.stages[s].pass_s * bytes / element_bytes;
      SOAPSTONE_ASSIGN_OR_RETURN(
          const double sent,
          gathered_in_node_s(profiles, stage.devices[alike.first], stage.tensor_parallel, bytes));
      return sent + (is_deepspeed ? copies_s : 0);
    };
    const core::Result<double> read = s > 0 ? gathered(s - 1) : 0.0;
    const core::Result<double> made = s + 1 < stages ? gathered(s) : 0.0;
    for (const auto* const time : {&read, &made})
      if (!*time) return time->error().at(fmt::format("stages[{}]", s));
    alike.forward_gathers_s[s] = *read;
    alike.backward_gathers_s[s] = (is_deepspeed ? 2 : 1) * *made;
  }
  return core::Done{};
}

core::Result<std::vector<AlikeReplicas>> alike_replicas(const DescribedPlan& plan,
                                                        const Profiles& profiles,
                                                        const std::vector<StageSizes>& sizes) {
  std::vector<AlikeReplicas> groups;
  std::map<std::vector<std::string>, std::size_t> known;
  for (std::size_t replica = 0; replica < plan.replicas(); ++replica) {
    std::vector<std::string> devices;
    for (const DescribedStage& stage : plan.stages) devices.push_back(stage.devices[replica]);
    const auto [group, is_new] = known.emplace(std::move(devices), groups.size());
    if (is_new) {
      AlikeReplicas& alike = groups.emplace_back();
      alike.first = replica;
      for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        SOAPSTONE_ASSIGN_OR_RETURN(const StageTimes times, stage_times(profiles, plan, s, replica));
        alike.stages.push_back(times);
      }
      SOAPSTONE_RETURN_IF_ERROR(add_handovers(plan, profiles, sizes, alike));
      SOAPSTONE_RETURN_IF_ERROR(add_gathers(plan, profiles, sizes, alike));
    }
    ++groups[group->second].count;
  }
  return groups;
}

/// A ring of the replicas in their order, for each of the GPUs of a replica at the same time, which
/// share what connects their nodes. Its slowest link sets the pace.
core::Result<double> ring_s(const DescribedPlan& plan, const Profiles& profiles,
                            const DescribedStage& stage, double bytes) {
  const std::size_t replicas = plan.replicas();
  if (replicas == 1) return 0.0;
  const double piece = bytes / static_cast<double>(replicas);
  std::map<Profiles::Ends, double> known;
  double slowest = 0;
  for (std::size_t j = 0; j < replicas; ++j) {
    const Profiles::Ends ends(stage.devices[j], stage.devices[(j + 1) % replicas]);
    if (known.contains(ends)) continue;
    SOAPSTONE_ASSIGN_OR_RETURN(known[ends], between_nodes_s(profiles, ends.first, ends.second,
                                                            stage.tensor_parallel, piece));
    slowest = std::max(slowest, known[ends]);
  }
  return 2 * static_cast<double>(replicas - 1) * slowest;
}

}  // namespace

core::Result<StepFigures> step_figures(const DescribedPlan& plan, const Profiles& profiles) {
  SOAPSTONE_RETURN_IF_ERROR(check_devices(profiles, plan));
  StepFigures figures;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    SOAPSTONE_ASSIGN_OR_RETURN(const StageSizes sizes, stage_sizes(profiles, plan, s));
    figures.sizes.push_back(sizes);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(figures.replicas, alike_replicas(plan, profiles, figures.sizes));
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const auto ring = ring_s(plan, profiles, plan.stages[s], figures.sizes[s].parameter_bytes);
    if (!ring) return ring.error().at(fmt::format("stages[{}].devices", s));
    figures.sum_s.push_back(*ring);
  }
  return figures;
}

}  // namespace soapstone::parallel
