// Whether a model may get another number of items in a batch.
#pragma once

#include "jobs/base/context.h"
#include "jobs/models/batched_file.h"
#include "jobs/optimize/request.h"
#include "models/onnx/format/onnx_model.h"
#include "runtime/launches/backend.h"

namespace soapstone::jobs {

/// Whether the model treats items apart: as `model`, which was read of such a file, it gives for
/// each item what it gives for that one alone. What cannot be run here is not compared, and a
/// warning says so. Errors: kInvalidInput if results have no batch, or depend on other items.
core::Status check_batch(const OptimizeRequest& request, const models::OnnxModel& model,
                         runtime::Backend& backend, const Context& context);

}  // namespace soapstone::jobs
