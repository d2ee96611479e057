// The report of verify-rules --check: text for people, JSON for machines.
#pragma once

#include <string>

#include "jobs/verify/proof_logs.h"

namespace soapstone::cli {

std::string checked_logs_text(const jobs::CheckedLogs& checked);
std::string checked_logs_json(const jobs::CheckedLogs& checked);

}  // namespace soapstone::cli
