#include "rules/recognition/recognition.h"

#include <iterator>
#include <set>
#include <utility>

#include "rules/recognition/norms.h"
#include "rules/recognition/softmaxes.h"
#include "rules/recognition/unary_functions.h"

namespace soapstone::rules {

std::vector<RewritePlan> find_named_functions(const core::Graph& graph) {
  std::set<core::NodeId> taken;
  std::vector<RewritePlan> plans = find_norms(graph, taken);
  std::ranges::move(find_softmaxes(graph, taken), std::back_inserter(plans));
  std::ranges::move(find_unary_functions(graph, taken), std::back_inserter(plans));
  return plans;
}

}  // namespace soapstone::rules
