// What the equivalence checks found, as commands say it.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "search/equivalence/judgment.h"

namespace soapstone::cli {

/// "largest relative error 2.1e-06"; inputs on which rounding hides everything are named apart.
std::string largest_error_text(const search::EquivalenceReport& report);

nlohmann::ordered_json difference_json(const std::optional<search::Difference>& difference);
nlohmann::ordered_json outputs_json(const search::EquivalenceReport& report);
nlohmann::ordered_json judge_json(const search::JudgeReport& judge);

}  // namespace soapstone::cli
