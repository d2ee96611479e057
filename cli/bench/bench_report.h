// The report of bench-graph: tables for people, JSON for machines.
#pragma once

#include <string>

#include "jobs/bench/bench.h"

namespace soapstone::cli {

std::string bench_text(const jobs::BenchOutcome& report);
std::string bench_json(const jobs::BenchOutcome& report);

}  // namespace soapstone::cli
