// See runtime_cost.h. What is unknown is observed in its surroundings, the graph that asks for it:
// there the runtime fuses and lays out as it does in the model. Only what that does not tell is
// observed by itself.
#include "jobs/kernels/runtime_cost.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/base/stop_scope.h"
#include "cost/models/calibration.h"
#include "cost/models/launch_cache.h"
#include "cost/models/roofline.h"
#include "jobs/kernels/kernel_costs.h"
#include "jobs/kernels/kernel_pricing.h"
#include "jobs/kernels/part_factors.h"
#include "search/regions/region.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using cost::GraphCost;

/// As many kernels of a model are observed alone, too, those that take longest.
constexpr std::size_t kCompared = 16;
/// What takes longer than this share of the model uses caches as the model does.
constexpr double kLargestPart = 0.25;

class LearnedCost final : public RuntimeCost {
 private:
  template <class Use>
  auto with_prices(const Graph& graph, Use use) {
    {
      const std::shared_lock lock(mutex_);
      const Pricing pricing = price_kernels(graph, known_);
      if (pricing.is_complete && known_.knows_edges(graph)) return use(pricing);
    }
    const std::unique_lock lock(mutex_);
    find_out(graph);
    const Pricing pricing = price_kernels(graph, known_);
    CHECK(pricing.is_complete, "a kernel without a cost");
    return use(pricing);
  }

 public:
  LearnedCost(RuntimeProbe probe, cost::CostDatabase* database, std::string key,
              const core::StopToken* stop)
      : probe_(std::move(probe)), description_(key),
        known_(database, fmt::format("kernels of {}", key)), stop_(stop) {}

  GraphCost graph_cost(const Graph& graph) override {
    return with_prices(graph, [&](const Pricing& pricing) { return sum(pricing); });
  }

  bool needs_quiet_machine() const override { return true; }

  std::vector<Item> breakdown(const Graph& graph) override {
    return with_prices(graph, [&](const Pricing& pricing) {
      std::vector<Item> items;
      for (std::size_t k = 0; k < pricing.kernels.size(); ++k) {
        const KernelCost& cost = *pricing.costs[k];
        items.push_back({cost::describe(graph, as_launch(graph, pricing.kernels[k].nodes)),
                         {cost.us, 0, cost.estimated},
                         cost.estimated ? "estimate: " + cost.why
                                        : probe_.deployment().worker.identity().name});
      }
      for (const auto& [tensor, us] : pricing.conversions)
        items.push_back({"convert " + graph.tensor(tensor).name, {us, 0, false}, "conversion"});
      return items;
    });
  }

  std::string description() const override { return description_; }

  core::Status learn(const Graph& graph, const RuntimeProbe::Write& write) override {
    const std::unique_lock lock(mutex_);
    ++counts_.observations;
    const core::StopScope scope(stop_);
    SOAPSTONE_ASSIGN_OR_RETURN(const Observation seen, probe_.observe_model(graph, write));
    known_.add(seen, true);
    const ObservedGraph& observed = seen.observed;
    if (observed.kernels > 0)
      between_us_ = std::max(0.0, (observed.total_us - observed.kernels_us) /
                                      static_cast<double>(observed.kernels));
    model_us_ = observed.total_us;
    compare_parts(seen.graph);
    return core::Done{};
  }

  Counts counts() const override {
    const std::shared_lock lock(mutex_);
    Counts counts = counts_;
    counts.patterns = known_.fusions().size();
    return counts;
  }

 private:
  GraphCost sum(const Pricing& pricing) const {
    GraphCost total;
    for (const KernelCost* cost : pricing.costs) {
      if (cost->us <= 0) continue;
      ++total.launches;
      total.total_us += cost->us + between_us_;
      if (cost->estimated) total.estimated_us += cost->us;
    }
    for (const auto& conversion : pricing.conversions)
      total.total_us += conversion.us + between_us_;
    total.total_us = cost::rounded_us(total.total_us);
    return total;
  }

  // From here on the caller holds the lock for writing.

