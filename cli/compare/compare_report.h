// The report of compare-graphs: text for people, JSON for machines.
#pragma once

#include <string>

#include "jobs/compare/compare.h"

namespace soapstone::cli {

std::string compare_text(const jobs::CompareRequest& request, const jobs::CompareOutcome& outcome);
std::string compare_json(const jobs::CompareRequest& request, const jobs::CompareOutcome& outcome);
/// The error that the command ends with if the models differ.
core::Error not_equal(const jobs::CompareRequest& request);
/// And if nobody can say.
core::Error not_decided(const jobs::CompareRequest& request, const jobs::CompareOutcome& outcome);

}  // namespace soapstone::cli
