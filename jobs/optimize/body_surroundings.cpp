// See body_surroundings.h.
#include "jobs/optimize/body_surroundings.h"

#include <algorithm>

#include "search/equivalence/opaque.h"

namespace soapstone::jobs {
namespace {

/// Other bodies may test what they read.
bool is_read_by_body(const core::Graph& graph, core::TensorId id) {
  return std::ranges::any_of(graph.consumers(id), [&](core::NodeId consumer) {
    return models::has_bodies(graph.node(consumer));
  });
}

/// Lets what iterations make of the carried inputs reach them, until nothing changes.
void follow_iterations(const models::Body& body, const core::Graph& graph,
                       ops::Surroundings& surroundings) {
  std::vector<bool> states(graph.inputs().size());
  for (const auto& [input, output] : body.carried) states[input] = true;
  for (bool changed = !body.carried.empty(); changed;) {
    changed = false;
    const ops::SpecialValues specials(graph, surroundings);
    const std::vector<bool> stay = ops::results_that_stay_ordinary(graph, surroundings, states);
    for (const auto& [input, output] : body.carried) {
      if (!surroundings.special_inputs[input] && !stay[output]) {
        surroundings.special_inputs[input] = changed = true;
      }
      if (!surroundings.tested_results[output] && specials.matter_in(graph.inputs()[input])) {
        surroundings.tested_results[output] = changed = true;
      }
    }
  }
}

}  // namespace

ops::Surroundings surroundings_of(const models::Body& body, const core::Graph& body_graph,
                                  const core::Graph& graph, const ops::Surroundings& around) {
  const ops::SpecialValues specials(graph, around);
  const std::vector<bool> depends = search::depends_on_opaque(graph);
  ops::Surroundings surroundings;
  surroundings.results_matter = true;
  for (const core::TensorId id : body.inputs) {
    const core::NodeId producer = id.valid() ? graph.tensor(id).producer : core::NodeId::none();
    surroundings.special_inputs.push_back(
        id.valid() &&
        (specials.specials_of(id) != 0 || (producer.valid() && depends[producer.index()])));
  }
  for (const core::TensorId id : body.results)
    surroundings.tested_results.push_back(id.valid() &&
                                          (specials.matter_in(id) || is_read_by_body(graph, id)));
  follow_iterations(body, body_graph, surroundings);
  return surroundings;
}

}  // namespace soapstone::jobs
