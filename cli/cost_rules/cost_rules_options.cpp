// See cost_rules_options.h.
#include "cli/cost_rules/cost_rules_options.h"

#include "cli/options/device_options.h"

namespace soapstone::cli {

void add_cost_rules_options(CommandLine& line, CostRulesOptions& options) {
  line.add("files", options.request.files, "Rule files, .pb files of TASO among them")
      .type("FILE")
      .required()
      .reads("the rules");
  using jobs::GainKind;
  line.add_choice<GainKind>(
          "--costs", options.request.costs,
          {{"roofline", GainKind::kRoofline}, {"measured", GainKind::kMeasured}},
          "roofline (the same on every machine), or measured (in the runtime) [roofline; with "
          "--runtime measured]")
      .type("COSTS");
  line.add_flag("--time", options.request.time,
                "Also run both sides of what pays, whole and in turn, and give the ratio");
  add_timing_options(line, options.request.rounds, "a side", options.request.time_s, "--time-limit",
                     " a rule");
  add_runtime_options(line, options.runtime);
  add_python_option(line, options.python);
  add_timing_device_options(line, options.request.device);
  add_seed_option(line, options.request.seed);
  add_common_options(line, options);
  set_examples(line, "  $ cost-rules mine.rules\n"
                     "  $ cost-rules mine.rules --runtime onnxruntime --time\n"
                     "  $ cost-rules mine.rules --runtime soapstone\n"
                     "  $ cost-rules mine.rules --json - | jq '.rules[] | select(.pays)'");
}

core::Result<jobs::CostRulesRequest> request_of(const CommandLine& line,
                                                const CostRulesOptions& options) {
  jobs::CostRulesRequest request = options.request;
  SOAPSTONE_ASSIGN_OR_RETURN(request.runtime, runtime_of(line, options.runtime, options.python));
  if (line.was_given("--runtime") && !line.was_given("--costs"))
    request.costs = jobs::GainKind::kMeasured;
  return request;
}

}  // namespace soapstone::cli
