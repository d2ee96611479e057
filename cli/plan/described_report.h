// The report of plan-graph --simulate.
#pragma once

#include <span>
#include <string>

#include "parallel/described/described_step.h"

namespace soapstone::cli {

/// One plan has a line for each stage and a timeline; several have a line each.
std::string described_text(std::span<const parallel::DescribedOutcome> outcomes);
/// An object with a key for each plan, its id.
std::string described_json(std::span<const parallel::DescribedOutcome> outcomes);

}  // namespace soapstone::cli
