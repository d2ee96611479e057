// What an optimization leaves behind: the model, and how it was made.
#pragma once

#include <filesystem>

#include "cli/optimize_job.h"
#include "cli/optimize_report.h"

namespace soapstone::cli {

/// Writes the graph as it is handed out: constant expressions as their values, unless they are to
/// be kept. Errors: those of folding and writing.
core::Status write_graph(const core::Graph& graph, const models::ModelHeader& header,
                         runtime::Backend& backend, bool keep_constants,
                         const std::filesystem::path& path);

/// Writes what is to be written and says so in `run`.
/// Errors: kInvalidInput if a file cannot be written; kInternal if it came out otherwise than the
/// file that the judge has seen.
core::Status write_result(const OptimizeArguments& options, const OptimizeJob& job,
                          const search::OptimizeReport& report, RunSummary& run, Session& session);

}  // namespace soapstone::cli
