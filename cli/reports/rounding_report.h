// What rounded factors do to a model, for reports.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "jobs/devices/rounding.h"

namespace soapstone::cli {

/// One line without its end.
std::string rounding_text(const jobs::RoundingError& error);
nlohmann::ordered_json rounding_json(const jobs::RoundingError& error);

}  // namespace soapstone::cli
