// See find_again.h.
#include "search/base/find_again.h"

#include <algorithm>

#include "rules/matching/match_at.h"

namespace soapstone::search {

std::optional<rules::Match> find_again(const core::Graph& graph, verifier::Admission& rules,
                                       const Sought& sought) {
  if (sought.lemma) return rules::match_at(graph, sought.lemma->rule, sought.nodes, sought.inputs);
  auto found = rules::find_match_at(graph, rules.rules(), sought.rule, sought.nodes, sought.inputs);
  if (found && !std::ranges::equal(found->sizes, sought.sizes)) return std::nullopt;
  if (found && !rules.admits(sought.rule, *found)) return std::nullopt;
  return found;
}

}  // namespace soapstone::search
