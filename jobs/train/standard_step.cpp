// See standard_step.h.
#include "jobs/train/standard_step.h"

#include <algorithm>
#include <utility>

#include "jobs/rules/rule_library.h"
#include "ops/gradients/gradient_operator.h"
#include "parallel/training/ordinary_gradients.h"
#include "parallel/training/standard_operators.h"

namespace soapstone::jobs {
namespace {

std::size_t count_gradients(const parallel::TrainingStep& step) {
  return static_cast<std::size_t>(std::ranges::count_if(step.graph.order(), [&](core::NodeId id) {
    return ops::gradient_of(step.graph, id).has_value();
  }));
}

}  // namespace

core::Result<StandardStep> step_by_laws(parallel::TrainingStep step, const Context& context,
                                        const parallel::StaysNode& stays) {
  SOAPSTONE_ASSIGN_OR_RETURN(
      const auto rules,
      read_believed_instances((rules_folder() / "gradients.rules").string(), context));
  StandardStep result;
  const std::size_t all = count_gradients(step);
  context.progress.stage("rewriting gradients");
  SOAPSTONE_ASSIGN_OR_RETURN(result.step, parallel::with_ordinary_gradients(
                                              std::move(step), rules::RuleSet(rules), stays));
  result.by_law = all - count_gradients(result.step);
  return result;
}

core::Result<StandardStep> composed_step(StandardStep step, const Context& context,
                                         const parallel::StaysNode& stays) {
  SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  step.composed = count_gradients(step.step);
  SOAPSTONE_ASSIGN_OR_RETURN(step.step,
                             parallel::with_standard_operators(std::move(step.step), stays));
  return step;
}

core::Result<StandardStep> standard_step(parallel::TrainingStep step, const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(StandardStep result, step_by_laws(std::move(step), context));
  return composed_step(std::move(result), context);
}

}  // namespace soapstone::jobs
