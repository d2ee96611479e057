// simulate_described(): how long a step of plans that a user describes takes, and whether it fits.
#pragma once

#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "parallel/described/described_step.h"

namespace soapstone::jobs {

struct SimulateDescribedRequest {
  std::string simulate;  ///< Path of a plan, or of a list of plans.
  /// Path of the profiles of their models and devices; empty: profiles.json beside the plans.
  std::string profiles;
  std::string only;  ///< The id of the one plan that is simulated; empty: all are.
};

/// In the order of the file. Of several, `step` is empty. Errors: those of
/// parallel::described_plans_from_json(), profiles_from_json() and simulate_described(), with the
/// file; kUsage if no plan has the id,
/// or no profiles are named and none lie beside the plans; kInterrupted.
core::Result<std::vector<parallel::DescribedOutcome>>
simulate_described(const SimulateDescribedRequest& request, const Context& context = {});

}  // namespace soapstone::jobs
