#include "parallel/work/loss_region.h"

#include <algorithm>
#include <set>

#include "ops/definition/registry.h"
#include "parallel/work/attention.h"

namespace soapstone::parallel {
namespace {

/// The output that a step minimizes.
core::NodeId producer_of_loss(const core::Graph& graph, const StepWork& work) {
  core::NodeId producer = core::NodeId::none();
  for (const core::TensorId output : graph.outputs()) {
    const core::TensorType& type = graph.tensor(output).type;
    if (type.shape_known && type.shape.empty() && work.tensors[output.index()].has_gradient)
      producer = graph.tensor(output).producer;
  }
  return producer;
}

class RegionFinder {
 public:
  RegionFinder(const core::Graph& graph, const StepWork& work) : graph_(graph), work_(work) {}

  LossRegion run() {
    const core::NodeId last = producer_of_loss(graph_, work_);
    if (!last.valid()) return {};
    collect(last);
    LossRegion region;
    int contractions = 0;
    for (const core::NodeId id : graph_.order()) {
      if (!nodes_.contains(id)) continue;
      if (ops::is_opaque(graph_.node(id)) || !is_read_within(id)) return {};
      region.nodes.push_back(id);
      if (!contracts_weight(graph_, id, work_)) continue;
      ++contractions;
      region.rows = rows_of(id);
    }
    if (contractions != 1) return {};
    return region;
  }

 private:
  void collect(core::NodeId last) {
    std::vector<core::NodeId> open{last};
    while (!open.empty()) {
      const core::NodeId id = open.back();
      open.pop_back();
      if (!nodes_.insert(id).second || contracts_weight(graph_, id, work_)) continue;
      for (const core::TensorId input : graph_.node(id).inputs) {
        if (!input.valid() || !work_.tensors[input.index()].has_gradient) continue;
        const core::NodeId producer = graph_.tensor(input).producer;
        if (producer.valid() && !graph_.is_constant_expression(input)) open.push_back(producer);
      }
    }
  }

  bool is_read_within(core::NodeId id) const {
    for (const core::TensorId output : graph_.node(id).outputs)
      for (const core::NodeId reader : graph_.consumers(output))
        if (!nodes_.contains(reader)) return false;
    return true;
  }

  std::int64_t rows_of(core::NodeId id) const {
    const auto dims = core::concrete(graph_.tensor(graph_.node(id).outputs[0]).type.shape);
    if (!dims || dims->empty() || dims->back() == 0) return 0;
    return core::element_count(*dims) / dims->back();
  }

  const core::Graph& graph_;
  const StepWork& work_;
  std::set<core::NodeId> nodes_;
};

}  // namespace

LossRegion loss_region(const core::Graph& graph, const StepWork& work) {
  return RegionFinder(graph, work).run();
}

StepWork in_turns(const core::Graph& graph, StepWork work, const LossRegion& region,
                  std::int64_t turns) {
  for (const core::NodeId id : region.nodes) {
    work.nodes[id.index()].turns = static_cast<double>(turns);
    for (const core::TensorId output : graph.node(id).outputs)
      if (!graph.tensor(output).type.shape.empty())
        work.tensors[output.index()].turns = static_cast<double>(turns);
  }
  return work;
}

}  // namespace soapstone::parallel
