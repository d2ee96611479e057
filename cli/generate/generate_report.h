// The report of generate-rules: text for people, JSON for machines.
#pragma once

#include <string>

#include "jobs/generate/request.h"

namespace soapstone::cli {

/// `only_counts`: leaves out the list of what was not proved or derived.
std::string generate_text(const jobs::GenerateRequest& request,
                          const jobs::GenerateOutcome& outcome, bool only_counts);
std::string generate_json(const jobs::GenerateOutcome& outcome);

}  // namespace soapstone::cli
