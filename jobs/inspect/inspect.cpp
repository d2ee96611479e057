// See inspect.h.
#include "jobs/inspect/inspect.h"

#include <utility>

#include "jobs/base/guard.h"

namespace soapstone::jobs {

core::Result<InspectOutcome> inspect(const InspectRequest& request, const Context& context) {
  return guarded(context, [&](const Context& inner) -> core::Result<InspectOutcome> {
    InspectOutcome outcome;
    SOAPSTONE_ASSIGN_OR_RETURN(outcome.model, read_model(request.model, request.shapes, inner));
    outcome.summary = summarize(outcome.model.graph, request.fusion);
    return outcome;
  });
}

}  // namespace soapstone::jobs
