// Another number of items in a batch: a file that is read in place of the user's own.
#pragma once

#include <filesystem>

#include "core/base/private_folder.h"
#include "jobs/base/context.h"
#include "jobs/models/model_files.h"

namespace soapstone::jobs {

struct BatchedFile {
  core::PrivateFolder folder;
  std::filesystem::path path;
};

/// The hint of errors about files that allow no other batch.
extern const char* const kBatchHint;

/// The user's file with `batch` items. Errors: those of models::write_with_batch().
core::Result<BatchedFile> with_batch(const std::string& model, std::int64_t batch);

/// `model` is the user's own file. Errors: those of reading; what the file's operators say of the
/// batch is in the message.
core::Result<models::OnnxModel> read_batched(const BatchedFile& file, const std::string& model,
                                             std::int64_t batch, const Shapes& shapes,
                                             const Context& context,
                                             bool fold_default_inputs = false);

}  // namespace soapstone::jobs
