// Rewrites gradients of a step to operators for which devices have kernels.
#pragma once

#include "parallel/training/training_step.h"
#include "rules/rule/rule.h"

namespace soapstone::parallel {

/// The step with every gradient rewritten that a rule has as its source; the first rule that
/// matches is taken, unless its target does not exist for the types of the elements. What a target
/// computes that the forward pass has computed already is taken from there, so that kept results
/// become fewer. Rules are believed: the caller has seen to their proofs. Errors: kInvalidInput if
/// a rewritten step is no graph any more. Gradients that stay are not looked at.
core::Result<TrainingStep> with_ordinary_gradients(TrainingStep step, const rules::RuleSet& rules,
                                                   const StaysNode& stays = nullptr);

}  // namespace soapstone::parallel
