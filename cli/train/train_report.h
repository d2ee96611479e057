// The report of train-graph.
#pragma once

#include <string>

#include "jobs/train/train.h"

namespace soapstone::cli {

std::string train_text(const jobs::TrainOutcome& outcome);
std::string train_json(const jobs::TrainOutcome& outcome);

}  // namespace soapstone::cli
