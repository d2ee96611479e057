// The explanation of a result, for people and for machines.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "jobs/optimize/explained_changes.h"

namespace soapstone::cli {

/// A rule's description and equation stand where it is met first.
std::string explanation_text(const jobs::ExplainedResult& result);
nlohmann::ordered_json explanation_json(const jobs::ExplainedResult& result);
/// The text; or a picture, if the name ends with .dot or .svg.
/// Errors: kInvalidInput if the file cannot be written; kUnavailable without Graphviz.
core::Status write_explanation(const std::filesystem::path& path,
                               const jobs::ExplainedResult& result);

}  // namespace soapstone::cli
