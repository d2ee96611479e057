// See derivation.h.
#include "generator/selection/derivation.h"

namespace soapstone::generator {

using rules::ClassId;
using rules::EGraph;

std::string_view to_string(Derivability derivation) {
  switch (derivation) {
  case Derivability::kYes:
    return "derivable";
  case Derivability::kNo:
    return "not derivable";
  case Derivability::kLimit:
    return "not within the limits";
  }
  return "";
}

DerivationReport derive(const core::Graph& a, const core::Graph& b,
                        const std::vector<bool>& constant_inputs,
                        const rules::SaturationRules& rules, const DerivationLimits& limits,
                        const core::StopToken& stop) {
  EGraph graph;
  std::vector<ClassId> inputs;
  for (std::size_t k = 0; k < a.inputs().size(); ++k) {
    const bool constant = k < constant_inputs.size() && constant_inputs[k];
    inputs.push_back(
        graph.add_input(static_cast<std::uint32_t>(k), a.tensor(a.inputs()[k]).type, constant));
  }
  const auto in_a = graph.add_graph(a, inputs), in_b = graph.add_graph(b, inputs);
  const auto is_done = [&](const EGraph& now) {
    for (std::size_t k = 0; k < a.outputs().size(); ++k)
      if (now.find(in_a[a.outputs()[k].index()]) != now.find(in_b[b.outputs()[k].index()]))
        return false;
    return true;
  };
  rules::SaturationLimits saturation;
  saturation.nodes = limits.nodes + graph.node_count();
  saturation.rounds = limits.rounds;
  saturation.left_out = limits.left_out;
  saturation.match.hands_on = limits.hands_on;
  DerivationReport report;
  report.saturation = rules::saturate(graph, rules, saturation, is_done, stop);
  if (report.saturation.end == rules::SaturationEnd::kDone) report.derivation = Derivability::kYes;
  if (report.saturation.end == rules::SaturationEnd::kSaturated)
    report.derivation = Derivability::kNo;
  return report;
}

bool derivable(const core::Graph& a, const core::Graph& b, const rules::SaturationRules& rules,
               const DerivationLimits& limits) {
  return derive(a, b, {}, rules, limits, core::StopToken()).derivation == Derivability::kYes;
}

}  // namespace soapstone::generator
