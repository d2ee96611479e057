// What plan-graph and inspect-plan print.
#pragma once

#include <optional>
#include <string>

#include "jobs/plan/plan.h"

namespace soapstone::cli {

/// `told_us`: what a step takes in its pictures, if there are any.
std::string plan_text(const jobs::PlanOutcome& outcome, std::optional<double> told_us);
std::string plan_report_json(const jobs::PlanOutcome& outcome, std::optional<double> told_us);

/// A table with a line for each operator.
std::string plan_document_text(const parallel::PlanDocument& plan, std::optional<double> told_us);

}  // namespace soapstone::cli
