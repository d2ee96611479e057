// compare-graphs: whether two models compute the same, checked with numbers.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/device_options.h"
#include "cli/file_judge.h"
#include "cli/model_files.h"
#include "cli/proof_check.h"
#include "cli/run_main.h"
#include "cli/table.h"
#include "search/equivalence/equivalence.h"
#include "search/equivalence/judgment.h"
#include "search/equivalence/random_weights.h"

namespace {

using namespace soapstone;  // NOLINT: a main file
using nlohmann::ordered_json;

struct Options : cli::CommonOptions {
  std::string a, b, proof;
  std::vector<std::string> shapes, inputs;
  cli::DeviceOptions device;
  search::EquivalenceOptions equivalence;
  cli::JudgeOptions judge;
  bool random_weights = false, allow_range_changes = false;
};

std::string proof_text(const Options& options, const cli::ProofCheck& proof) {
  return fmt::format(
      "{}: {} steps hold, by {} rules proved here in {:.0f} ms; they lead from {} to "
      "{}\n",
      options.proof, proof.steps, proof.rules, proof.proof_cpu_ms, options.a, options.b);
}

ordered_json proof_json(const std::optional<cli::ProofCheck>& proof) {
  if (!proof) return nullptr;
  return {{"steps", proof->steps},
          {"rules", proof->rules},
          {"proofs", proof->proofs},
          {"proof_cpu_ms", proof->proof_cpu_ms}};
}

std::string judge_text(const search::JudgeReport& judge) {
  if (!judge.looked)
    return fmt::format("no independent runtime has compared them: {}", judge.reason);
  return fmt::format("{} finds them {} on {} samples (largest relative error {:.1e})",
                     judge.runtime, judge.equivalence.equal ? "equal" : "NOT EQUAL",
                     judge.equivalence.samples, judge.equivalence.max_rel_error());
}

std::string difference_text(const search::EquivalenceReport& report, std::string_view by) {
  if (!report.difference) return {};
  const search::Difference& d = *report.difference;
  return fmt::format("{}: on {}, {} {}\n", by, d.input,
                     d.output.empty() ? std::string("it") : "output " + d.output, d.what);
}

std::string report_text(const Options& options, const search::EquivalenceReport& report,
                        const search::JudgeReport& judge) {
  cli::Table table(
      {{"output"}, {"largest error", cli::Align::kRight}, {"relative", cli::Align::kRight}, {""}});
  for (const search::OutputError& output : report.outputs) {
    table.add_row({output.name, fmt::format("{:.2e}", output.max_abs_error),
                   fmt::format("{:.2e}", output.max_rel_error),
                   output.equal ? "equal" : "differs"});
  }
  std::string text = fmt::format("{} and {}: {} on {} samples\n{}\n\n{}", options.a, options.b,
                                 report.equal ? "equal" : "NOT EQUAL", report.samples,
                                 judge_text(judge), table.to_string());
  text += difference_text(report, "first difference here");
  if (judge.looked)
    text += difference_text(judge.equivalence, "first difference in " + judge.runtime);
  const std::size_t overflowed = report.overflowed() + judge.equivalence.overflowed();
  if (overflowed > 0) {
    text +=
        fmt::format("\non inputs up to the ends of their types {} results overflow otherwise in "
                    "{} than in {}\n",
                    overflowed, options.b, options.a);
  }
  if (report.ill_conditioned > 0) {
    text +=
        fmt::format("\non {} samples rounding alone moves the results of {} by more than 5 %: that "
                    "both agree there says little\n",
                    report.ill_conditioned, options.a);
  }
  if (report.cut_nodes > 0) {
    text += fmt::format("\n{} nodes cannot be run here: what they read was compared, and what they "
                        "compute replaced by random numbers.\n",
                        report.cut_nodes);
  }
  return text;
}

ordered_json difference_json(const search::EquivalenceReport& report) {
  if (!report.difference) return nullptr;
  const search::Difference& d = *report.difference;
  return {{"input", d.input}, {"output", d.output}, {"what", d.what}};
}

ordered_json judge_json(const search::JudgeReport& judge) {
  ordered_json json{{"runtime", judge.runtime}, {"looked", judge.looked}};
  if (!judge.looked) {
    json["reason"] = judge.reason;
    return json;
  }
  json["equal"] = judge.equivalence.equal;
  json["samples"] = judge.equivalence.samples;
  json["max_rel_error"] = judge.equivalence.max_rel_error();
  json["difference"] = difference_json(judge.equivalence);
  return json;
}

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json report_json(const Options& options, const search::EquivalenceReport& report,
                         const search::JudgeReport& judge) {
  ordered_json outputs = ordered_json::array();
  for (const search::OutputError& output : report.outputs) {
    outputs.push_back({{"name", output.name},
                       {"equal", output.equal},
                       {"max_abs_error", output.max_abs_error},
                       {"max_rel_error", output.max_rel_error}});
  }
  return {{"a", options.a},
          {"b", options.b},
          {"equal", report.equal},
          {"samples", report.samples},
          {"rtol", number_or_null(options.equivalence.rtol)},
          {"atol", number_or_null(options.equivalence.atol)},
          {"cut_nodes", report.cut_nodes},
          {"ill_conditioned", report.ill_conditioned},
          {"difference", difference_json(report)},
          {"judge", judge_json(judge)},
          {"outputs", outputs}};
}

/// What a runtime that is not ours makes of the two files.
core::Result<search::JudgeReport> ask_judge(const Options& options, const core::Graph& a,
                                            const core::Graph& b, cli::Session& session) {
  // Random weights are in no file.
  if (options.random_weights) return search::JudgeReport{{}, false, "--random-weights", {}};
  SOAPSTONE_ASSIGN_OR_RETURN(cli::IndependentRuntime runtime, cli::start_runtime(options.judge));
  if (!runtime.worker) return search::JudgeReport{{}, false, runtime.why_not, {}};
  const auto judge = cli::FileJudge::of_files(*std::move(runtime.worker), options.a, options.b, a);
  session.console.stage("asking " + judge->runtime());
  return search::Judgment(*judge, a, options.equivalence).run(b, session.console, session.stop);
}

core::Error not_equal(const Options& options) {
  const auto& [rtol, atol] = std::pair(options.equivalence.rtol, options.equivalence.atol);
  return {core::ErrorCode::kNotEquivalent,
          fmt::format("{} does not compute what {} does", options.b, options.a),
          {},
          rtol || atol ? fmt::format("differences up to --rtol {:g} and --atol {:g} are tolerated",
                                     rtol.value_or(0), atol.value_or(0))
                       : "the difference is more than rounding explains; --rtol tolerates more"};
}

core::Status compare(Options& options, cli::Session& session) {
  const bool numbers = options.equivalence.samples > 0 || !options.inputs.empty();
  if (!numbers && options.proof.empty()) {
    return core::Error{core::ErrorCode::kUsage,
                       "there is nothing to compare on",
                       {},
                       "give --samples 1 or more, --inputs or --proof"};
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const models::OnnxModel a,
                             cli::read_model(options.a, options.shapes, session));
  SOAPSTONE_ASSIGN_OR_RETURN(const models::OnnxModel b,
                             cli::read_result(options.b, options.shapes, session));
  if (numbers) {
    SOAPSTONE_RETURN_IF_ERROR(cli::check_can_run(options.a, a.graph));
    SOAPSTONE_RETURN_IF_ERROR(cli::check_can_run(options.b, b.graph));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, cli::make_backend(options.device));
  for (const std::string& path : options.inputs) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto sample, cli::read_inputs(path, a.graph));
    options.equivalence.inputs.push_back(std::move(sample));
  }
  std::optional<cli::ProofCheck> proof;
  if (!options.proof.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(proof,
                               cli::check_proof(options.proof, a, b, options.shapes,
                                                options.allow_range_changes, *backend, session));
  }
  if (!numbers) {
    return session.report(proof_text(options, *proof),
                          {{"a", options.a}, {"b", options.b}, {"proof", proof_json(proof)}});
  }
  session.console.stage("comparing");
  auto pair = options.random_weights
                  ? search::randomize_weights(a.graph, b.graph, options.equivalence.seed)
                  : search::RandomizedPair{a.graph, b.graph};
  SOAPSTONE_ASSIGN_OR_RETURN(const search::EquivalenceReport report,
                             search::check_equivalence(pair.original, pair.rewritten, *backend,
                                                       options.equivalence, session.console,
                                                       session.stop));
  SOAPSTONE_ASSIGN_OR_RETURN(const search::JudgeReport judge,
                             ask_judge(options, a.graph, b.graph, session));
  ordered_json json = report_json(options, report, judge);
  json["proof"] = proof_json(proof);
  std::string text = report_text(options, report, judge);
  if (proof) text += "\n" + proof_text(options, *proof);
  SOAPSTONE_RETURN_IF_ERROR(session.report(text, json));
  if (report.equal && judge.equivalence.equal) return core::Done{};
  return not_equal(options);
}

