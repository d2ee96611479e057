// Files through which tensors and profiles go between us and a worker. The worker may have written
// anything there.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "workers/messages.h"

namespace soapstone::workers {

/// Removes the files that an earlier request, or an earlier process, has left.
void empty_folder(const std::filesystem::path& folder);

/// A file in0.bin, in1.bin, ... for each.
/// Errors: kUnsupported: one does not hold numbers; kUnavailable: it cannot be written.
core::Result<std::vector<TensorFile>> write_tensors(std::span<const NamedTensor> tensors,
                                                    const std::filesystem::path& folder);

/// Errors: kUnavailable: there is no such plain file, or it has another size.
core::Result<core::Literal> read_tensor(const TensorFile& tensor,
                                        const std::filesystem::path& folder);

/// Errors: kUnavailable: there is no such plain file, or it is longer than `most_bytes`.
core::Result<std::string> read_text(const std::filesystem::path& path, std::uintmax_t most_bytes);

}  // namespace soapstone::workers
