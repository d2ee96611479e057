// optimize-graph: finds a faster graph that computes the same, and writes it.
#include <sys/resource.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/device_options.h"
#include "cli/model_files.h"
#include "cli/optimize_report.h"
#include "cli/rule_files.h"
#include "cli/run_main.h"
#include "core/clock.h"
#include "cost/measured_cost.h"
#include "cost/taso_cost.h"
#include "models/npz.h"
#include "search/optimize.h"

namespace {

using namespace soapstone;  // NOLINT: a main file
namespace fs = std::filesystem;

struct Options : cli::CommonOptions {
  std::string model, output;
  std::vector<std::string> shapes;
  cli::DeviceOptions device;
  cli::RuleOptions rules;
  search::SearchOptions search;
  std::string costs = "measured";
  std::string strategy = "backtracking";
  std::string verify = "8";
  std::string inputs;
  std::string proof;
  double rtol = search::EquivalenceOptions{}.rtol;
  double atol = search::EquivalenceOptions{}.atol;
  std::uint64_t seed = 0;
  double require_speedup = 0;
  bool list_rules = false, dry_run = false, strict = false, keep_constants = false;
};

core::Error usage(std::string message, std::string hint = {}) {
  return {core::ErrorCode::kUsage, std::move(message), {}, std::move(hint)};
}

/// The user's arrays in the order of the graph's inputs.
core::Result<std::vector<core::Literal>> read_inputs(const std::string& path,
                                                     const core::Graph& graph) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto arrays, models::read_npz(path));
  std::vector<core::Literal> inputs;
  for (const core::TensorId id : graph.inputs()) {
    const std::string& name = graph.tensor(id).name;
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const auto& array) { return array.first == name; });
    if (found == arrays.end()) {
      return core::invalid_input(fmt::format("has no array for input {}", name),
                                 fmt::format("numpy.savez(file, **{{'{}': array}})", name))
          .at(path);
    }
    inputs.push_back(std::move(found->second));
  }
  return inputs;
}

core::Result<std::optional<search::EquivalenceOptions>> verify_options(const Options& options,
                                                                       const core::Graph& graph) {
  if (options.verify == "off") return std::optional<search::EquivalenceOptions>();
  search::EquivalenceOptions verify;
  verify.samples = std::atoi(options.verify.c_str());
  if (verify.samples < 1) {
    return usage(fmt::format("--verify {}: not a number of inputs", options.verify),
                 "--verify 8, or --verify off");
  }
  verify.rtol = options.rtol;
  verify.atol = options.atol;
  verify.seed = options.seed;
  if (!options.inputs.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto inputs, read_inputs(options.inputs, graph));
    verify.inputs.push_back(std::move(inputs));
  }
  return std::optional(std::move(verify));
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1000;  // kilobytes
}

/// Everything that an optimization needs, made before it starts so that mistakes show at once.
struct Job {
  models::OnnxModel model;
  cli::LoadedRules rules;
  std::vector<std::string> left_out;
  std::unique_ptr<runtime::Backend> backend;
  std::unique_ptr<cost::CostDatabase> database;
  std::unique_ptr<cost::CostModel> cost;
  search::OptimizeOptions optimize;
};

