// Whether the rules that are kept lead to all equalities that were found, and what is missing.
#pragma once

#include <optional>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "generator/selection/minimize.h"
#include "jobs/base/context.h"
#include "jobs/generate/request.h"

namespace soapstone::jobs {

/// Reduction used each law in its most general form. Where only a narrower form was proved,
/// equalities that leaned on it are uncovered again: they become candidates, and those that can be
/// proved are added to `kept`. None if it was told to stop.
std::optional<Completeness> complete(const std::vector<generator::Enumeration>& found,
                                     const generator::MinimizeOptions& minimize,
                                     const GenerateRequest& request, const Context& context,
                                     std::vector<generator::RuleCandidate>& kept);

}  // namespace soapstone::jobs
