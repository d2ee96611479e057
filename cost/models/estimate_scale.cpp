// See estimate_scale.h.
#include "cost/models/estimate_scale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace soapstone::cost {
namespace {

constexpr std::size_t kNearest = 3;

/// The operator that does most, and the type of what the launch stores.
std::string kind_of(const core::Graph& graph, const runtime::Launch& launch) {
  std::string_view name;
  double most = -1;
  for (const core::NodeId id : launch.nodes()) {
    runtime::Launch alone;
    alone.head = id;
    const double flops = launch_work(graph, alone).flops;
    if (flops <= most) continue;
    most = flops;
    name = graph.node(id).op->name;
  }
  return fmt::format("{} {}", name,
                     core::to_string(graph.tensor(launch.outputs.front()).type.data_type));
}

double distance(const LaunchWork& a, const LaunchWork& b) {
  return std::abs(std::log2((a.flops + 1) / (b.flops + 1))) +
         std::abs(std::log2((a.bytes + 1) / (b.bytes + 1)));
}

/// Of at least one; the geometric mean of both in the middle if they are even.
double median_ratio(std::vector<double> ratios) {
  std::ranges::sort(ratios);
  const std::size_t middle = ratios.size() / 2;
  if (ratios.size() % 2 == 1) return ratios[middle];
  return std::sqrt(ratios[middle - 1] * ratios[middle]);
}

}  // namespace

EstimateScale::EstimateScale(std::vector<CostDatabase::Entry> known, Estimate estimate_us)
    : estimate_us_(std::move(estimate_us)) {
  for (const CostDatabase::Entry& entry : known) {
    const double us = entry.measurement.cost_us;
    if (us <= 0) continue;
    least_us_ = least_us_ == 0 ? us : std::min(least_us_, us);
    auto launch = runtime::read_launch_signature(entry.signature);
    if (!launch) continue;
    Known& made = known_.emplace_back();
    made.launch = *std::move(launch);
    made.kind = kind_of(made.launch.graph, made.launch.launch);
    made.work = launch_work(made.launch.graph, made.launch.launch);
    made.measured_us = us;
  }
}

double EstimateScale::ratio_of(Known& known) {
  if (!known.ratio) {
    const double estimate_us = estimate_us_(known.launch.graph, known.launch.launch);
    known.ratio = estimate_us > 0 ? known.measured_us / estimate_us : 1;
  }
  return *known.ratio;
}

EstimateScale::Scale EstimateScale::scale_near(const std::string& kind, const LaunchWork& work) {
  const bool has_kind = std::ranges::find(known_, kind, &Known::kind) != known_.end();
  std::vector<std::pair<double, std::size_t>> candidates;  // distance, number
  for (std::size_t k = 0; k < known_.size(); ++k)
    if (!has_kind || known_[k].kind == kind)
      candidates.emplace_back(distance(known_[k].work, work), k);
  if (candidates.empty()) return {};
  const std::size_t count = std::min(candidates.size(), kNearest);
  std::ranges::partial_sort(candidates, candidates.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<double> ratios;
  for (std::size_t k = 0; k < count; ++k) ratios.push_back(ratio_of(known_[candidates[k].second]));
  return {median_ratio(std::move(ratios)), count};
}

EstimateScale::Scale EstimateScale::scale_for(const core::Graph& graph,
                                              const runtime::Launch& launch) {
  return scale_near(kind_of(graph, launch), launch_work(graph, launch));
}

}  // namespace soapstone::cost
