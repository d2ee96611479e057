// The options of plan-graph and inspect-plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "cli/plan/plan_pictures.h"
#include "jobs/plan/inspect_plan.h"
#include "jobs/plan/plan.h"
#include "jobs/plan/simulate_described.h"

namespace soapstone::cli {

struct PlanOptions : CommonOptions {
  jobs::PlanRequest request;
  std::vector<std::string> settings, fixed;  ///< `KEY=NUMBER`, or `recompute=LEVEL`
  std::string output, onnx;
  PlanPictures pictures;
  std::optional<double> memory_limit_gib;
  std::string precision;
  std::uint64_t seed = 0;                    ///< Of no effect.
  jobs::SimulateDescribedRequest described;  ///< With a plan's path: nothing is planned.
  bool checks = false;        ///< The plan's programs of ranks, without running them.
  bool requires_fit = false;  ///< Of the described plans.
};

struct InspectPlanOptions : CommonOptions {
  jobs::InspectPlanRequest request;
  std::vector<std::string> settings;  ///< `KEY=NUMBER`
  PlanPictures pictures;
};

/// Binds all options to `options`, which must outlive `line`.
void add_plan_options(CommandLine& line, PlanOptions& options);
/// The request with what its options mean together. Errors: kUsage.
core::Result<jobs::PlanRequest> plan_request(const PlanOptions& options);

/// Options that plan and those that describe a plan do not go together. Errors: kUsage.
core::Status check_described(const CommandLine& line, const PlanOptions& options);

/// Binds all options to `options`, which must outlive `line`.
void add_inspect_plan_options(CommandLine& line, InspectPlanOptions& options);
/// Errors: kUsage.
core::Result<jobs::InspectPlanRequest> inspect_plan_request(const InspectPlanOptions& options);

}  // namespace soapstone::cli
