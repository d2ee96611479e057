// inspect(): what there is to say about a model without running it.
#pragma once

#include <string>

#include "jobs/base/context.h"
#include "jobs/inspect/graph_summary.h"
#include "jobs/models/model_files.h"

namespace soapstone::jobs {

struct InspectRequest {
  std::string model;  ///< Path of an ONNX file.
  Shapes shapes;
  runtime::Fusion fusion = runtime::Fusion::kFull;
};

struct InspectOutcome {
  models::OnnxModel model;
  GraphSummary summary;
};

/// Errors: those of reading the model.
core::Result<InspectOutcome> inspect(const InspectRequest& request, const Context& context = {});

}  // namespace soapstone::jobs
