// See plan_options.h.
#include "cli/plan/plan_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options/device_options.h"
#include "cli/plan/planned_model_options.h"
#include "jobs/base/usage_error.h"
#include "parallel/planning/named.h"

namespace soapstone::cli {
namespace {

constexpr std::int64_t kMostOfAnything = std::int64_t{1} << 31;

void add_picture_options(CommandLine& line, PlanPictures& pictures) {
  line.add("--svg", pictures.svg,
           "Draw a step: what each device or stage does when, the critical path, idle shares, "
           "memory")
      .type("FILE")
      .writes();
  line.add("--trace", pictures.trace, "Write a step as a trace for Perfetto or about:tracing")
      .type("FILE")
      .writes();
}

void add_described_options(CommandLine& line, PlanOptions& options) {
  const auto simulate =
      line.add("--simulate", options.described.simulate,
               "Plan nothing: simulate the plan that this file describes, or each of a list")
          .type("FILE")
          .reads("the described plan");
  line.add("--profiles", options.described.profiles,
           "Times of layers, sizes, devices and links of described plans [profiles.json beside "
           "them]")
      .type("FILE")
      .reads("the profiles")
      .needs(simulate);
  line.add("--only", options.described.only, "Simulate the described plan of this id alone")
      .type("ID")
      .needs(simulate);
  line.add_flag("--require-fit", options.requires_fit,
                "End with 5 if a described plan does not fit into the memory")
      .needs(simulate);
}

/// Takes `recompute=LEVEL` from what is fixed, by its name, or by 0 for nothing and 1 for all.
core::Status take_recompute(std::vector<std::string>& fixed,
                            std::optional<parallel::Recompute>& recompute) {
  constexpr std::string_view kKey = "recompute=";
  const auto given = std::ranges::partition(
      fixed, [&](const std::string& text) { return !text.starts_with(kKey); });
  if (given.size() > 1)
    return jobs::usage_error("`fix`: 'recompute' is there twice", "give each key once");
  if (given.empty()) return core::Done{};
  std::string level = given.front().substr(kKey.size());
  if (level == "0") level = to_string(parallel::Recompute::kNothing);
  if (level == "1") level = to_string(parallel::Recompute::kAll);
  const auto at = std::ranges::find(parallel::kRecomputeNames, level);
  if (at == parallel::kRecomputeNames.end())
    return jobs::usage_error(
        fmt::format("`fix` recompute: there is no level '{}'", level),
        fmt::format("there are {}", fmt::join(parallel::kRecomputeNames, ", ")));
  recompute = static_cast<parallel::Recompute>(at - parallel::kRecomputeNames.begin());
  fixed.erase(given.begin(), given.end());
  return core::Done{};
}

std::string strategy_names() {
  std::vector<std::string> names;
  for (const parallel::NamedStrategy& strategy : parallel::named_strategies())
    names.push_back(strategy.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void add_plan_options(CommandLine& line, PlanOptions& options) {
  jobs::PlanRequest& request = options.request;
  line.add("model", request.model.model, "ONNX file, or the name of a built-in network")
      .type("FILE|NAME")
      .reads("the model");
  line.add("--topology", request.topology,
           "The machine: a preset (k80x4-ib, p100x4-nvlink, dgx-a100xN, dgx-h100xN, dgx-h200xN, "
           "tpu-v2v3, v100-p100, local) or a file")
      .type("NAME|FILE");
  line.add("-o,--output", options.output, "Write the plan").type("FILE").writes();
  line.add("--onnx", options.onnx,
           "Write the model with annotations of which devices hold what (ONNX IR version 11)")
      .type("FILE")
      .writes({.is_regular = true});
  add_picture_options(line, options.pictures);
  add_described_options(line, options);
  add_planned_model_options(line, options.request.model, options.settings);
  const auto train = line.add_flag("--train", request.is_training, "Plan a step of training");
  line.add_flag("--strict", request.is_strict,
                "Refuse a model with operators of which nothing is known");
  line.add_choice("--optimizer", request.optimizer,
                  {{"sgd", parallel::Optimizer::kSgd},
                   {"momentum", parallel::Optimizer::kMomentum},
                   {"adam", parallel::Optimizer::kAdam},
                   {"adamw", parallel::Optimizer::kAdamW}},
                  "What updates the weights")
      .needs(train)
      .shows_default();
  line.add("--precision", options.precision,
           "Plan as if floating tensors had this type [that of the model]")
      .type("TYPE")
      .one_of({"f32", "f16", "bf16"});
  line.add("--strategy", request.strategy, "Plan with a named strategy: " + strategy_names())
      .type("NAME")
      .shows_default();
  line.add_flag("--compare", request.compares, "Also plan with every named strategy");
  line.add_flag("--check", options.checks,
                "Write the programs of ranks that run-plan would run, without weights, and check "
                "that all messages have partners and that the model is computed, at small "
                "sizes if need be");
  line.add("--devices", request.devices, "Use the first N devices [all]")
      .type("N")
      .between(std::int64_t{1}, kMostOfAnything);
  line.add("--memory-limit", options.memory_limit_gib, "GiB that a device may take [what it has]")
      .type("GIB")
      .positive();
  line.add_choice("--attention", request.attention,
                  {{"stored", parallel::Attention::kStored},
                   {"recomputed", parallel::Attention::kRecomputed},
                   {"fused", parallel::Attention::kFused}},
                  "Scores of attention: stored, computed again for gradients, or never in memory")
      .shows_default();
  line.add_choice("--sums", request.sums_behind, {{"beside", false}, {"behind", true}},
                  "Gradients are summed beside the backward pass, or behind it, as in 2018")
      .shows_default();
  line.add("--seed", options.seed,
           "Taken from scripts that give it to every command; nothing in planning is random")
      .type("N");
  line.add("--fix", options.fixed,
           "Give the plan a size: model, any, stages, microbatches, chunks, loss_chunks, bucket "
           "(megabytes); or recompute=LEVEL: nothing (0), attention, cheap, half, all (1)")
      .type("KEY=VALUE")
      .one_each();
  const auto costs =
      line.add_choice<jobs::PlanCosts>(
              "--costs", request.costs,
              {{"estimated", jobs::PlanCosts::kEstimated},
               {"measured", jobs::PlanCosts::kMeasured}},
              "Times of kernels: estimated from the topology's figures, or measured: those in the "
              "cost "
              "database, to which this machine adds its own for devices with the key cpu")
          .type("COSTS")
          .shows_default();
  add_cost_db_option(line, request.device);
  line.add("--measure-time", request.measure_s,
           "Most seconds to measure kernels, and as many to rehearse other strategies")
      .type("S")
      .needs(costs)
      .not_negative()
      .shows_default();
  add_jobs_option(line, request.jobs);
  add_common_options(line, options);
  set_examples(line,
               "  $ plan-graph gpt --topology dgx-a100x1 --train --batch 64 --compare\n"
               "  $ plan-graph model.onnx --topology dgx-h100x8 -o plan.json\n"
               "  $ plan-graph llama --set layers=32 --topology machine.json --precision bf16\n"
               "  $ plan-graph --simulate my_plan.json --profiles profiles.json --svg step.svg");
}

core::Status check_described(const CommandLine& line, const PlanOptions& options) {
  const auto required = [](const char* what) {
    return jobs::usage_error(fmt::format("{} is required", what),
                             "or describe a plan of your own in `simulate`");
  };
  if (!line.was_given("--simulate")) {
    if (options.request.model.model.empty()) return required("model");
    if (options.request.topology.empty()) return required("--topology");
    return core::Done{};
  }
  for (const char* const planning :
       {"model",     "--topology", "--output",  "--onnx",         "--set",       "--batch",
        "--shape",   "--train",    "--strict",  "--optimizer",    "--precision", "--strategy",
        "--compare", "--check",    "--devices", "--memory-limit", "--attention", "--sums",
        "--fix",     "--costs",    "--cost-db", "--measure-time"})
    if (line.was_given(planning))
      return jobs::usage_error(fmt::format("{} is for planning, and with `simulate` nothing is "
                                           "planned",
                                           planning),
                               fmt::format("leave out {} or `simulate`", planning));
  return core::Done{};
}

core::Result<jobs::PlanRequest> plan_request(const PlanOptions& options) {
  jobs::PlanRequest request = options.request;
  SOAPSTONE_RETURN_IF_ERROR(read_assignments("`set`", options.settings, request.model.set));
  std::vector<std::string> sizes = options.fixed;
  SOAPSTONE_RETURN_IF_ERROR(take_recompute(sizes, request.recompute));
  SOAPSTONE_RETURN_IF_ERROR(read_assignments("`fix`", sizes, request.fix));
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  if (options.memory_limit_gib) request.memory_limit_bytes = *options.memory_limit_gib * kGib;
  if (!options.precision.empty()) request.precision = core::parse_data_type(options.precision);
  return request;
}

void add_inspect_plan_options(CommandLine& line, InspectPlanOptions& options) {
  line.add("plan", options.request.plan, "Plan that plan-graph wrote")
      .required()
      .type("FILE")
      .reads("the plan");
  line.add("--model", options.request.model.model,
           "Check that it is a plan of this ONNX file or built-in network")
      .type("FILE|NAME");
  add_picture_options(line, options.pictures);
  line.add("--topology", options.request.topology, "The machine that it is for [that of the plan]")
      .type("NAME|FILE");
  add_planned_model_options(line, options.request.model, options.settings);
  add_common_options(line, options);
  set_examples(line, "  $ inspect-plan plan.json\n"
                     "  $ inspect-plan plan.json --model gpt --batch 64\n"
                     "  $ inspect-plan plan.json --svg step.svg --trace step.json");
}

core::Result<jobs::InspectPlanRequest> inspect_plan_request(const InspectPlanOptions& options) {
  jobs::InspectPlanRequest request = options.request;
  SOAPSTONE_RETURN_IF_ERROR(read_assignments("`set`", options.settings, request.model.set));
  return request;
}

}  // namespace soapstone::cli
