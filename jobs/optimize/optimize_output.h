// Writes the files of an optimization: the model, and the steps that made it.
#pragma once

#include <filesystem>

#include "jobs/optimize/optimize_job.h"
#include "jobs/optimize/outcome.h"

namespace soapstone::jobs {

/// Writes the graph as it is handed out: constant expressions as their values, unless they are to
/// be kept. Errors: those of folding and writing.
core::Status write_graph(const core::Graph& graph, const models::ModelHeader& header,
                         runtime::Backend& backend, bool keep_constants,
                         const std::filesystem::path& path);

/// A judge has seen one file, and another is handed out: it must be the same. A difference removes
/// it. Errors: kInternal. Without a path nobody has seen one.
core::Status require_judged(const std::filesystem::path& judged,
                            const std::filesystem::path& output);

/// Writes what is to be written and says so in `run`.
/// Errors: kInvalidInput if a file cannot be written; kInternal if it came out otherwise than the
/// file that the judge has seen.
core::Status write_result(const OptimizeRequest& request, const OptimizeJob& job,
                          const search::OptimizeReport& report, RunSummary& run,
                          const Context& context);

}  // namespace soapstone::jobs
