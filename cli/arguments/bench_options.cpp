// See bench_options.h.
#include "cli/arguments/bench_options.h"

#include "cli/options/device_options.h"

namespace soapstone::cli {

void add_bench_options(CommandLine& line, BenchOptions& options) {
  line.add("model", options.request.model, "ONNX file").type("FILE");
  line.add("--against", options.request.against,
           "Time another model in turn with it, and give the ratio")
      .type("FILE");
  line.add_flag("--breakdown", options.request.breakdown, "Also time each launch alone");
  line.add("--rounds", options.request.rounds, "Most times that a model is timed")
      .type("N")
      .between(1, 1'000'000)
      .shows_default();
  line.add("--time", options.request.time_s, "Seconds to spend on timing")
      .type("S")
      .not_negative()
      .shows_default();
  add_shape_option(line, options.request.shapes);
  add_device_options(line, options.request.device);
  add_fusion_option(line, options.request.device.fusion);
  add_cost_db_option(line, options.request.device);
  line.add("--import-costs", options.import_costs, "Read costs that --export-costs wrote")
      .type("FILE");
  line.add("--export-costs", options.export_costs,
           "Write the database of costs as JSON Lines, for another machine")
      .type("FILE");
  add_seed_option(line, options.request.seed);
  add_common_options(line, options);
  set_examples(line, "  $ bench-graph model.onnx --breakdown\n"
                     "  $ bench-graph model.opt.onnx --against model.onnx\n"
                     "  $ bench-graph --export-costs costs.jsonl");
}

}  // namespace soapstone::cli
