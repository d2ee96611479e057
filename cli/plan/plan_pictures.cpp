#include "cli/plan/plan_pictures.h"

#include "cli/plan/step_drawing.h"
#include "core/base/file_io.h"
#include "jobs/plan/simulate_plan.h"
#include "parallel/simulation/trace_json.h"

namespace soapstone::cli {

core::Status write_pictures(const parallel::PlanDocument& plan, const std::string& topology,
                            const PlanPictures& pictures, const jobs::Context& context) {
  if (!pictures.svg.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(const parallel::SimulatedStep step,
                               jobs::simulate_plan(plan, {topology, {}}, context));
    SOAPSTONE_RETURN_IF_ERROR(core::write_file(pictures.svg, step_svg(step)));
  }
  if (pictures.trace.empty()) return core::Done{};
  constexpr std::size_t kMostEvents = 20'000;  // Viewers of traces have room for more.
  jobs::SimulatePlanRequest request{topology, {}};
  request.options.most_parts = kMostEvents;
  SOAPSTONE_ASSIGN_OR_RETURN(const parallel::SimulatedStep step,
                             jobs::simulate_plan(plan, request, context));
  return core::write_file(pictures.trace, parallel::chrome_trace(step));
}

}  // namespace soapstone::cli
