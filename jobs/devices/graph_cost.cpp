// See graph_cost.h. The launches are counted as a device that fuses everything would make them.
#include "jobs/devices/graph_cost.h"

#include <limits>
#include <utility>

namespace soapstone::jobs {
namespace {

class FunctionCost final : public cost::CostModel {
 public:
  FunctionCost(GraphCostFunction function, std::string description)
      : function_(std::move(function)), description_(std::move(description)) {}

  cost::GraphCost graph_cost(const core::Graph& graph) override {
    const auto plan = runtime::plan_launches(graph, runtime::generic_fusion(kFusion));
    return {cost_of(graph), 0, plan.launches.size()};
  }
  std::vector<Item> breakdown(const core::Graph& graph) override {
    return {{"the whole graph", {cost_of(graph), 0, false}, description_}};
  }
  std::string description() const override { return description_; }

 private:
  double cost_of(const core::Graph& graph) const {
    const double cost = function_(graph);
    return cost >= 0 ? cost : std::numeric_limits<double>::infinity();  // Not NaN, either.
  }

  static constexpr auto kFusion = runtime::Fusion::kFull;
  GraphCostFunction function_;
  std::string description_;
};

}  // namespace

std::unique_ptr<cost::CostModel> make_graph_cost(GraphCostFunction function,
                                                 std::string description) {
  return std::make_unique<FunctionCost>(std::move(function), std::move(description));
}

}  // namespace soapstone::jobs
