// See gain_json.h.
#include "cli/cost_rules/gain_json.h"

#include <nlohmann/json.hpp>

namespace soapstone::cli {

nlohmann::ordered_json gain_json(const jobs::RuleGain& gain) {
  if (!gain.has_cost()) return {{"pays", false}, {"trials", gain.trials}, {"speedup", nullptr}};
  nlohmann::ordered_json sizes = nlohmann::ordered_json::object(), speedup;  // null: no target
  for (const auto& [name, value] : gain.trial.sizes) sizes[name] = value;
  if (gain.target_us > 0) speedup = gain.speedup();
  return {{"pays", gain.pays()},           {"trials", gain.trials},
          {"speedup", std::move(speedup)}, {"source_us", gain.source_us},
          {"target_us", gain.target_us},   {"spread_us", gain.spread_us},
          {"estimated", gain.estimated},   {"instance", gain.trial.instance},
          {"sizes", std::move(sizes)},     {"constants", gain.trial.constants}};
}

}  // namespace soapstone::cli
