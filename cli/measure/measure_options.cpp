// See measure_options.h.
#include "cli/measure/measure_options.h"

#include "cli/options/device_options.h"
#include "cli/options/rule_options.h"

namespace soapstone::cli {

void add_measure_options(CommandLine& line, MeasureOptions& options) {
  line.add("--models", options.request.models,
           "ONNX files, or built-in networks (build-model --list), with commas between them")
      .type("MODEL,...")
      .separated_by(',')
      .required()
      .reads("the model");
  line.add("-o,--output", options.request.output,
           "File of costs; what is in it already is not measured again")
      .type("FILE.jsonl")
      .required()
      .writes();
  line.add("--time", options.request.time_s, "Seconds for all models together")
      .type("S")
      .positive()
      .shows_default();
  line.add("--effort", options.request.search.effort, "How much the search of a model tries")
      .type("1..5")
      .between(1, search::kMostEffort)
      .shows_default();
  add_device_options(line, options.request.device);
  add_fusion_option(line, options.request.device.fusion);
  add_common_options(line, options);
  set_examples(line,
               "  $ measure-costs --models resnet50,bert_base --device cuda:0 -o h200.jsonl\n"
               "  $ optimize-graph model.onnx --target h200.jsonl -o faster.onnx  # elsewhere");
}

}  // namespace soapstone::cli
