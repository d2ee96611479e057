// The gain of a rule as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "jobs/gains/rule_gain.h"

namespace soapstone::cli {

nlohmann::ordered_json gain_json(const jobs::RuleGain& gain);

}  // namespace soapstone::cli
