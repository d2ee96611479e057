// What plan-graph --simulate prints.
#pragma once

#include <span>
#include <string>

#include "parallel/described/described_step.h"

namespace soapstone::cli {

/// Of one plan: its stages and its timeline; of several: a line for each.
std::string described_text(std::span<const parallel::DescribedOutcome> outcomes);
/// An object with a key for each plan, its id.
std::string described_json(std::span<const parallel::DescribedOutcome> outcomes);

}  // namespace soapstone::cli
