// The files that a command is to write, looked at before hours of work.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace soapstone::cli {

struct OutputFile {
  std::string_view option;  ///< "--proof"
  std::string path;         ///< Empty or "-": no file.
  bool may_be_input = false;
};

/// None of them may be `input`, nor the same file as another; and each must be writable.
/// Errors: kUsage for the first two, kInvalidInput for the third.
core::Status check_outputs(const std::string& input, std::span<const OutputFile> files);

}  // namespace soapstone::cli
