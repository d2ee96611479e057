// The file of a step: names of inputs and outputs, first values, and notes of what replaces what.
#pragma once

#include "jobs/train/train.h"

namespace soapstone::jobs {

/// Writes the step of the model to `path` and says in `outcome` what is called how. Weights, states
/// and statistics are inputs with a default, their first value; so is the number of the step, 1.
/// Errors: those of models::write_onnx().
core::Status write_step(const TrainedModel& model, parallel::TrainingStep step,
                        parallel::Optimizer optimizer, TrainOutcome& outcome);

/// The key of metadata_props under which a step says in JSON what its inputs and outputs are.
inline constexpr const char* kStepNotes = "soapstone.training_step";

/// These notes: `loss`, `learning_rate`, `labels`, `step`, and `replaces`, inputs by output.
std::string step_notes(const TrainOutcome& outcome);

}  // namespace soapstone::jobs
