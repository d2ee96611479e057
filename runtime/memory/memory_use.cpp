// See memory_use.h. It asks the same planner as the executor does.
#include "runtime/memory/memory_use.h"

#include <optional>
#include <vector>

#include "runtime/memory/placement.h"

namespace soapstone::runtime {
namespace {

using core::Graph;
using core::TensorId;

class Counter {
 public:
  explicit Counter(const Graph& graph) : graph_(graph) {}

  MemoryUse run() {
    for (std::size_t i = 0; i < graph_.tensor_bound(); ++i) {
      const TensorId id(i);
      if (!graph_.contains(id)) continue;
      const core::TensorType& type = graph_.tensor(id).type;
      const bool known = type.shape_known && core::concrete(type.shape);
      if (!known) {
        use_.complete = false;
      } else if (graph_.is_constant_expression(id)) {
        if (is_read_when_running(id)) use_.weight_bytes += storage_bytes(type);
      } else if (graph_.tensor(id).is_input()) {
        use_.input_bytes += storage_bytes(type);
      }
    }
    return use_;
  }

 private:
  bool is_read_when_running(TensorId id) const {
    if (graph_.is_output(id)) return true;
    for (const core::NodeId reader : graph_.consumers(id))
      if (!graph_.is_constant_expression(reader)) return true;
    return false;
  }

  const Graph& graph_;
  MemoryUse use_;
};

}  // namespace

MemoryUse memory_use(const Graph& graph, const Backend& backend, Fusion fusion) {
  const ExecutionPlan plan = plan_execution(graph, backend, fusion);
  std::vector<std::optional<std::size_t>> in_place;
  in_place.reserve(plan.launches.size());
  for (const Launch& launch : plan.launches)
    in_place.push_back(backend.in_place_input(graph, launch));
  const Placement placement(graph, plan, in_place);
  MemoryUse use = Counter(graph).run();
  use.peak_bytes = placement.memory().arena_bytes;
  use.live_bytes = placement.memory().peak_bytes;
  use.peak_steps = count_peak_steps(placement.memory().slots);
  return use;
}

}  // namespace soapstone::runtime
