// See bench_options.h.
#include "cli/bench/bench_options.h"

#include "cli/options/device_options.h"

namespace soapstone::cli {

void add_bench_options(CommandLine& line, BenchOptions& options) {
  line.add("model", options.request.model, "ONNX file").type("FILE").reads("the model");
  line.add("--against", options.request.against,
           "Time another model in turn with it, and give the ratio")
      .type("FILE")
      .reads("what --against reads");
  line.add_flag("--breakdown", options.request.breakdown,
                "Also time each kernel: by the runtime's profile, or each launch alone");
  add_timing_options(line, options.request.rounds, "a model", options.request.time_s, "--time", "");
  add_shape_option(line, options.request.shapes);
  add_runtime_options(line, options.runtime);
  add_python_option(line, options.python);
  add_timing_device_options(line, options.request.device);
  add_precision_option(line, options.request.device.precision);
  line.add("--import-costs", options.import_costs, "Read costs that --export-costs wrote")
      .type("FILE")
      .reads("what --import-costs reads");
  line.add("--export-costs", options.export_costs,
           "Write the database of costs as JSON Lines, for another machine")
      .type("FILE")
      .writes();
  add_seed_option(line, options.request.seed);
  add_common_options(line, options);
  set_examples(line, "  $ bench-graph model.onnx --breakdown\n"
                     "  $ bench-graph model.opt.onnx --against model.onnx\n"
                     "  $ bench-graph model.onnx --runtime openvino --threads 2\n"
                     "  $ bench-graph model.onnx --runtime soapstone --precision bf16\n"
                     "  $ bench-graph --export-costs costs.jsonl");
}

core::Result<jobs::BenchRequest> request_of(const CommandLine& line, const BenchOptions& options) {
  jobs::BenchRequest request = options.request;
  SOAPSTONE_ASSIGN_OR_RETURN(request.runtime, runtime_of(line, options.runtime, options.python));
  return request;
}

}  // namespace soapstone::cli
