// The search: a graph is covered with small regions, each kind of region is searched once, and what
// is found is applied wherever it holds, until nothing more is gained (docs/adr/0012).
#pragma once

#include <functional>
#include <vector>

#include "core/base/progress.h"
#include "core/graph/graph.h"
#include "cost/models/cost_model.h"
#include "search/base/types.h"
#include "verifier/admission.h"

namespace soapstone::search {

/// Regions are searched in parallel, in batches of a fixed width, so the result is the same for any
/// number of threads. Only matches that are admitted are replaced.
SearchResult search(const core::Graph& original, verifier::Admission& rules, cost::CostModel& cost,
                    const SearchOptions& options, core::ProgressSink& progress,
                    const core::StopToken& stop);

/// Calls `use` with the graph after each step, until it returns false.
/// Precondition: search() found the steps with these rules, from that original.
void for_each_graph(const core::Graph& original, const rules::RuleSet& rules,
                    const std::vector<Step>& steps,
                    const std::function<bool(const Step&, const core::Graph&)>& use);

}  // namespace soapstone::search
