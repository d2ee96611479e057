// A plan for people: how each block of the model is cut and what its devices exchange; blocks that
// are alike are told once.
#pragma once

#include <string>

#include "parallel/plans/plan_document.h"

namespace soapstone::cli {

std::string plan_blocks_text(const parallel::PlanDocument& plan);

}  // namespace soapstone::cli
