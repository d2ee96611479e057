// NumPy's archives of arrays (numpy.savez), for inputs of a user's own.
#pragma once

#include <filesystem>
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

}  // namespace soapstone::models
