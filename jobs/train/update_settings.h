// The numbers of an optimizer, by the names that users know, for its update operator.
#pragma once

#include "jobs/train/train.h"

namespace soapstone::jobs {

/// Sets the options of the update. Errors: kUsage for a setting that the optimizer has not.
core::Status set_update(const TrainRequest& request, parallel::TrainingOptions& options);

}  // namespace soapstone::jobs
