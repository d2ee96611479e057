// Another number of items in a batch: the file that is optimized in place of the user's own.
#pragma once

#include <filesystem>

#include "core/base/private_folder.h"
#include "jobs/base/context.h"
#include "jobs/optimize/request.h"
#include "models/onnx/format/onnx_model.h"
#include "runtime/launches/backend.h"

namespace soapstone::jobs {

struct BatchedFile {
  core::PrivateFolder folder;
  std::filesystem::path path;
};

/// The user's file with request.batch items. Errors: those of models::write_with_batch().
core::Result<BatchedFile> with_batch(const OptimizeRequest& request);

/// Errors: those of reading; what the file's operators say of the batch is in the message.
core::Result<models::OnnxModel>
read_batched(const BatchedFile& file, const OptimizeRequest& request, const Context& context);

/// Whether the model treats items apart: as `model`, which was read of such a file, it gives for
/// each item what it gives for that one alone. What cannot be run here is not compared, and a
/// warning says so. Errors: kInvalidInput if results have no batch, or depend on other items.
core::Status check_batch(const OptimizeRequest& request, const models::OnnxModel& model,
                         runtime::Backend& backend, const Context& context);

}  // namespace soapstone::jobs
