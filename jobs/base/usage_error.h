// The error of a request whose fields contradict each other, or leave something out.
#pragma once

#include <string>
#include <utility>

#include "core/base/result.h"

namespace soapstone::jobs {

/// Fields of the request are named in backticks, with their words joined by underscores:
/// `keep_constants`. A command shows its options in their place (cli/options/command_line.h).
inline core::Error usage_error(std::string message, std::string hint = {}) {
  return {core::ErrorCode::kUsage, std::move(message), {}, std::move(hint)};
}

}  // namespace soapstone::jobs
