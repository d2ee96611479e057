// See cost_rules_options.h.
#include "cli/arguments/cost_rules_options.h"

#include "cli/options/device_options.h"

namespace soapstone::cli {

void add_cost_rules_options(CommandLine& line, CostRulesOptions& options) {
  line.add("files", options.request.files, "Rule files, .pb files of TASO among them")
      .type("FILE")
      .required();
  using jobs::GainKind;
  line.add_choice<GainKind>("--costs", options.request.costs,
                            {{"roofline", GainKind::kRoofline}, {"measured", GainKind::kMeasured}},
                            "roofline (the same on every machine), or measured (on the device)")
      .type("COSTS")
      .shows_default();
  line.add_flag("--time", options.request.time,
                "Also run both sides of what pays, whole and in turn, and give the ratio");
  add_timing_options(line, options.request.rounds, "a side", options.request.time_s, "--time-limit",
                     " a rule");
  add_timing_device_options(line, options.request.device);
  add_seed_option(line, options.request.seed);
  add_common_options(line, options);
  set_examples(line, "  $ cost-rules mine.rules\n"
                     "  $ cost-rules mine.rules --costs measured --time\n"
                     "  $ cost-rules mine.rules --json - | jq '.rules[] | select(.pays)'");
}

}  // namespace soapstone::cli
