// A model whose weights are as rounding might have left them: how far its results are from the
// original's shows how much rounding matters there.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/base/result.h"

namespace soapstone::models {

/// Writes the model with each number of its weights moved to a neighbor of its type, up, down or
/// not at all, by chance. Zeros stay, and so does all else: initializers of fewer than two
/// dimensions, too, which may be sizes (the scales of Resize) and not quantities. Nothing is asked
/// of operators. External weights are followed.
/// Errors: those of reading and writing models.
core::Status write_moved_weights(const std::filesystem::path& model,
                                 const std::filesystem::path& path, std::uint64_t seed);

}  // namespace soapstone::models
