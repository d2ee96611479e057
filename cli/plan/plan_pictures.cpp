#include "cli/plan/plan_pictures.h"

#include "cli/plan/step_drawing.h"
#include "core/base/file_io.h"
#include "jobs/plan/simulate_plan.h"
#include "parallel/simulation/trace_json.h"

namespace soapstone::cli {

ToldStep tell_step(const parallel::PlanDocument& plan, const std::string& topology,
                   const PlanPictures& pictures, const jobs::Context& context) {
  if (pictures.svg.empty() && pictures.trace.empty()) return std::nullopt;
  return jobs::simulate_plan(plan, {topology, {}}, context);
}

std::optional<double> told_us(const ToldStep& step) {
  if (!step || !*step) return std::nullopt;
  return parallel::to_us((*step)->timeline.end);
}

core::Status write_step_pictures(const parallel::SimulatedStep& step,
                                 const PlanPictures& pictures) {
  if (!pictures.svg.empty())
    SOAPSTONE_RETURN_IF_ERROR(core::write_file(pictures.svg, step_svg(step)));
  if (!pictures.trace.empty())
    SOAPSTONE_RETURN_IF_ERROR(core::write_file(pictures.trace, parallel::chrome_trace(step)));
  return core::Done{};
}

core::Status write_pictures(const ToldStep& step, const PlanPictures& pictures,
                            bool has_other_output, const jobs::Context& context) {
  if (!step) return core::Done{};
  if (!*step) {
    const core::Error& error = step->error();
    if (error.code != core::ErrorCode::kUnsupported || !has_other_output) return error;
    context.progress.log(core::LogLevel::kWarning, "there is no picture: " + error.to_string());
    return core::Done{};
  }
  return write_step_pictures(**step, pictures);
}

}  // namespace soapstone::cli
