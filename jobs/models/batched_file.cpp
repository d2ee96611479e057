// See batched_file.h.
#include "jobs/models/batched_file.h"

#include <fmt/format.h>

#include "models/onnx/batch_size.h"

namespace soapstone::jobs {

const char* const kBatchHint = "leave out the batch, or export the model with it";

core::Result<BatchedFile> with_batch(const std::string& model, std::int64_t batch) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto folder, core::PrivateFolder::make());
  const std::filesystem::path path = folder.path() / std::filesystem::path(model).filename();
  SOAPSTONE_RETURN_IF_ERROR(models::write_with_batch(model, batch, path));
  return BatchedFile{std::move(folder), path};
}

core::Result<models::OnnxModel> read_batched(const BatchedFile& file, const std::string& model,
                                             std::int64_t batch, const Shapes& shapes,
                                             const Context& context, bool fold_default_inputs) {
  auto read = read_model(file.path.string(), shapes, context, fold_default_inputs);
  if (read) return read;
  core::Error error = read.error();
  const std::string own = file.path.string();
  if (error.where.starts_with(own)) error.where.replace(0, own.size(), model);
  error.message = fmt::format("with a batch of {} it {}", batch, error.message);
  error.hint = kBatchHint;
  return error;
}

}  // namespace soapstone::jobs
