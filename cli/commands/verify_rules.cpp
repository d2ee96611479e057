// verify-rules: are the rules of these files true? Proves them for all sizes, refutes them with an
// example, or says why neither was possible; may write what it found under the rules.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/derivability_report.h"
#include "cli/device_options.h"
#include "cli/mutation_report.h"
#include "cli/proof_logs.h"
#include "cli/rule_files.h"
#include "cli/run_main.h"
#include "cli/verify_report.h"
#include "core/base/file_io.h"
#include "rules/text/evidence.h"
#include "verifier/batch.h"
#include "verifier/questions/z3_solver.h"
#include "verifier/refutation/second_opinion.h"

namespace {

using namespace soapstone;  // NOLINT: a main file
using verifier::RuleVerdict;
using verifier::VerdictKind;

struct Options : cli::CommonOptions {
  std::vector<std::string> files;
  verifier::BatchOptions batch;
  bool write = false;
  bool second_opinion = false, no_second_opinion = false;
  std::size_t mutants = 0;
  std::string proofs, check;
  cli::DerivabilityCommand derivability;
};

/// Numbers in a prime field and on the kernels of this machine, for one thread.
verifier::SecondLook make_second_look() {
  auto made = cli::make_backend({});
  const std::shared_ptr<runtime::Backend> backend =
      made ? *std::move(made) : runtime::make_reference_backend();
  return [backend](const rules::Rule& rule) -> verifier::SecondLookResult {
    const auto opinion = verifier::second_opinion(rule, *backend);
    if (!opinion) return {};  // no sizes that it could look at
    return {opinion->field_sizes + opinion->float_sizes, opinion->disagreement};
  };
}

/// The shipped files if none is given.
std::vector<std::string> files_of(const Options& options) {
  if (!options.files.empty()) return options.files;
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(cli::rules_folder(), error))
    if (entry.path().extension() == ".rules") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

core::Status write_evidence(const std::string& file, const std::vector<RuleVerdict>& verdicts) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  std::vector<rules::EvidenceEdit> edits;
  for (const RuleVerdict& v : verdicts)
    if (v.file == file) edits.push_back({v.line, cli::evidence_of(v)});
  const std::string updated = rules::with_evidence(text.str(), edits);
  if (updated == text.str()) return core::Done{};
  return core::write_file(file, updated);
}

/// The worst that can be found: it outweighs every verdict.
core::Status refuse_disagreement(const std::vector<RuleVerdict>& verdicts) {
  const auto disputed = [](const RuleVerdict& v) { return !v.disagreement.empty(); };
  const auto first = std::ranges::find_if(verdicts, disputed);
  if (first == verdicts.end()) return core::Done{};
  const auto others = std::ranges::count_if(verdicts, disputed) - 1;
  return core::Error{core::ErrorCode::kInternal,
                     fmt::format("{} was proved, but {}{}", first->instance, first->disagreement,
                                 others > 0 ? fmt::format("; so were {} other rules", others) : ""),
                     fmt::format("{}:{}", first->file.string(), first->line),
                     "this is a fault of the prover: please report it with the rule"};
}

core::Status conclude(const std::vector<RuleVerdict>& verdicts) {
  SOAPSTONE_RETURN_IF_ERROR(refuse_disagreement(verdicts));
  const auto count = [&](VerdictKind kind) {
    return std::ranges::count(verdicts, kind, &RuleVerdict::kind);
  };
  if (const auto refuted = count(VerdictKind::kRefuted); refuted > 0)
    return core::Error{core::ErrorCode::kRequirementNotMet,
                       fmt::format("{} of {} rules are refuted", refuted, verdicts.size()),
                       {},
                       "the report says where the two sides differ"};
  if (const auto unknown = count(VerdictKind::kUnknown); unknown > 0)
    return core::Error{
        core::ErrorCode::kUnsupported,
        fmt::format("{} of {} rules are neither proved nor refuted", unknown, verdicts.size()),
        {},
        "the report says why; optimize-graph does not use them"};
  return core::Done{};
}

/// One file for each rule of which all instances are proved: `layout.transpose_twice.proof`.
core::Status write_proofs(const std::string& folder, const std::vector<RuleVerdict>& verdicts) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const RuleVerdict& v : verdicts) {
    if (v.kind != VerdictKind::kProved) continue;
    const auto path =
        std::filesystem::path(folder) / fmt::format("{}.{}.proof", v.file.stem().string(), v.rule);
    SOAPSTONE_RETURN_IF_ERROR(core::write_file(path, verifier::print_proofs(v.proofs)));
  }
  return core::Done{};
}

