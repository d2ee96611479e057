// See plan_options.h.
#include "cli/arguments/plan_options.h"

namespace soapstone::cli {

void add_plan_options(CommandLine& line, PlanOptions& options) {
  jobs::PlanRequest& request = options.request;
  line.add("model", request.model, "ONNX file, or the name of a built-in network")
      .required()
      .type("FILE|NAME");
  line.add("--topology", request.topology,
           "The machine: a preset (k80x4-ib, p100x4-nvlink, dgx-a100xN, dgx-h100xN, dgx-h200xN, "
           "tpu-v2v3, v100-p100, local) or a file")
      .required()
      .type("NAME|FILE");
  line.add("-o,--output", options.output, "Write the plan").type("FILE");
  line.add("--set", options.settings, "Set a parameter of a built-in network; may be repeated")
      .type("KEY=NUMBER")
      .one_each();
  line.add("--batch", options.batch, "Samples of a step, all devices together").type("N");
  line.add_flag("--train", request.is_training, "Plan a step of training");
  line.add_choice("--optimizer", request.optimizer,
                  {{"sgd", parallel::Optimizer::kSgd},
                   {"momentum", parallel::Optimizer::kMomentum},
                   {"adam", parallel::Optimizer::kAdam}},
                  "What updates the weights")
      .shows_default();
  line.add("--precision", options.precision,
           "Plan as if floating tensors had this type [that of the model]")
      .type("TYPE")
      .one_of({"f32", "f16", "bf16"});
  line.add("--strategy", request.strategy, "Plan with a named strategy instead").type("NAME");
  line.add_flag("--compare", request.compares, "Also plan with every named strategy");
  line.add("--devices", options.devices, "Use the first N devices [all]").type("N");
  line.add("--memory-limit", options.memory_limit_gib, "GiB that a device may take [what it has]")
      .type("GIB")
      .not_negative();
  add_shape_option(line, request.shapes);
  add_jobs_option(line, request.threads);
  add_common_options(line, options);
  set_examples(line,
               "  $ plan-graph gpt --topology dgx-a100x1 --train --batch 64 --compare\n"
               "  $ plan-graph model.onnx --topology dgx-h100x8 -o plan.json\n"
               "  $ plan-graph llama --set layers=32 --topology machine.json --precision bf16");
}

core::Result<jobs::PlanRequest> request_of(const PlanOptions& options) {
  jobs::PlanRequest request = options.request;
  for (const std::string& text : options.settings) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto setting, parse_assignment(text));
    request.settings[setting.first] = setting.second;
  }
  if (options.batch > 0) request.batch = static_cast<std::int64_t>(options.batch);
  if (options.devices > 0) request.devices = static_cast<std::int64_t>(options.devices);
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  if (options.memory_limit_gib > 0) request.memory_limit_bytes = options.memory_limit_gib * kGib;
  if (!options.precision.empty()) request.precision = core::parse_data_type(options.precision);
  return request;
}

}  // namespace soapstone::cli
