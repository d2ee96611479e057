// What bench-graph tells: tables for people, JSON for machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cost/models/measured_cost.h"
#include "runtime/execution/executor.h"

namespace soapstone::cli {

struct BenchReport {
  struct Model {
    std::string path;
    cost::Timing timing;
    runtime::ExecutableReport executable;
  };
  std::string device;
  runtime::Fusion fusion = runtime::Fusion::kFull;
  std::vector<Model> models;  ///< The one asked for, then the one that it is compared with.
  /// Time of the other over time of the first, of two models.
  std::optional<cost::RatioInterval> ratio;
  std::vector<cost::CostModel::Item> launches;  ///< Of the first; empty: not asked for.
};

std::string bench_text(const BenchReport& report);
nlohmann::ordered_json bench_json(const BenchReport& report);

}  // namespace soapstone::cli
