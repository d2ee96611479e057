// Graphs as pictures: Graphviz's DOT language, and SVG by way of its `dot` program.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::cli {

/// Nodes with their attributes and weights, edges with their types; what one launch runs stands in
/// one box, what is folded when the model is loaded is dashed.
std::string dot_text(const core::Graph& graph, runtime::Fusion fusion);

/// `text` for between quotation marks of a DOT file.
std::string dot_escaped(std::string_view text);

/// Errors: kInvalidInput if the file cannot be written.
core::Status write_text(const std::filesystem::path& path, const std::string& text);
/// Errors: kUnavailable if there is no `dot`, or if it fails.
core::Status write_svg(const std::filesystem::path& path, const std::string& dot);

}  // namespace soapstone::cli
