// See completion.h.
#include "jobs/generate/completion.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "generator/selection/completeness.h"

namespace soapstone::jobs {
namespace {

struct Checked {
  Completeness counts;
  std::vector<generator::RuleCandidate> candidates;  ///< Rules for the lost equalities.
};

/// Derives all that was found again, from what is kept (in both directions) and what folding knows.
Checked check_kept(const std::vector<generator::Enumeration>& found,
                   const std::vector<rules::Rule>& background,
                   const std::vector<generator::RuleCandidate>& kept,
                   const GenerateRequest& request, const Context& context) {
  context.progress.stage("deriving what was found from what is kept");
  rules::SaturationRules rules(background);
  for (const generator::RuleCandidate& candidate : kept)
    generator::add_directions(candidate, rules);
  generator::CompletenessOptions completeness;
  completeness.limits = request.limits;
  completeness.jobs = request.jobs;
  Checked sum;
  for (const generator::Enumeration& enumeration : found) {
    const auto part =
        generator::completeness(enumeration, rules, completeness, context.progress, context.stop);
    sum.counts.derived += part.derived;
    sum.counts.no_rules += part.no_rules;
    sum.counts.wrong += part.wrong;
    for (const generator::EqualPair& pair : part.lost) {
      sum.counts.lost.push_back(
          fmt::format("{} = {}", enumeration.terms.to_string(pair.newcomer),
                      enumeration.terms.to_string(pair.representative, pair.names)));
      const auto sides = generator::sides_of(enumeration, pair);
      auto candidate =
          sides && !context.stop.stop_requested() ? generator::candidate_of(*sides) : std::nullopt;
      if (candidate) sum.candidates.push_back(*std::move(candidate));
    }
  }
  return sum;
}

}  // namespace

std::optional<Completeness> complete(const std::vector<generator::Enumeration>& found,
                                     const generator::MinimizeOptions& minimize,
                                     const GenerateRequest& request, const Context& context,
                                     std::vector<generator::RuleCandidate>& kept) {
  const auto stopped = [&] { return context.stop.stop_requested(); };
  Checked checked = check_kept(found, minimize.background, kept, request, context);
  if (stopped()) return std::nullopt;
  if (checked.candidates.empty()) return std::move(checked.counts);
  generator::MinimizeOptions again = minimize;
  for (const generator::RuleCandidate& candidate : kept)
    for (const auto* direction : {&candidate.forward, &candidate.backward, &candidate.expansion})
      if (*direction)
        again.background.insert(again.background.end(), (*direction)->instances.begin(),
                                (*direction)->instances.end());
  auto more =
      generator::minimize(std::move(checked.candidates), again, context.progress, context.stop);
  std::ranges::move(more, std::back_inserter(kept));
  if (stopped()) return std::nullopt;
  checked = check_kept(found, minimize.background, kept, request, context);
  if (stopped()) return std::nullopt;
  return std::move(checked.counts);
}

}  // namespace soapstone::jobs
