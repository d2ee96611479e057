// NumPy's archives of arrays (numpy.savez), for inputs of a user's own and for results.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/literal.h"

namespace soapstone::models {

/// The arrays with their names, in the order of the archive. Both savez and savez_compressed.
/// Errors: kInvalidInput: not an archive, a broken array, Fortran order, an element type without
/// an equivalent here.
core::Result<std::vector<std::pair<std::string, core::Literal>>>
read_npz(const std::filesystem::path& path);

/// The array as elements of that type: itself, or f32 as bf16, which NumPy does not have. None: it
/// has elements of another type.
std::optional<core::Literal> with_type(const core::Literal& array, core::DataType type);

/// Writes the arrays in their order, without compression; the same bytes for the same arrays. bf16,
/// which NumPy does not have, becomes f32. Errors: kInvalidInput: the file cannot be written;
/// kUnsupported: elements that are no numbers.
core::Status write_npz(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, core::Literal>>& arrays);

}  // namespace soapstone::models
