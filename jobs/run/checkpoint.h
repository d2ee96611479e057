// Checkpoints of a run that trains: whole weights and states by name, whatever plan made them, so
// that any plan of the model can go on from them.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "jobs/run/prepared_run.h"
#include "jobs/run/result_check.h"

namespace soapstone::jobs {

/// Results of the model that pieces make up, with their names.
std::vector<std::pair<std::string, core::Literal>>
whole_results(const PreparedRun& prepared, const std::vector<ComputedPiece>& pieces);

/// An archive (.npz) of what the steps have left, and their number. The file is there as a whole or
/// not at all. Errors: those of writing.
core::Status save_checkpoint(const std::string& path, const PreparedRun& prepared,
                             const std::vector<ComputedPiece>& pieces, std::int64_t steps);

/// The run goes on from there. Errors: kInvalidInput if it is no checkpoint, or one of another
/// model or optimizer.
core::Status load_checkpoint(const std::string& path, PreparedRun& prepared);

}  // namespace soapstone::jobs
