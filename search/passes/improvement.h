// Carries what was found in regions over to the whole graph.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "search/base/types.h"
#include "search/regions/region.h"
#include "search/regions/region_search.h"

namespace soapstone::search {

/// A region of the whole graph, and a way to make it better.
struct Site {
  const Region* region = nullptr;
  const RegionResult* found = nullptr;
};

/// Whether the rewrites that were found in a region like this one match here, too.
bool holds(const Site& site, verifier::Admission& rules);

/// The sites that can be applied together, the largest gains first: no site has a node that an
/// earlier one replaces or redirects. Sites that share `found` are neighbors in the list.
/// Deterministic.
std::vector<Site> select_disjoint(const core::Graph& whole, std::vector<Site> sites);

/// The rewrites of all sites, one after the other, with the ids that the whole graph will have.
std::vector<Step> steps_on(const core::Graph& whole, std::span<const Site> sites,
                           const rules::RuleSet& rules);

/// Makes `now` better by the sites' rewrites, leaving out those that do no good to the whole graph.
/// The gains of its new steps add up to what the whole gains. Deterministic, unless `stopped` says
/// to leave the rest.
void apply_where_it_gains(std::span<const Site> sites, const rules::RuleSet& rules,
                          const Objective& objective, const ObjectiveStage& stage,
                          const std::function<bool()>& stopped, Candidate& now);

/// The graph that the steps which were found in a region make of it. Precondition: they are those
/// of no e-graph.
core::Graph graph_behind(const core::Graph& region, const rules::RuleSet& rules,
                         std::span<const RegionStep> steps);

/// Gains and costs in latency, where the search of the region followed another cost.
void price_by_latency(const core::Graph& region, const rules::RuleSet& rules,
                      cost::CostModel& latency, RegionResult& result);

}  // namespace soapstone::search
