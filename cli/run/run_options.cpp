// See run_options.h.
#include "cli/run/run_options.h"

#include "cli/options/device_options.h"
#include "cli/plan/planned_model_options.h"

namespace soapstone::cli {
namespace {

constexpr int kMostSteps = 1'000'000;
constexpr double kShortestWaitS = 0.001, kLongestWaitS = 1e6;

void add_training_options(CommandLine& line, jobs::TrainingSettings& training) {
  line.add("--learning-rate", training.learning_rate, "Of a plan that trains")
      .type("RATE")
      .positive()
      .shows_default();
  const auto checkpoint =
      line.add("--checkpoint", training.checkpoint,
               "Write weights and states of a run that trains (.npz) at its end, or when it is "
               "interrupted")
          .type("FILE")
          .writes();
  line.add("--every", training.every, "Write the checkpoint every N steps, too")
      .type("N")
      .between(1, kMostSteps)
      .needs(checkpoint);
  // It may be the file that the next checkpoint takes the place of.
  line.add("--resume", training.resume, "Go on from a checkpoint, of this plan or another one")
      .type("FILE");
  line.add_flag("--drop-dropout", training.drop_dropout, "Train without the model's dropout");
}

}  // namespace

void add_run_plan_options(CommandLine& line, RunPlanOptions& options) {
  jobs::RunPlanRequest& request = options.request;
  line.add("plan", request.plan, "Plan that plan-graph wrote")
      .required()
      .type("PLAN")
      .reads("the plan");
  line.add("model", request.model.model, "The ONNX file or built-in network that it is of")
      .required()
      .type("FILE|NAME")
      .reads("the model");
  line.add_flag("--virtual", request.is_virtual,
                "Ranks are threads of this process; without it, mpirun -n R starts as many "
                "processes as the plan has devices");
  line.add("--inputs", request.inputs, "Arrays (.npz), one for each input, by name [random ones]")
      .type("FILE")
      .reads("the inputs");
  line.add("--outputs", request.outputs, "Write the results as arrays (.npz), by name")
      .type("FILE")
      .writes();
  line.add("--steps", request.steps,
           "Runs to time, after one that warms up; of a plan that trains, steps")
      .type("N")
      .between(1, kMostSteps)
      .shows_default();
  line.add_flag("--check", request.checks,
                "Compare each rank's results with those of one device; end with 6 if they differ");
  line.add("--timeline", options.timeline,
           "Show a step as it was simulated and below as it was measured: a picture (.svg), or a "
           "trace for Perfetto or about:tracing (any other name)")
      .type("FILE")
      .writes();
  line.add("--topology", request.topology, "The machine that the plan is for [that of the plan]")
      .type("NAME|FILE");
  add_training_options(line, request.training);
  add_planned_model_options(line, request.model, options.settings);
  add_device_options(line, request.device);
  add_fusion_option(line, request.device.fusion);
  line.add("--time-limit", request.time_limit_s, "Most seconds that a rank waits for another one")
      .type("S")
      .between(kShortestWaitS, kLongestWaitS)
      .shows_default();
  add_seed_option(line, request.seed);
  add_common_options(line, options);
  set_examples(line, "  $ run-plan plan.json model.onnx --virtual --check\n"
                     "  $ mpirun -n 4 run-plan plan.json model.onnx --inputs in.npz --outputs "
                     "out.npz\n"
                     "  $ mpirun -n 2 run-plan plan.json resnet50 --batch 8 --steps 20 --timeline "
                     "step.svg\n"
                     "  $ mpirun -n 2 run-plan train.json bert --batch 4 --steps 100 "
                     "--learning-rate 1e-4 --checkpoint bert.npz --every 10");
}

core::Result<jobs::RunPlanRequest> run_plan_request(const RunPlanOptions& options) {
  jobs::RunPlanRequest request = options.request;
  SOAPSTONE_RETURN_IF_ERROR(read_assignments("`set`", options.settings, request.model.set));
  request.tells_step = !options.timeline.empty();
  // A fused kernel rounds less often than two on either side of a cut.
  if (request.device.device == jobs::DeviceKind::kReference)
    request.device.fusion = runtime::Fusion::kNone;
  return request;
}

}  // namespace soapstone::cli
