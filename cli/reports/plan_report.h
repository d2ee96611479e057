// What plan-graph prints.
#pragma once

#include <string>

#include "jobs/plan/plan.h"

namespace soapstone::cli {

std::string plan_text(const jobs::PlanOutcome& outcome);
std::string plan_report_json(const jobs::PlanOutcome& outcome);

}  // namespace soapstone::cli
