// What plan-graph and inspect-plan print.
#pragma once

#include <string>

#include "jobs/plan/plan.h"

namespace soapstone::cli {

std::string plan_text(const jobs::PlanOutcome& outcome);
std::string plan_report_json(const jobs::PlanOutcome& outcome);

/// A table with a line for each operator.
std::string plan_document_text(const parallel::PlanDocument& plan);

}  // namespace soapstone::cli