  void compare_parts(const Graph& graph) {
    Pricing pricing = price_kernels(graph, known_);
    std::unordered_set<std::uint64_t> compared;
    std::vector<std::size_t> slowest;
    for (std::size_t k = 0; k < pricing.kernels.size(); ++k)
      if (pricing.costs[k] != nullptr && compared.insert(pricing.kernels[k].signature).second)
        slowest.push_back(k);
    std::ranges::stable_sort(slowest, std::ranges::greater{},
                             [&](std::size_t k) { return pricing.costs[k]->us; });
    slowest.resize(std::min(slowest.size(), kCompared));
    for (const std::size_t k : slowest) {
      const auto& nodes = pricing.kernels[k].nodes;
      const auto part = observe(search::extract_region(graph, nodes).graph);
      if (part) factors_.add(graph, nodes, pricing.costs[k]->us, launches_us(part->observed));
    }
  }

  static double launches_us(const ObservedGraph& observed) {
    double us = 0;
    for (const ObservedLaunch& launch : observed.launches) us += launch.us;
    return us;
  }

  void find_out(const Graph& graph) {
    if (!recall(graph)) {
      if (auto seen = observe(graph)) {
        const bool is_part = seen->observed.total_us < kLargestPart * model_us_;
        for (ObservedLaunch& launch : seen->observed.launches)
          if (is_part) launch.us *= factors_.of(seen->graph, launch.nodes);
        known_.add(*seen, false);
      } else {
        known_.add_edges(graph);  // Asking again would not help.
      }
    }
    for (const KernelNodes& kernel : known_.fusions().cover(graph))
      if (!known_.recall(kernel.signature)) find_out_alone(graph, kernel);
  }

  bool recall(const Graph& graph) {
    const auto kernels = known_.fusions().cover(graph);
    const auto is_known = [&](const KernelNodes& k) { return known_.recall(k.signature); };
    return std::ranges::all_of(kernels, is_known) && known_.knows_edges(graph);
  }

  core::Result<Observation> observe(const Graph& graph) {
    if (stop_ != nullptr && stop_->stop_requested())
      return core::unavailable("interrupted before it was observed");
    ++counts_.observations;
    const core::StopScope scope(stop_);
    auto seen = probe_.observe(graph);
    if (!seen) ++counts_.failures;
    return seen;
  }

  /// All kernels that it is by itself, as one.
  void find_out_alone(const Graph& graph, const KernelNodes& kernel) {
    const auto seen = observe(search::extract_region(graph, kernel.nodes).graph);
    KernelCost cost;
    if (!seen) {
      cost.us = estimate(graph, kernel);
      cost.estimated = true;
      cost.why = seen.error().message;
    } else {
      cost.us = launches_us(seen->observed) * factors_.of(graph, kernel.nodes);
      for (const ObservedLaunch& launch : seen->observed.launches) {
        cost.reads_private = cost.reads_private || launch.reads_private;
        cost.writes_private = launch.writes_private;
        if (launch.enter_us > 0) cost.enter_us = launch.enter_us;
        if (launch.leave_us > 0) cost.leave_us = launch.leave_us;
      }
      cost.us = cost::rounded_us(cost.us);
    }
    known_.add(kernel.signature, std::move(cost));
  }

  double estimate(const Graph& graph, const KernelNodes& kernel) {
    if (!calibration_) {
      calibration_ = cost::calibrate([this](const Graph& probe) -> std::optional<double> {
        const auto seen = observe(probe);
        if (!seen) return std::nullopt;
        return seen->observed.kernels_us;
      });
    }
    return cost::roofline_us(cost::launch_work(graph, as_launch(graph, kernel.nodes)),
                             *calibration_);
  }

  mutable std::shared_mutex mutex_;
  RuntimeProbe probe_;
  const std::string description_;
  KernelCosts known_;
  const core::StopToken* stop_;
  double between_us_ = 0;  ///< What the runtime takes from one kernel to the next.
  PartFactors factors_;
  double model_us_ = 0;
  Counts counts_;
  std::optional<cost::RooflineParameters> calibration_;
};

}  // namespace

std::unique_ptr<RuntimeCost> RuntimeCost::make(RuntimeProbe probe, cost::CostDatabase* database,
                                               const std::string& device,
                                               const core::StopToken* stop) {
  std::string key = probe.deployment().key(device);
  return std::make_unique<LearnedCost>(std::move(probe), database, std::move(key), stop);
}

}  // namespace soapstone::jobs
