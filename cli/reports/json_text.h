// JSON as the commands print it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace soapstone::cli {

/// Indented; bytes that are not UTF-8 (names of tensors may be anything) are replaced.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace soapstone::cli
