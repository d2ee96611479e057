// The explanation of a result as a picture: each change before and after, side by side.
#pragma once

#include <string>

#include "jobs/optimize/explained_changes.h"

namespace soapstone::cli {

/// Graphviz's DOT language. What is computed from weights alone is dashed.
std::string explanation_dot(const jobs::ExplainedResult& result);

}  // namespace soapstone::cli
