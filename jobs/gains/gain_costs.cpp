// See gain_costs.h.
#include "cli/gain_costs.h"

#include <nlohmann/json.hpp>

#include "cost/models/measured_cost.h"

namespace soapstone::cli {

core::Result<GainCosts> make_gain_costs(const std::string& kind, const DeviceOptions& device) {
  GainCosts costs;
  if (kind == "roofline") {
    costs.model = cost::make_roofline_cost(device.fusion_level());
    costs.name = kind;
    return costs;
  }
  SOAPSTONE_ASSIGN_OR_RETURN(costs.backend, make_backend(device));
  SOAPSTONE_ASSIGN_OR_RETURN(costs.database, open_costs(device));
  costs.model =
      cost::make_measured_cost(*costs.backend, device.fusion_level(), costs.database.get());
  costs.name = costs.backend->device().key();
  return costs;
}

GainOptions gain_options(const GainCosts& costs, std::uint64_t seed) {
  if (!costs.model->needs_quiet_machine()) return {.seed = seed};
  return {.instances = 2, .sizes = 3, .seed = seed};
}

void add_rank_option(CLI::App& app, std::string& kind) {
  app.add_option("--rank", kind,
                 "Say above each rule what it gains at sizes that networks have: roofline (the "
                 "same everywhere), measured (on this machine), or none")
      ->type_name("COSTS")
      ->check(CLI::IsMember({"roofline", "measured", "none"}).description(""))
      ->capture_default_str();
}

core::Result<nlohmann::ordered_json> note_gains(std::vector<NamedRule>& rules,
                                                const std::string& kind, std::uint64_t seed,
                                                Session& session) {
  auto json = nlohmann::ordered_json::array();
  if (kind == "none") return json;
  session.console.stage("costing");
  SOAPSTONE_ASSIGN_OR_RETURN(const GainCosts costs, make_gain_costs(kind, {}));
  const GainOptions options = gain_options(costs, seed);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    session.console.update(i, rules.size(), rules[i].name);
    SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
    const auto gain = best_gain(rules[i].rule.instances, *costs.model, options);
    rules[i].comment = gain_text(gain, costs.name);
    nlohmann::ordered_json entry = {{"rule", rules[i].name}, {"costs", costs.name}};
    entry.update(gain_json(gain));
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace soapstone::cli
