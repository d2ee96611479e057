// What plan-graph and inspect-plan print.
#pragma once

#include <optional>
#include <string>

#include "jobs/plan/plan_annotations.h"
#include "jobs/run/check_plan.h"

namespace soapstone::cli {

/// What is there only if it was asked for.
struct PlanReportExtras {
  std::optional<double> told_us;  ///< What a step takes in its pictures.
  std::optional<jobs::AnnotationReport> annotations;
  std::optional<jobs::PlanCheck> check;
};

std::string plan_text(const jobs::PlanOutcome& outcome, const PlanReportExtras& extras);
std::string plan_report_json(const jobs::PlanOutcome& outcome, const PlanReportExtras& extras);

/// A table with a line for each operator. `told_us`: see PlanReportExtras.
std::string plan_document_text(const parallel::PlanDocument& plan, std::optional<double> told_us);

}  // namespace soapstone::cli
