// Prints the least time of a step of training of small networks on four GPUs, over all plans that
// cut every operator evenly on neighboring or strided devices: the cost of the best assignment on
// each mesh, and the bound below which there is none. What a plan costs is the sum over operators,
// changes of layout, sums of gradients and updates, none of which hides another one.
//
//   prove-optima [network devices [key=number]...]
#include <algorithm>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "models/networks/builders.h"
#include "parallel/planning/mesh_evaluation.h"
#include "parallel/topology/presets.h"

namespace soapstone::parallel {
namespace {

struct Small {
  std::string network;
  models::ParameterValues sizes;
};

void prove(const Small& small, std::int64_t devices) {
  const double begin = core::process_cpu_s();
  models::NetworkOptions network;
  network.weights = models::Weights::kInputs;
  const auto built = models::build_network(small.network, small.sizes, network);
  if (!built) return fmt::print("{}: {}\n", small.network, built.error().to_string());
  std::vector<bool> is_weight(built->graph.tensor_bound());
  for (const core::TensorId id : built->weights) is_weight[id.index()] = true;
  const Topology machine = *preset_topology("p100x4-nvlink");
  MeshPlanOptions options;
  options.is_training = true;
  options.devices = devices;
  options.freedom.policies = {AxisPolicy::kAny, AxisPolicy::kAny, AxisPolicy::kAny};
  const MeshEvaluator evaluator(built->graph, is_weight, machine, options);
  double least = kImpossible, bound = kImpossible;
  for (std::int64_t inner = 1; inner <= devices; ++inner) {
    if (devices % inner != 0) continue;
    MeshShape shape;
    shape.model = inner;
    shape.any = devices / inner;
    constexpr std::size_t kMostCases = std::size_t{1} << 22;
    const MeshPlan plan = evaluator.plan_at(options.freedom, shape, {0, 1, kMostCases});
    fmt::print("  {:<8} {} x {} devices: {:.4f} ms, bound {:.4f} ms\n", small.network, shape.any,
               shape.model, plan.sharding.cost_us / 1e3, plan.sharding.lower_bound_us / 1e3);
    least = std::min(least, plan.sharding.cost_us);
    bound = std::min(bound, plan.sharding.lower_bound_us);
  }
  constexpr double kRounding = 1e-9;
  fmt::print("{:<8} on {}: least {:.4f} ms, {}; {:.2f} CPU s\n", small.network, devices,
             least / 1e3, least - bound <= kRounding * least ? "proved" : "not proved",
             core::process_cpu_s() - begin);
}

}  // namespace
}  // namespace soapstone::parallel

int main(int count, char** arguments) {
  using soapstone::parallel::Small;
  std::vector<std::pair<Small, std::int64_t>> cases{{{"lenet", {{"batch", 64}}}, 4},
                                                    {{"rnnlm", {{"batch", 64}, {"steps", 2}}}, 4}};
  if (count > 2) {
    Small given{arguments[1], {}};
    for (int k = 3; k < count; ++k) {
      const std::string text = arguments[k];
      const std::size_t equals = text.find('=');
      if (equals != std::string::npos)
        given.sizes[text.substr(0, equals)] = std::strtoll(&text[equals + 1], nullptr, 10);
    }
    cases = {{given, std::strtoll(arguments[2], nullptr, 10)}};
  }
  for (const auto& [small, devices] : cases) soapstone::parallel::prove(small, devices);
  return 0;
}