void declare(CLI::App& app, Options& options) {
  app.add_option("a", options.a, "ONNX file")->required()->type_name("FILE");
  app.add_option("b", options.b, "ONNX file with the same inputs and outputs")
      ->required()
      ->type_name("FILE");
  app.add_option("--samples", options.equivalence.samples, "Random inputs to try")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000).description(""))
      ->capture_default_str();
  app.add_option("--rtol", options.equivalence.rtol,
                 "Tolerated relative error [from the types and from how rounding matters in A]")
      ->type_name("X")
      ->check(cli::not_negative());
  app.add_option("--atol", options.equivalence.atol, "Tolerated absolute error [likewise]")
      ->type_name("X")
      ->check(cli::not_negative());
  cli::add_judge_options(app, options.judge);
  app.add_option("--inputs", options.inputs,
                 "Inputs of your own, an array for each (numpy.savez); may be repeated")
      ->type_name("FILE.npz")
      ->allow_extra_args(false);
  app.add_option("--proof", options.proof,
                 "What optimize-graph --proof wrote: replay it from A to B, and prove each of its "
                 "rules; --samples 0 leaves out the numbers")
      ->type_name("FILE");
  app.add_flag("--allow-range-changes", options.allow_range_changes,
               "With --proof: rules may lose values at the edges of floating types, as where "
               "optimize-graph was allowed to use them");
  app.add_flag(
      "--random-weights", options.random_weights,
      "Random numbers for weights that are one number everywhere, the same in both models; both "
      "must have them (--keep-constants)");
  cli::add_shape_option(app, options.shapes);
  cli::add_seed_option(app, options.equivalence.seed);
  cli::add_device_options(app, options.device);
  cli::add_common_options(app, options);
  cli::set_examples(app,
                    "  $ compare-graphs model.onnx model.opt.onnx\n"
                    "  $ compare-graphs model.onnx model.opt.onnx --proof model.proof\n"
                    "  $ compare-graphs a.onnx b.onnx --samples 100 --rtol 1e-4\n"
                    "  $ compare-graphs a.onnx b.onnx --inputs batch1.npz --inputs batch2.npz");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Checks whether two models compute the same: with numbers, or by replaying a proof.",
               "compare-graphs");
  declare(app, options);
  return cli::run_main(argc, argv, app, options,
                       [&](cli::Session& session) { return compare(options, session); });
}
