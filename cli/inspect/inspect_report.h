// The report of inspect-graph: a summary for people, JSON for machines.
#pragma once

#include <string>

#include "jobs/inspect/inspect.h"

namespace soapstone::cli {

std::string summary_text(const jobs::InspectRequest& request, const jobs::InspectOutcome& outcome);
std::string summary_json(const jobs::InspectRequest& request, const jobs::InspectOutcome& outcome);

}  // namespace soapstone::cli
