// See optimize_options.h. A group of options is declared in a function of its own.
#include "cli/optimize_options.h"

#include "cli/output_files.h"

namespace soapstone::cli {
namespace {

/// More than any search sees, and exact as a double.
constexpr std::uint64_t kMostGraphs = 1'000'000'000'000'000;

core::Error usage(std::string message, std::string hint = {}) {
  return {core::ErrorCode::kUsage, std::move(message), {}, std::move(hint)};
}

void declare_strategy(CLI::App& app, OptimizeArguments& options) {
  search::SearchOptions& search = options.search;
  app.add_option("--strategy", options.strategy,
                 "backtracking: from graph to graph; eqsat: all graphs at once (equality "
                 "saturation), with a bound for what is left to gain; best: both")
      ->type_name("KIND")
      ->check(CLI::IsMember({"backtracking", "eqsat", "best"}).description(""))
      ->capture_default_str();
  app.add_option("--eqsat-region", search.eqsat_region_size,
                 "Most operators in a region that is saturated")
      ->type_name("N")
      ->check(CLI::Range(2, 100'000).description(""))
      ->capture_default_str();
  app.add_option("--e-nodes", search.eqsat_nodes, "Most e-nodes for one region")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000'000).description(""))
      ->capture_default_str();
}

void declare_search(CLI::App& app, OptimizeArguments& options) {
  declare_strategy(app, options);
  app.add_option("--budget", options.search.budget, "Graphs to expand")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{0}, kMostGraphs).description(""))
      ->capture_default_str();
  app.add_option("--time", options.search.time_s, "Seconds to search; 0: no limit")
      ->type_name("S")
      ->check(not_negative())
      ->capture_default_str();
  app.add_option("--alpha", options.search.alpha,
                 "Follow graphs that cost up to this many times the best")
      ->type_name("X")
      ->check(number_between(1, 100))
      ->capture_default_str();
  app.add_option("--patience", options.search.patience,
                 "Graphs to expand in a region of the model after its last gain")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{0}, kMostGraphs).description(""))
      ->capture_default_str();
  app.add_option(
         "--region", options.search.region_sizes,
         "Most operators in a region that is searched as one; of several, the best result counts")
      ->type_name("N ...")
      ->check(CLI::Range(2, 100'000).description(""))
      ->capture_default_str();
  app.add_option("--memory-limit", options.search.memory_mib,
                 "For the graphs that the search keeps")
      ->type_name("MIB")
      ->check(number_between(1e-3, 1e9))
      ->capture_default_str();
  add_jobs_option(app, options.search.jobs);
  add_seed_option(app, options.seed);
  app.add_option(
         "--costs", options.costs,
         "measured: time kernels on this device; roofline: the same on every machine; taso: "
         "the sum over operators that TASO minimizes")
      ->type_name("KIND")
      ->check(CLI::IsMember({"measured", "roofline", "taso"}).description(""))
      ->capture_default_str();
  add_cost_db_option(app, options.device);
  add_fusion_option(app, options.device);
  add_device_options(app, options.device);
}

void declare_checks(CLI::App& app, OptimizeArguments& options) {
  app.add_option("--verify", options.verify,
                 "On how many random inputs the result must agree with the original; off: none")
      ->type_name("N|off")
      ->capture_default_str();
  app.add_option("--inputs", options.inputs, "Inputs of your own to check on, too")
      ->type_name("FILE.npz");
  add_judge_options(app, options.judge);
  app.add_flag("--allow-unchecked", options.allow_unchecked,
               "Rewrite what follows operators that are not understood, too, if no runtime that is "
               "there can run them");
  app.add_option("--rtol", options.rtol,
                 "Relative tolerance of the check [from the types and from how rounding matters in "
                 "the original]")
      ->type_name("X")
      ->check(not_negative());
  app.add_option("--atol", options.atol, "Absolute tolerance of the check [likewise]")
      ->type_name("X")
      ->check(not_negative());
  app.add_option("--proof", options.proof,
                 "Write how the result was made, for compare-graphs --proof")
      ->type_name("FILE");
  app.add_flag("--strict", options.strict, "Refuse models with operators that are not understood");
  app.add_option("--require-speedup", options.require_speedup, "Exit with 5 below this speedup")
      ->type_name("X")
      ->check(not_negative());
}

void declare_records(CLI::App& app, OptimizeArguments& options) {
  app.add_flag("--explain{-}", options.explain,
               "Tell, place by place, what was there, which rules were applied, what is there now; "
               "=FILE: to a file, as a picture if it is named .svg or .dot")
      ->type_name("[=FILE]");
  app.add_option("--trace", options.trace, "Write what happens as JSON Lines (docs/trace.md)")
      ->type_name("FILE");
  app.add_option("--resume", options.resume,
                 "Keep in FILE what was searched; if there is such a file, go on from it")
      ->type_name("FILE");
}

/// The output may be the model itself: who asks for that wants it replaced.
core::Status check_files(const OptimizeArguments& arguments) {
  const OutputFile files[] = {{"--output", arguments.dry_run ? "" : arguments.output, true},
                              {"--proof", arguments.proof},
                              {"--json", arguments.json},
                              {"--explain", arguments.explain},
                              {"--trace", arguments.trace},
                              {"--resume", arguments.resume}};
  return check_outputs(arguments.model, files);
}

}  // namespace

void add_optimize_options(CLI::App& app, OptimizeArguments& arguments) {
  app.add_option("model", arguments.model, "ONNX file")->type_name("FILE");
  app.add_option("-o,--output", arguments.output, "ONNX file to write")->type_name("FILE");
  app.add_flag("--dry-run", arguments.dry_run, "Report, but write nothing");
  app.add_flag("--keep-constants", arguments.keep_constants,
               "Write what is computed from weights as nodes, not as its value");
  add_shape_option(app, arguments.shapes);
  add_objective_options(app, arguments.objective);
  declare_search(app, arguments);
  add_rule_options(app, arguments.rules);
  app.add_flag("--list-rules", arguments.list_rules, "Show the rules and what they do");
  declare_checks(app, arguments);
  declare_records(app, arguments);
  add_common_options(app, arguments);
  set_examples(app,
               "  $ optimize-graph model.onnx -o faster.onnx\n"
               "  $ optimize-graph model.onnx -o faster.onnx --shape input=1x3x224x224 --time 30\n"
               "  $ optimize-graph model.onnx --dry-run --costs roofline --json -\n"
               "  $ optimize-graph --list-rules");
}

core::Status check_usage(const OptimizeArguments& arguments) {
  if (arguments.model.empty()) {
    return usage("which model?", "optimize-graph MODEL.onnx -o OUT.onnx");
  }
  if (arguments.output.empty() && !arguments.dry_run) {
    return usage("where should the result go?", "-o OUT.onnx, or --dry-run to write nothing");
  }
  if (arguments.dry_run && !arguments.proof.empty()) {
    return usage("--dry-run writes nothing that --proof could prove", "leave one of them out");
  }
  return check_files(arguments);
}

}  // namespace soapstone::cli
