// The files that a job is to write, looked at before hours of work.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace soapstone::jobs {

struct InputFile {
  std::string_view name;  ///< What messages call it: "the model".
  std::string path;       ///< Empty: no file.
};

struct OutputFile {
  std::string_view name;  ///< What messages call it: "`proof`".
  std::string path;       ///< Empty or "-": no file.
  bool may_be_input = false;
  bool is_regular = false;           ///< No device or pipe will do.
  std::string_view permission = {};  ///< The option that sets may_be_input; empty: there is none.
};

/// None of them may be one of the inputs, nor the same file as another; and each must be writable:
/// a file without a name is made in its folder, and is gone afterward.
/// Errors: kUsage for the first two, kInvalidInput for the third.
core::Status check_outputs(std::span<const InputFile> inputs, std::span<const OutputFile> files);

}  // namespace soapstone::jobs
