// An error as JSON, for --json.
#pragma once

#include <string>

#include "core/base/result.h"

namespace soapstone::cli {

std::string error_json(const core::Error& error);

}  // namespace soapstone::cli
