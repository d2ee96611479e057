// See optimize_options.h. A group of options is declared in a function of its own.
#include "cli/optimize/optimize_options.h"

#include <charconv>

#include <fmt/format.h>

#include "cli/options/device_options.h"
#include "cli/options/rule_options.h"
#include "jobs/base/usage_error.h"

namespace soapstone::cli {
namespace {

/// More than any search sees, and exact as a double.
constexpr std::uint64_t kMostGraphs = 1'000'000'000'000'000;

void declare_strategy(CommandLine& line, search::SearchOptions& search) {
  line.add_choice<search::Strategy>(
          "--strategy", search.strategy,
          {{"portfolio", search::Strategy::kPortfolio},
           {"backtracking", search::Strategy::kBacktracking},
           {"eqsat", search::Strategy::kEqsat},
           {"best", search::Strategy::kBest}},
          "portfolio: what finds most in regions of each family, as far as --effort goes; "
          "backtracking: from graph to graph; eqsat: all graphs at once (equality saturation), "
          "with "
          "a bound for what is left to gain; best: both of these")
      .type("KIND")
      .shows_default()
      .for_experts();
  line.add("--eqsat-region", search.eqsat_region_size,
           "Most operators in a region that is saturated; for --strategy eqsat and best")
      .type("N")
      .between(2, 100'000)
      .shows_default()
      .for_experts();
  line.add("--e-nodes", search.eqsat_nodes, "Most e-nodes for one region; likewise")
      .type("N")
      .between(1, 10'000'000)
      .shows_default()
      .for_experts();
  line.add("--patience", search.patience,
           "Graphs to expand in a region of the model after its last gain; for --strategy "
           "backtracking and best")
      .type("N")
      .between(std::uint64_t{0}, kMostGraphs)
      .shows_default()
      .for_experts();
  line.add("--region", search.region_sizes,
           "Most operators in a region that is searched as one; of several, the best result "
           "counts; likewise")
      .type("N ...")
      .between(2, 100'000)
      .shows_default()
      .for_experts();
}

void declare_search(CommandLine& line, OptimizeOptions& options) {
  search::SearchOptions& search = options.request.search;
  line.add("--effort", search.effort,
           "How much is tried: 1 takes a third of the default's time, 5 many times as much; more "
           "effort never gives a worse result")
      .type("1..5")
      .between(1, search::kMostEffort)
      .shows_default();
  line.add("--time", search.time_s, "Seconds to search; 0: as long as the effort takes")
      .type("S")
      .not_negative()
      .shows_default();
  declare_strategy(line, search);
  line.add("--budget", search.budget,
           "Graphs to expand [as many as the effort allows; 20000 with another strategy]")
      .type("N")
      .between(std::uint64_t{0}, kMostGraphs)
      .for_experts();
  line.add("--alpha", search.alpha, "Follow graphs that cost up to this many times the best")
      .type("X")
      .between(1.0, 100.0)
      .shows_default()
      .for_experts();
  line.add("--memory-limit", search.memory_mib, "For the graphs that the search keeps")
      .type("MIB")
      .between(1e-3, 1e9)
      .shows_default()
      .for_experts();
  add_jobs_option(line, options.request.search.jobs);
  add_seed_option(line, options.request.seed);
  line.add_choice<jobs::CostKind>(
          "--costs", options.request.costs,
          {{"measured", jobs::CostKind::kMeasured},
           {"roofline", jobs::CostKind::kRoofline},
           {"taso", jobs::CostKind::kTaso},
           {"runtime", jobs::CostKind::kRuntime}},
          "measured: time kernels on this device; roofline: the same on every machine; taso: "
          "the sum over operators that TASO minimizes; runtime: kernels of the runtime that "
          "--runtime names, timed there")
      .type("KIND")
      .shows_default();
  line.add("--target", options.request.target,
           "Optimize for a device that is not here: a100, h100, h200, or a file that measure-costs "
           "wrote; what was not measured is estimated, and nothing is timed")
      .type("NAME|FILE");
  add_cost_db_option(line, options.request.device);
  add_fusion_option(line, options.request.device.fusion);
  add_device_options(line, options.request.device);
  add_precision_option(line, options.request.device.precision);
  add_runtime_options(line, options.runtime);
  line.add("--measure-time", options.request.measure_s,
           "Most seconds to try changes in the runtime")
      .type("S")
      .not_negative()
      .shows_default();
}

void declare_checks(CommandLine& line, OptimizeOptions& options) {
  line.add("--verify", options.verify,
           "On how many random inputs the result must agree with the original; off: none")
      .type("N|off")
      .shows_default();
  line.add("--inputs", options.request.inputs, "Inputs of your own to check on, too")
      .type("FILE.npz")
      .reads("what --inputs reads");
  add_judge_options(line, options.request.judge);
  line.add_flag(
      "--assume-finite", options.request.assume_finite,
      "Inputs hold no NaN and no infinity: rewrites may let these reach results that they "
      "do not reach in the model");
  line.add_flag(
      "--allow-unchecked", options.request.allow_unchecked,
      "Rewrite what follows operators that are not understood, too, if no runtime that is "
      "there can run them");
  line.add("--rtol", options.request.rtol,
           "Relative tolerance of the check [from the types and from how rounding matters in "
           "the original]")
      .type("X")
      .not_negative();
  line.add("--atol", options.request.atol, "Absolute tolerance of the check [likewise]")
      .type("X")
      .not_negative();
  line.add("--proof", options.request.proof,
           "Write how the result was made, for compare-graphs --proof")
      .type("FILE")
      .writes();
  line.add_flag("--strict", options.request.strict,
                "Refuse models with operators that are not understood");
  line.add("--require-speedup", options.require_speedup, "Exit with 5 below this speedup")
      .type("X")
      .not_negative();
}

void declare_records(CommandLine& line, OptimizeOptions& options) {
  line.add_flag(
          "--explain{-}", options.explain,
          "Tell, place by place, what was there, which rules were applied, what is there now; "
          "=FILE: to a file, as a picture if it is named .svg or .dot")
      .type("[=FILE]")
      .writes();
  line.add("--trace", options.request.trace, "Write what happens as JSON Lines (docs/trace.md)")
      .type("FILE")
      .writes();
  line.add("--resume", options.request.resume,
           "Keep in FILE what was searched; if there is such a file, go on from it")
      .type("FILE")
      .writes();
}

core::Result<int> samples_of(const std::string& verify) {
  if (verify == "off") return 0;
  int samples = 0;
  const char* const end = verify.data() + verify.size();
  const auto [stop, error] = std::from_chars(verify.data(), end, samples);
  if (error != std::errc() || stop != end || samples < 1) {
    return jobs::usage_error(fmt::format("--verify {}: not a number of inputs", verify),
                             "--verify 12, or --verify off");
  }
  return samples;
}

}  // namespace

void add_optimize_options(CommandLine& line, OptimizeOptions& options) {
  line.add("model", options.request.model, "ONNX file").type("FILE").reads("the model");
  line.add("-o,--output", options.request.output, "ONNX file to write")
      .type("FILE")
      .writes({.is_regular = true,
               .overwrite = &options.request.overwrite,
               .is_left_out = &options.request.dry_run});
  line.add_flag("--overwrite", options.request.overwrite,
                "The output may be the model itself, which it then replaces");
  line.add_flag(
      "--fix-shapes", options.request.fix_shapes,
      "Also use what holds only at the sizes given; the result then declares these where the "
      "model leaves them open");
  line.add_flag("--fold-default-inputs", options.request.fold_default_inputs,
                "Make constants of inputs that have a default value: the result has no such input");
  line.add_flag("--dry-run", options.request.dry_run, "Report, but write nothing");
  line.add_flag("--keep-constants", options.request.keep_constants,
                "Write what is computed from weights as nodes, not as its value");
  line.add_flag("--portable", options.portable,
                "Write ONNX's own operators alone, as is the default");
  line.add_flag(
      "--contrib", options.request.contrib,
      "Also try operators that ONNX Runtime adds to those of ONNX: the result may need it");
  add_shape_option(line, options.request.shapes);
  line.add("--batch", options.request.batch,
           "Items in a batch: the first size of inputs that leave it open or have 1 there; the "
           "result keeps it")
      .type("N")
      .between(1, 1 << 20);
  add_objective_options(line, options.objective);
  line.add("--max-growth", options.max_growth,
           "How much larger weights may become, in percent; above 0, 1 MB is free. Weights that "
           "operators of several kinds share stay shared")
      .type("PERCENT")
      .not_negative()
      .shows_default();
  declare_search(line, options);
  add_rule_options(line, options.request.rules);
  line.add_flag("--list-rules", options.list_rules, "Show the rules and what they do");
  declare_checks(line, options);
  declare_records(line, options);
  add_common_options(line, options);
  line.add_help_all();
  set_examples(line,
               "  $ optimize-graph model.onnx -o faster.onnx\n"
               "  $ optimize-graph model.onnx -o faster.onnx --shape input=1x3x224x224 --time 30\n"
               "  $ optimize-graph model.onnx --dry-run --costs roofline --json -\n"
               "  $ optimize-graph --list-rules");
}

void imply_strategy(const CommandLine& line, OptimizeOptions& options) {
  if (line.was_given("--strategy")) return;
  const bool moves = line.was_given("--region") || line.was_given("--patience");
  const bool saturates = line.was_given("--eqsat-region") || line.was_given("--e-nodes");
  if (!moves && !saturates) return;
  options.request.search.strategy = moves && saturates ? search::Strategy::kBest
                                    : moves            ? search::Strategy::kBacktracking
                                                       : search::Strategy::kEqsat;
}

core::Status check_usage(const OptimizeOptions& options) {
  if (options.request.model.empty()) {
    return jobs::usage_error("which model?", "optimize-graph MODEL.onnx -o OUT.onnx");
  }
  if (options.request.output.empty() && !options.request.dry_run) {
    return jobs::usage_error("where should the result go?",
                             "-o OUT.onnx, or --dry-run to write nothing");
  }
  if (options.portable && options.request.contrib) {
    return jobs::usage_error("--portable and --contrib contradict each other",
                             "leave one of them out");
  }
  return core::Done{};
}

core::Result<jobs::OptimizeRequest> request_of(const OptimizeOptions& options) {
  jobs::OptimizeRequest request = options.request;
  SOAPSTONE_ASSIGN_OR_RETURN(request.objective, objective_of(options.objective));
  request.peak_limit_bytes = peak_limit_bytes(options.objective);
  request.growth.share = 0.01 * options.max_growth;
  SOAPSTONE_ASSIGN_OR_RETURN(request.samples, samples_of(options.verify));
  SOAPSTONE_ASSIGN_OR_RETURN(request.runtime,
                             runtime_of(options.runtime, options.request.judge.python));
  request.explain = !options.explain.empty();
  return request;
}

}  // namespace soapstone::cli
