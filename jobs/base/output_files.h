// The files that a job is to write, looked at before hours of work.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace soapstone::jobs {

struct OutputFile {
  std::string_view name;  ///< What messages call it: "`proof`".
  std::string path;       ///< Empty or "-": no file.
  bool may_be_input = false;
};

/// None of them may be `input` (empty: no file), nor the same file as another; and each must be
/// writable.
/// Errors: kUsage for the first two, kInvalidInput for the third.
core::Status check_outputs(const std::string& input, std::span<const OutputFile> files);

}  // namespace soapstone::jobs
