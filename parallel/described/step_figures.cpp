// See step_figures.h.
#include "parallel/described/step_figures.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "parallel/described/link_times.h"

namespace soapstone::parallel {
namespace {

/// One copy of a tensor, cut among the GPUs that send it, and gathered by those that receive it.
core::Result<double> handover_s(const Profiles& profiles, const std::string& from,
                                const std::string& to, std::int64_t senders, std::int64_t receivers,
                                double bytes) {
  const std::int64_t pairs = std::min(senders, receivers);
  SOAPSTONE_ASSIGN_OR_RETURN(
      const double sent,
      between_nodes_s(profiles, from, to, pairs, bytes / static_cast<double>(pairs)));
  SOAPSTONE_ASSIGN_OR_RETURN(const double gathered,
                             gathered_in_node_s(profiles, to, receivers, bytes));
  return sent + gathered;
}

core::Status add_handovers(const DescribedPlan& plan, const Profiles& profiles,
                           const std::vector<StageSizes>& sizes, AlikeReplicas& alike) {
  for (std::size_t s = 0; s + 1 < plan.stages.size(); ++s) {
    const DescribedStage &stage = plan.stages[s], &next = plan.stages[s + 1];
    const std::string &from = stage.devices[alike.first], &to = next.devices[alike.first];
    const double bytes = sizes[s].output_bytes * static_cast<double>(plan.microbatch);
    const std::int64_t senders = stage.tensor_parallel, receivers = next.tensor_parallel;
    const auto there = handover_s(profiles, from, to, senders, receivers, bytes);
    const auto back = handover_s(profiles, to, from, receivers, senders, bytes);
    for (const auto* const time : {&there, &back})
      if (!*time) return time->error().at(fmt::format("stages[{}]", s));
    alike.activation_s.push_back(*there);
    alike.gradient_s.push_back(*back);
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
