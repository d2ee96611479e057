// A model as rounding might have left it: how far its results are from the original's shows how
// much rounding matters there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "core/base/result.h"

namespace soapstone::models {

/// Writes the model with each number of its weights moved to a neighbor of its type, up, down or
/// not at all, by chance. Zeros stay, and so does all else: initializers of fewer than two
/// dimensions, too, which may be sizes (the scales of Resize) and not quantities. Nothing is asked
/// of operators. External weights are followed.
/// `noisy`: results of nodes, of f32, whose elements become off by up to a unit in their last
/// place, each by chance; names of other things mean nothing.
/// Errors: those of reading and writing models.
core::Status write_moved(const std::filesystem::path& model, const std::filesystem::path& path,
                         std::uint64_t seed, const std::set<std::string>& noisy = {});

}  // namespace soapstone::models
