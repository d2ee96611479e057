#include "parallel/work/saved_results.h"

#include <algorithm>

#include "ops/definition/registry.h"
#include "parallel/work/attention.h"

namespace soapstone::parallel {
namespace {

/// Whether a node takes so few operations that keeping its results costs more than making them
/// again: activations take a few for each element, norms and softmax some ten, contractions
/// hundreds.
bool is_cheap(const core::Graph& graph, core::NodeId id, const StepWork& work) {
  constexpr double kMostOperations = 32;
  if (ops::is_opaque(graph.node(id))) return false;
  double elements = 0;
  for (const core::TensorId output : graph.node(id).outputs) {
    const auto dims = core::concrete(graph.tensor(output).type.shape);
    if (!dims) return false;
    elements += static_cast<double>(core::element_count(*dims));
  }
  return work.nodes[id.index()].flops <= kMostOperations * elements;
}

class AgainMarker {
 public:
  AgainMarker(const core::Graph& graph, StepWork work, const std::vector<bool>& saved)
      : graph_(graph), saved_(saved), work_(std::move(work)) {}

  StepWork run() {
    for (const core::NodeId id : graph_.order())
      for (const core::TensorId output : graph_.node(id).outputs)
        if (work_.tensors[output.index()].is_kept && !saved_[output.index()]) compute_again(output);
    return std::move(work_);
  }

 private:
  void compute_again(core::TensorId id) {
    std::vector<core::TensorId> open{id};
    while (!open.empty()) {
      TensorWork& tensor = work_.tensors[open.back().index()];
      const core::NodeId producer = graph_.tensor(open.back()).producer;
      open.pop_back();
      if (tensor.is_computed_again) continue;
      tensor.is_kept = false;
      tensor.is_computed_again = true;
      run_again(producer, open);
    }
  }

  /// Adds to `open` what the node reads and nobody keeps.
  void run_again(core::NodeId id, std::vector<core::TensorId>& open) {
    work_.nodes[id.index()].runs_again = true;
    for (const core::TensorId read : graph_.node(id).inputs) {
      if (!read.valid() || graph_.is_constant_expression(read)) continue;
      TensorWork& input = work_.tensors[read.index()];
      if (input.is_weight) continue;
      const core::NodeId producer = graph_.tensor(read).producer;
      if (producer.valid() && work_.nodes[producer.index()].is_free)
        run_again(producer, open);  // A view keeps nothing of its own.
      else if (saved_[read.index()])
        input.is_kept = input.is_stored = true;
      else
        open.push_back(read);
    }
  }

  const core::Graph& graph_;
  const std::vector<bool>& saved_;
  StepWork work_;
};

}  // namespace

std::vector<bool> saved_results(const core::Graph& graph, const StepWork& work, Recompute what,
                                const std::vector<bool>& borders) {
  std::vector<bool> saved(graph.tensor_bound(), true);
  const auto is_border = [&](core::TensorId id) { return !borders.empty() && borders[id.index()]; };
  bool is_second = false;  // among contractions of a block with weights
  for (const core::NodeId id : graph.order()) {
    bool keeps = what < Recompute::kCheap || (what < Recompute::kAll && !is_cheap(graph, id, work));
    if (contracts_weight(graph, id, work)) {
      if (what == Recompute::kHalf && is_second) keeps = false;
      is_second = !is_second;
    }
    for (const core::TensorId output : graph.node(id).outputs) {
      saved[output.index()] = keeps || is_border(output);
      if (is_border(output)) is_second = false;
    }
  }
  if (what == Recompute::kNothing) return saved;
  for (const core::NodeId id : graph.order())
    if (const auto scores = attention_behind(graph, id, work))
      for (const core::TensorId between : *scores) saved[between.index()] = false;
  return saved;
}

StepWork computing_again(const core::Graph& graph, StepWork work, const std::vector<bool>& saved) {
  return AgainMarker(graph, std::move(work), saved).run();
}

}  // namespace soapstone::parallel