core::Result<Job> prepare(const Options& options, cli::Session& session) {
  Job job;
  SOAPSTONE_ASSIGN_OR_RETURN(job.rules, cli::load_rules(options.rules));
  SOAPSTONE_RETURN_IF_ERROR(cli::refuse_unproved(job.rules, options.rules));
  job.left_out = cli::leave_out_range_changes(job.rules, options.rules);
  // Whoever names rules wants them; of the shipped ones the report tells.
  const bool chosen = !options.rules.files.empty() || !options.rules.only.empty();
  for (const std::string& rule : job.left_out) {
    session.console.log(chosen ? core::LogLevel::kWarning : core::LogLevel::kInfo,
                        fmt::format("rule {} changes the range of floats and is left out; "
                                    "--allow-range-changes uses it",
                                    rule));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(job.model, cli::read_model(options.model, options.shapes, session));
  if (options.strict && !job.model.opaque_nodes.empty()) {
    const models::OpaqueNode& first = job.model.opaque_nodes.front();
    return core::unsupported(fmt::format("{} operators are not understood, first {} ({}): {}",
                                         job.model.opaque_nodes.size(), first.name, first.op_type,
                                         first.reason),
                             "without --strict they are kept as they are")
        .at(options.model);
  }
  for (const models::OpaqueNode& node : job.model.opaque_nodes) {
    session.console.log(core::LogLevel::kWarning,
                        fmt::format("{}: {} ({}) is kept as it is: {}", options.model, node.name,
                                    node.op_type, node.reason));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(job.backend, cli::make_backend(options.device));
  const runtime::Fusion fusion = options.device.fusion_level();
  if (options.costs == "roofline") {
    job.cost = cost::make_roofline_cost(fusion);
  } else if (options.costs == "taso") {
    job.cost = cost::make_taso_cost();
  } else {
    SOAPSTONE_ASSIGN_OR_RETURN(job.database, cli::open_costs(options.device));
    job.cost = cost::make_measured_cost(*job.backend, fusion, job.database.get());
  }
  job.optimize.search = options.search;
  job.optimize.search.strategy = *search::parse_strategy(options.strategy);
  job.optimize.fusion = fusion;
  job.optimize.record_chain = !options.proof.empty();
  job.optimize.measure = options.costs == "measured";
  SOAPSTONE_ASSIGN_OR_RETURN(job.optimize.verify, verify_options(options, job.model.graph));
  return job;
}

core::Status copy_original(const std::string& from, const std::string& to) {
  std::error_code error;
  if (fs::equivalent(from, to, error)) return core::Done{};
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) return core::invalid_input(fmt::format("cannot write: {}", error.message())).at(to);
  return core::Done{};
}

/// What it takes to check the output against the input.
core::Status write_proof(const Options& options, const search::ProofChain& chain) {
  if (options.proof.empty()) return core::Done{};
  std::ofstream file(options.proof, std::ios::binary);
  if (file << search::print(chain) << std::flush) return core::Done{};
  return core::invalid_input("the proof cannot be written", "choose a file in a writable folder")
      .at(options.proof);
}

/// Writes what is to be written and says so in `run`.
core::Status write_result(const Options& options, const Job& job,
                          const search::OptimizeReport& report, cli::RunSummary& run) {
  if (report.outcome == search::Outcome::kNotEquivalent) {
    run.output_note = "it computes something else";
    return core::Done{};
  }
  if (options.dry_run) {
    run.output_note = "dry run";
    return core::Done{};
  }
  run.output = options.output;
  if (report.graph.hash() == report.baseline.hash()) {
    run.output_note = "a copy of the original";
    SOAPSTONE_RETURN_IF_ERROR(copy_original(options.model, options.output));
    search::ProofChain nothing;
    nothing.input = report.chain.input;
    return write_proof(options, nothing);
  }
  core::Graph graph = report.graph;
  search::ProofChain chain = report.chain;
  if (!options.keep_constants) {
    SOAPSTONE_ASSIGN_OR_RETURN(graph, search::fold_constants(report.graph, *job.backend));
    chain.add(search::ChainStep::Kind::kFoldConstants, graph.hash());
  }
  SOAPSTONE_RETURN_IF_ERROR(models::write_onnx(graph, *job.model.header, options.output));
  return write_proof(options, chain);
}

/// What the exit code says once the report is out.
core::Status conclude(const Options& options, const search::OptimizeReport& report) {
  if (report.outcome == search::Outcome::kNotEquivalent) {
    return core::Error{core::ErrorCode::kNotEquivalent,
                       fmt::format("the rewritten model computes something else, first after {}",
                                   report.offending_rule),
                       options.model,
                       fmt::format("nothing was written; --skip {} leaves the rule out, and please "
                                   "report it",
                                   report.offending_rule)};
  }
  if (report.outcome == search::Outcome::kInterrupted) {
    return core::Error{core::ErrorCode::kInterrupted,
                       "interrupted: best result so far was kept",
                       options.model,
                       {}};
  }
  const double speedup =
      report.speedup && report.outcome == search::Outcome::kImproved ? report.speedup->median
      : report.speedup                                               ? 1.0
                       : report.cost_before.total_us / report.cost_after.total_us;
  if (options.require_speedup > 0 && speedup < options.require_speedup) {
    return core::Error{core::ErrorCode::kRequirementNotMet,
                       fmt::format("the speedup is {:.3f}, --require-speedup asks for {:.3f}",
                                   speedup, options.require_speedup),
                       options.model,
                       {}};
  }
  return core::Done{};
}

core::Status run(const Options& options, cli::Session& session) {
  if (options.list_rules) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto loaded, cli::load_rules(options.rules));
    return session.report(cli::rules_text(loaded), cli::rules_json(loaded));
  }
  if (options.model.empty()) return usage("which model?", "optimize-graph MODEL.onnx -o OUT.onnx");
  if (options.output.empty() && !options.dry_run) {
    return usage("where should the result go?", "-o OUT.onnx, or --dry-run to write nothing");
  }
  if (options.dry_run && !options.proof.empty()) {
    return usage("--dry-run writes nothing that --proof could prove", "leave one of them out");
  }
  const auto started = std::chrono::steady_clock::now();
  SOAPSTONE_ASSIGN_OR_RETURN(const Job job, prepare(options, session));
  const rules::RuleSet baseline_rules(job.rules.baseline), search_rules(job.rules.search);
  const verifier::AdmissionOptions admission{.allow_unproved = options.rules.allow_unproved};
  verifier::Admission baseline(baseline_rules, admission), rules(search_rules, admission);
  SOAPSTONE_ASSIGN_OR_RETURN(const search::OptimizeReport report,
                             search::optimize(job.model.graph, baseline, rules, *job.cost,
                                              *job.backend, job.optimize, session.console,
                                              session.stop));
  cli::RunSummary summary;
  summary.model = options.model;
  session.console.stage("writing");
  SOAPSTONE_RETURN_IF_ERROR(write_result(options, job, report, summary));
  summary.costs = job.cost->description();
  summary.left_out = job.left_out;
  summary.device = job.backend->device().key();
  summary.total_cpu_s = core::process_cpu_s();
  summary.total_wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  summary.peak_rss_mb = peak_rss_mb();
  session.console.finish();
  SOAPSTONE_RETURN_IF_ERROR(
      session.report(cli::report_text(report, summary), cli::report_json(report, summary)));
  return conclude(options, report);
}

