// The costs by which commands say what a rule gains.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "cli/device_options.h"
#include "cli/generated_rules.h"
#include "cli/rule_gain.h"
#include "cli/run_main.h"

namespace soapstone::cli {

struct GainCosts {
  std::unique_ptr<runtime::Backend> backend;     ///< Null for the roofline.
  std::unique_ptr<cost::CostDatabase> database;  ///< May be null.
  std::unique_ptr<cost::CostModel> model;
  std::string name;  ///< `roofline`, or the device's key.
};
/// `kind`: roofline or measured. Errors: kUnavailable.
core::Result<GainCosts> make_gain_costs(const std::string& kind, const DeviceOptions& device);
/// Fewer sizes where each is timed.
GainOptions gain_options(const GainCosts& costs, std::uint64_t seed);

/// --rank.
void add_rank_option(CLI::App& app, std::string& kind);
/// Writes above each rule what it gains; the same for machines, one entry a rule. `kind` may be
/// `none`: nothing happens then. Errors: kUnavailable, kInterrupted.
core::Result<nlohmann::ordered_json> note_gains(std::vector<NamedRule>& rules,
                                                const std::string& kind, std::uint64_t seed,
                                                Session& session);

}  // namespace soapstone::cli
