// check_plan(): whether a plan that was just made can be run, without weights and without ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "jobs/plan/planned_model.h"
#include "parallel/plans/plan_document.h"

namespace soapstone::jobs {

struct PlanCheck {
  std::string why_not;             ///< Nothing was checked, and this is why; else empty.
  std::int64_t ranks = 0;          ///< Whose programs were written.
  bool is_smaller = false;         ///< On fewer devices and microbatches than the plan has.
  std::size_t left_out = 0;        ///< Operators of layers that are as others.
  std::size_t steps = 0;           ///< Of all programs: graphs and exchanges.
  bool is_computed = false;        ///< The programs ran in the prime field.
  std::string small_sizes;         ///< Those at which they did, if not at the model's own.
  std::string why_not_computed;    ///< Where they did not.
  std::vector<std::string> uncut;  ///< What the plan cuts and a run does not.
};

/// Writes the programs of ranks for a plan of `model`, without its loss, which is what `request`
/// names, and checks that each message and sum has its partners. They are also computed in the
/// prime field: at the model's sizes if it takes few operations, else at small sizes, if the
/// request leaves some open. Of layers that are cut alike three are checked for all
/// (parallel/plans/repeated_layers.h). Ranks along an axis of the mesh differ in nothing but the
/// places of their pieces: where there are many, programs are written for two positions on each
/// axis and for two microbatches. Models of many different operators are not checked. Errors:
/// kUnsupported names what cannot be run; kInternal: the programs are wrong.
core::Result<PlanCheck> check_plan(const MarkedModel& model, const PlannedModelRequest& request,
                                   const parallel::PlanDocument& plan, const Context& context);

}  // namespace soapstone::jobs
