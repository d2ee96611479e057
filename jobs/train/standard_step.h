// A step of training in operators that every backend has kernels for.
#pragma once

#include <cstddef>

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "parallel/training/training_step.h"

namespace soapstone::jobs {

struct StandardStep {
  parallel::TrainingStep step;
  std::size_t by_law = 0;    ///< Gradients that rules/gradients.rules rewrote.
  std::size_t composed = 0;  ///< Gradients that were composed after their comprehension.
};

/// The step with standard operators alone: by laws where there are any, else composed. Errors:
/// those of reading the laws; kUnsupported, with the node, if a gradient cannot be composed.
core::Result<StandardStep> standard_step(parallel::TrainingStep step, const Context& context);

/// The same by laws alone: gradients without one keep their operators, for which devices may have
/// slow kernels only. `stays`: what is left as it is, since the device has kernels for it. Errors:
/// those of reading the laws.
core::Result<StandardStep> step_by_laws(parallel::TrainingStep step, const Context& context,
                                        const parallel::StaysNode& stays = nullptr);

/// Composes what step_by_laws() left, but for what stays. Errors: kUnsupported, with the node.
core::Result<StandardStep> composed_step(StandardStep step, const Context& context,
                                         const parallel::StaysNode& stays = nullptr);

}  // namespace soapstone::jobs