core::Status verify(const Options& options, cli::Session& session) {
  const std::vector<std::string> files = files_of(options);
  std::vector<rules::Rule> all;
  std::vector<RuleVerdict> skipped;
  for (const std::string& file : files) {
    session.console.stage("reading " + file);
    SOAPSTONE_ASSIGN_OR_RETURN(auto contents, cli::read_rule_file(file));
    std::ranges::move(contents.rules, std::back_inserter(all));
    for (auto& [rule, reason] : contents.skipped) {
      RuleVerdict verdict;
      verdict.rule = verdict.instance = std::move(rule);
      verdict.file = file;
      verdict.reason = std::move(reason);
      skipped.push_back(std::move(verdict));
    }
  }
  session.console.stage(fmt::format("proving {} rules", all.size()));
  if (options.write || !options.proofs.empty()) session.keep_results();
  verifier::BatchOptions batch = options.batch;
  batch.verify.keep_record = !options.proofs.empty();
  const bool look_twice = options.second_opinion || options.write;
  if (look_twice && !options.no_second_opinion) batch.make_second_look = make_second_look;
  auto verdicts = verifier::verify_all(all, batch, session.console, session.stop);
  std::ranges::move(skipped, std::back_inserter(verdicts));
  if (options.write)
    for (const std::string& file : files) SOAPSTONE_RETURN_IF_ERROR(write_evidence(file, verdicts));
  if (!options.proofs.empty()) SOAPSTONE_RETURN_IF_ERROR(write_proofs(options.proofs, verdicts));
  SOAPSTONE_RETURN_IF_ERROR(session.report(cli::verdicts_text(verdicts, options.quiet),
                                           {{"rules", cli::verdicts_json(verdicts)}}));
  SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
  return conclude(verdicts);
}

core::Result<std::vector<rules::Rule>> read_rules(const Options& options) {
  std::vector<rules::Rule> all;
  for (const std::string& file : files_of(options)) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto contents, cli::read_rule_file(file));
    std::ranges::move(contents.rules, std::back_inserter(all));
  }
  return all;
}

core::Status derive(const Options& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto all, read_rules(options));
  cli::DerivabilityCommand command = options.derivability;
  command.options.jobs = options.batch.jobs;
  command.options.seed = options.batch.check_seed;
  return cli::report_derivability(all, command, options.quiet, session);
}

core::Status mutate(const Options& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto all, read_rules(options));
  return cli::mutate(
      all, {options.mutants, options.batch.check_seed, options.batch.jobs, options.verbose},
      session);
}

core::Status run(const Options& options, cli::Session& session) {
  if (options.mutants > 0) return mutate(options, session);
  if (!options.derivability.from.empty()) return derive(options, session);
  if (!options.check.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto all, read_rules(options));
    return cli::check_logs(options.check, all, options.batch.specializations, session);
  }
  const auto foreign = std::ranges::find_if_not(options.files, cli::is_own_rule_file);
  if (options.write && foreign != options.files.end())
    return core::Error{core::ErrorCode::kUsage,
                       "--write cannot put evidence into a file of another system", *foreign,
                       "leave out --write"};
  return verify(options, session);
}

void declare(CLI::App& app, Options& options) {
  app.add_option("files", options.files,
                 "Rule files, .pb files of TASO among them; none: the shipped ones")
      ->type_name("FILE");
  app.add_option("--sizes", options.batch.check_sizes,
                 "Random sizes at which numbers are compared for each rule, over all of its "
                 "instances, 20 at least for one")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  app.add_option(
         "--edge-tries", options.batch.edge_tries,
         "Inputs at the edges of f32, f16 and bf16 on which each rule is tried, over all of "
         "its instances, 64 at least for one; an eighth for rules that keep every bit")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000'000).description(""))
      ->capture_default_str();
  app.add_flag("--write", options.write,
               "Put what was found under the rules: a proof, or that they were checked");
  auto* twice = app.add_flag("--second-opinion", options.second_opinion,
                             "Try each proved rule with numbers on the kernels of this machine, "
                             "too; --write does");
  app.add_flag("--no-second-opinion", options.no_second_opinion, "Leave that out with --write")
      ->excludes(twice);
  app.add_option("--proofs", options.proofs,
                 "Write a log of each proof there, by which it can be checked again")
      ->type_name("DIR");
  app.add_option("--check", options.check,
                 "Instead, check that the proofs that are logged there prove these rules: no "
                 "search, only what was found")
      ->type_name("DIR");
  app.add_option("--mutate", options.mutants,
                 "Instead, make that many wrong rules of these and see that none is proved")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000'000).description(""));
  cli::add_derivability_options(app, options.derivability);
  cli::add_seed_option(app, options.batch.check_seed);
  cli::add_jobs_option(app, options.batch.jobs);
  cli::add_common_options(app, options);
  cli::set_examples(app, "  $ verify-rules\n"
                         "  $ verify-rules mine.rules --write\n"
                         "  $ verify-rules mine.rules --sizes 1000 --seed 7\n"
                         "  $ verify-rules graph_subst.pb -q\n"
                         "  $ verify-rules mine.rules --proofs logs && "
                         "verify-rules mine.rules --check logs\n"
                         "  $ verify-rules --mutate 10000\n"
                         "  $ verify-rules graph_subst.pb --derivable-from shipped\n"
                         "  $ verify-rules mine.rules --json - | jq '.rules[] | .verdict'");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Proves rewrite rules for all sizes, or refutes them with an example. What is "
               "neither is unknown, and not used. Exit codes: 0 all are proved, 5 one is refuted, "
               "4 one is unknown.",
               "verify-rules");
  declare(app, options);
  return cli::run_main(argc, argv, app, options,
                       [&](cli::Session& session) { return run(options, session); });
}
