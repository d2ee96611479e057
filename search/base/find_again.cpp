// See find_again.h.
#include "search/base/find_again.h"

#include <algorithm>

#include "rules/matching/match_at.h"

namespace soapstone::search {
namespace {

std::optional<rules::Match> search_for(const core::Graph& graph, const verifier::Admission& rules,
                                       const Sought& sought) {
  std::optional<rules::Match> found;
  rules.rules().for_each_match_at(
      graph, sought.nodes.first(1), [&](core::RuleId rule, const rules::Match& match) {
        const bool same = rule == sought.rule && std::ranges::equal(match.nodes, sought.nodes) &&
                          std::ranges::equal(match.inputs, sought.inputs) &&
                          std::ranges::equal(match.sizes, sought.sizes);
        if (same) found = match;
        return !found;
      });
  return found;
}

}  // namespace

std::optional<rules::Match> find_again(const core::Graph& graph, verifier::Admission& rules,
                                       const Sought& sought) {
  if (sought.lemma) return rules::match_at(graph, sought.lemma->rule, sought.nodes, sought.inputs);
  const auto is_gone = [&](core::NodeId id) { return !graph.contains(id); };
  if (std::ranges::any_of(sought.nodes, is_gone)) return std::nullopt;
  std::optional<rules::Match> found =
      rules::match_at(graph, rules.rules()[sought.rule], sought.nodes, sought.inputs);
  if (!found || !std::ranges::equal(found->sizes, sought.sizes))
    found = search_for(graph, rules, sought);
  if (found && !rules.admits(sought.rule, *found)) return std::nullopt;
  return found;
}

}  // namespace soapstone::search
