// See overflow.h. The graph runs once, unfused, with all that it computes as outputs.
#include "search/equivalence/overflow.h"

#include <algorithm>
#include <cmath>

#include "runtime/execution/executor.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::TensorId;

/// Elements of all results together; each takes some eight bytes.
constexpr double kMostElements = 3e7;
/// The real results of nodes that depend on inputs.
std::vector<TensorId> real_results(const Graph& graph) {
  std::vector<TensorId> results;
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    for (const TensorId output : graph.node(id).outputs) {
      const core::TensorType& type = graph.tensor(output).type;
      if (core::is_floating(type.data_type) && core::concrete(type.shape))
        results.push_back(output);
    }
  }
  return results;
}

double elements_of(const Graph& graph, const std::vector<TensorId>& tensors) {
  double count = 0;
  for (const TensorId id : tensors)
    count += static_cast<double>(
        core::element_count(core::concrete(graph.tensor(id).type.shape).value()));
  return count;
}

bool leaves_range_in(const core::Literal& value) {
  return std::ranges::any_of(value.to_doubles(), [](double v) { return !std::isfinite(v); });
}

/// What follows from a tensor in `of` is so, too.
void spread(const Graph& graph, std::vector<bool>& of) {
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    const bool behind = std::ranges::any_of(
        node.inputs, [&](TensorId input) { return input.valid() && of[input.index()]; });
    for (const TensorId output : node.outputs) of[output.index()] = of[output.index()] || behind;
  }
}

}  // namespace

std::optional<std::vector<bool>> leaves_range(const Graph& graph, runtime::Backend& backend,
                                              const std::vector<core::Literal>& inputs) {
  const std::vector<TensorId> results = real_results(graph);
  if (elements_of(graph, results) > kMostElements) return std::nullopt;
  core::GraphBuilder builder(graph);
  builder.set_outputs(results);
  auto shown = std::move(builder).finish();
  if (!shown) return std::nullopt;
  auto executable = runtime::Executable::make(
      *shown, backend, {.fusion = runtime::Fusion::kNone, .hold_shared_weights = false});
  if (!executable) return std::nullopt;
  const auto values = executable->run(inputs);
  if (!values) return std::nullopt;
  std::vector<bool> of(graph.tensor_bound());
  for (std::size_t k = 0; k < results.size(); ++k)
    of[results[k].index()] = leaves_range_in((*values)[k]);
  spread(graph, of);
  std::vector<bool> by_output;
  for (const TensorId id : graph.outputs()) by_output.push_back(of[id.index()]);
  return by_output;
}

}  // namespace soapstone::search
