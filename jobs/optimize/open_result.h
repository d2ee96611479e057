// Whether the result of an optimization holds at other sizes than those it was made for: the same
// steps are taken there, and the files compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/optimize/open_judgment.h"
#include "jobs/optimize/optimize_job.h"
#include "models/onnx/open_sizes.h"

namespace soapstone::jobs {

struct OpenResult {
  std::optional<models::OpenExport> file;  ///< None: no size can stay open.
  OpenJudgment judgment;                   ///< Of the file.
  std::vector<core::NodeId> computed;      ///< Constant expressions that the file computes.
  std::string note;  ///< A sentence about what was found; empty: no size was open.
};

/// The chain of the report leads from the model to its graph, in which constants are not folded
/// yet. Takes no part in what is computed at the sizes given: a failure elsewhere means that sizes
/// are declared as they are here.
OpenResult leave_sizes_open(const OptimizeRequest& request, const OptimizeJob& job,
                            const search::OptimizeReport& report, const Context& context);

}  // namespace soapstone::jobs
