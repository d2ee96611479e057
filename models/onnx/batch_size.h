// A model file with another number of items in a batch.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/base/result.h"

namespace soapstone::models {

/// Writes the model with `batch` as the first size of its inputs: of those that leave it open, and
/// of every dimension with the name of such a one; if none leaves it open, of those where it is 1.
/// The first sizes of results follow, and shapes that the file notes in between go. Whether the
/// operators agree is not looked at. External weights are followed.
/// Errors: kInvalidInput: it has no such input; those of reading and writing models.
core::Status write_with_batch(const std::filesystem::path& model, std::int64_t batch,
                              const std::filesystem::path& path);

}  // namespace soapstone::models
