#include "transforms/recognize/recognition.h"

#include <iterator>
#include <set>
#include <utility>

#include "transforms/recognize/norms.h"
#include "transforms/recognize/softmaxes.h"
#include "transforms/recognize/unary_functions.h"

namespace soapstone::transforms {

std::vector<RewriteSequence> find_named_functions(const core::Graph& graph) {
  std::set<core::NodeId> taken;
  std::vector<RewriteSequence> plans = find_norms(graph, taken);
  std::ranges::move(find_softmaxes(graph, taken), std::back_inserter(plans));
  std::ranges::move(find_unary_functions(graph, taken), std::back_inserter(plans));
  return plans;
}

}  // namespace soapstone::transforms
