// The report of run-plan: tables for people, JSON for machines.
#pragma once

#include <string>

#include "jobs/run/run_plan.h"

namespace soapstone::cli {

std::string run_plan_text(const jobs::RunPlanOutcome& outcome);
std::string run_plan_json(const jobs::RunPlanOutcome& outcome);

/// The first result that is not that of one device: tensor, rank, element. Precondition: there is
/// one.
std::string difference_text(const jobs::RunPlanOutcome& outcome);

}  // namespace soapstone::cli