void declare_strategy(CLI::App& app, Options& options) {
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

void declare_search(CLI::App& app, Options& options) {
  declare_strategy(app, options);
  app.add_option("--budget", options.search.budget, "Graphs to expand")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--time", options.search.time_s, "Seconds to search; 0: no limit")
      ->type_name("S")
      ->check(CLI::NonNegativeNumber.description(""))
      ->capture_default_str();
  app.add_option("--alpha", options.search.alpha,
                 "Follow graphs that cost up to this many times the best")
      ->type_name("X")
      ->check(CLI::Range(1.0, 100.0).description(""))
      ->capture_default_str();
  app.add_option("--patience", options.search.patience,
                 "Graphs to expand in a region of the model after its last gain")
      ->type_name("N")
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
      ->check(CLI::PositiveNumber.description(""))
      ->capture_default_str();
  cli::add_jobs_option(app, options.search.jobs);
  cli::add_seed_option(app, options.seed);
  app.add_option(
         "--costs", options.costs,
         "measured: time kernels on this device; roofline: the same on every machine; taso: "
         "the sum over operators that TASO minimizes")
      ->type_name("KIND")
      ->check(CLI::IsMember({"measured", "roofline", "taso"}).description(""))
      ->capture_default_str();
  cli::add_cost_db_option(app, options.device);
  cli::add_fusion_option(app, options.device);
  cli::add_device_options(app, options.device);
}

void declare_checks(CLI::App& app, Options& options) {
  app.add_option("--verify", options.verify,
                 "On how many random inputs the result must agree with the original; off: none")
      ->type_name("N|off")
      ->capture_default_str();
  app.add_option("--inputs", options.inputs, "Inputs of your own to check on, too")
      ->type_name("FILE.npz");
  app.add_option("--rtol", options.rtol, "Relative tolerance of the check")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber.description(""))
      ->capture_default_str();
  app.add_option("--atol", options.atol, "Absolute tolerance of the check")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber.description(""))
      ->capture_default_str();
  app.add_option("--proof", options.proof,
                 "Write how the result was made, for compare-graphs --proof")
      ->type_name("FILE");
  app.add_flag("--strict", options.strict, "Refuse models with operators that are not understood");
  app.add_option("--require-speedup", options.require_speedup, "Exit with 5 below this speedup")
      ->type_name("X");
}

void declare(CLI::App& app, Options& options) {
  app.add_option("model", options.model, "ONNX file")->type_name("FILE");
  app.add_option("-o,--output", options.output, "ONNX file to write")->type_name("FILE");
  app.add_flag("--dry-run", options.dry_run, "Report, but write nothing");
  app.add_flag("--keep-constants", options.keep_constants,
               "Write what is computed from weights as nodes, not as its value");
  cli::add_shape_option(app, options.shapes);
  declare_search(app, options);
  cli::add_rule_options(app, options.rules);
  app.add_flag("--list-rules", options.list_rules, "Show the rules and what they do");
  declare_checks(app, options);
  cli::add_common_options(app, options);
  cli::set_examples(
      app, "  $ optimize-graph model.onnx -o faster.onnx\n"
           "  $ optimize-graph model.onnx -o faster.onnx --shape input=1x3x224x224 --time 30\n"
           "  $ optimize-graph model.onnx --dry-run --costs roofline --json -\n"
           "  $ optimize-graph --list-rules");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Finds a faster graph that computes the same as an ONNX model, and writes it.",
               "optimize-graph");
  declare(app, options);
  return cli::run_main(argc, argv, app, options,
                       [&](cli::Session& session) { return run(options, session); });
}
