// See inspect.h.
#include "jobs/inspect/inspect.h"

#include <utility>

namespace soapstone::jobs {

core::Result<InspectOutcome> inspect(const InspectRequest& request, const Context& context) {
  InspectOutcome outcome;
  SOAPSTONE_ASSIGN_OR_RETURN(outcome.model, read_model(request.model, request.shapes, context));
  outcome.summary = summarize(outcome.model.graph, request.fusion);
  return outcome;
}

}  // namespace soapstone::jobs
