// generate-rules: finds all equalities between small graphs of the given operators, keeps those
// that the others do not imply, proves them for all sizes, and writes them as a rule file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/belief.h"
#include "cli/gain_costs.h"
#include "cli/generated_rules.h"
#include "cli/rank_run.h"
#include "cli/rule_files.h"
#include "cli/run_main.h"
#include "core/base/clock.h"
#include "core/base/file_io.h"
#include "generator/generalization/several_results.h"
#include "generator/selection/completeness.h"
#include "generator/selection/minimize.h"
#include "generator/selection/reduce.h"
#include "generator/vocabulary/presets.h"
#include "parallel/tile_exchange.h"

namespace {

using namespace soapstone;  // NOLINT: a main file

struct Options : cli::CommonOptions {
  int ops = 3;
  std::vector<std::string> operators;
  std::string preset = "all";
  std::vector<std::size_t> ranks;
  std::vector<std::string> known;
  std::string output;
  int jobs = 0;
  std::uint64_t seed = 1;
  std::uint64_t memory_limit_mb = 0;
  std::string resume;
  std::string rank = "roofline";
  bool check = false;
  generator::DerivationLimits limits;
  parallel::MpiLaunch launch = parallel::launch_of_environment();
};

/// What --check says.
struct Checked {
  std::size_t derived = 0, no_rules = 0, wrong = 0;
  std::vector<std::string> lost;
  std::vector<generator::RuleCandidate> candidates;  ///< Of what is lost.
};

struct Outcome {
  std::vector<generator::LevelStatistics> levels;
  std::uint64_t peak_memory_bytes = 0;
  generator::ReduceStatistics reduced;
  std::size_t with_several_results = 0, kept = 0;
  std::vector<cli::NamedRule> rules;
  nlohmann::ordered_json gains;
  std::optional<Checked> check;
  double enumerate_s = 0, reduce_s = 0, minimize_s = 0;

  void add(const generator::Enumeration& enumeration) {
    for (const generator::LevelStatistics& level : enumeration.levels) {
      if (levels.size() < static_cast<std::size_t>(level.ops))
        levels.push_back({level.ops, 0, 0, 0});
      generator::LevelStatistics& sum = levels[static_cast<std::size_t>(level.ops) - 1];
      sum.candidates += level.candidates;
      sum.classes += level.classes;
      sum.pairs += level.pairs;
    }
    peak_memory_bytes = std::max(peak_memory_bytes, enumeration.peak_memory_bytes);
  }
};

core::Result<std::vector<generator::Theme>> themes(const Options& options) {
  if (options.operators.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto preset, generator::preset(options.preset));
    return std::move(preset.themes);
  }
  std::set<std::size_t> ranks(options.ranks.begin(), options.ranks.end());
  constexpr std::size_t kMostRanks = 3;
  if (ranks.size() > kMostRanks)
    return core::Error{core::ErrorCode::kUsage,
                       fmt::format("--ranks takes {} different ones at most", kMostRanks),
                       {},
                       "run it once for each few, with --known for what is there"};
  std::vector<std::string> operators;
  for (const std::string& name : options.operators)
    if (std::ranges::find(operators, name) == operators.end()) operators.push_back(name);
  SOAPSTONE_ASSIGN_OR_RETURN(
      auto vocabulary,
      generator::vocabulary_of(operators, std::vector<std::size_t>(ranks.begin(), ranks.end())));
  return std::vector<generator::Theme>{{"operators", std::move(vocabulary), 0}};
}

/// The rules that are there already; of the shipped ones without those that an earlier run made.
core::Result<std::vector<rules::Rule>> known_rules(const Options& options, cli::Session& session) {
  std::vector<rules::Rule> known;
  for (const std::string& name : options.known)
    for (const std::string& file : cli::files_called(name)) {
      if (file != name && std::filesystem::path(file).filename() == cli::kGeneratedRules) continue;
      if (cli::is_own_rule_file(file)) {
        SOAPSTONE_ASSIGN_OR_RETURN(auto believed, cli::read_believed(file, false, session));
        std::ranges::move(believed, std::back_inserter(known));
        continue;
      }
      SOAPSTONE_ASSIGN_OR_RETURN(cli::RuleFileContents contents, cli::read_rule_file(file));
      std::ranges::move(contents.rules, std::back_inserter(known));
    }
  const auto unproved = std::ranges::count_if(known, [](const rules::Rule& rule) {
    return rule.evidence.kind != rules::Evidence::Kind::kProved;
  });
  if (unproved > 0)
    session.console.log(core::LogLevel::kWarning,
                        fmt::format("{} of the known rules have no proof; what follows from them "
                                    "is left out all the same",
                                    unproved));
  return known;
}

/// On ranks other than the first the result has no pairs. `ranks`: null if there are no others.
core::Result<generator::Enumeration> enumerate_on_ranks(const generator::Theme& theme,
                                                        const Options& options,
                                                        cli::Session& session,
                                                        parallel::Ranks* ranks) {
  generator::EnumerateOptions enumerate;
  enumerate.ops = theme.ops(options.ops);
  enumerate.jobs = options.jobs;
  std::optional<parallel::RankTileExchange> exchange;
  if (ranks != nullptr) {
    enumerate.exchange = &exchange.emplace(*ranks);
    if (options.jobs == 0) enumerate.jobs = parallel::jobs_of_rank(options.launch);
  }
  enumerate.seed = options.seed;
  enumerate.memory_limit_bytes = options.memory_limit_mb << 20;
  // Tiles of different themes lie apart.
  enumerate.resume_dir = options.resume;
  if (!options.resume.empty() && options.operators.empty()) enumerate.resume_dir /= theme.name;
  enumerate.progress = &session.console;
  enumerate.stop = &session.stop;
  return generator::enumerate(theme.vocabulary, enumerate);
}

/// Derives all that was found again, from what is kept (in both directions) and what folding knows.
Checked check(const std::vector<generator::Enumeration>& found,
              const std::vector<rules::Rule>& background,
              const std::vector<generator::RuleCandidate>& kept, const Options& options,
              cli::Session& session) {
  session.console.stage("deriving what was found from what is kept");
  rules::SaturationRules rules(background);
  for (const generator::RuleCandidate& candidate : kept)
    generator::add_directions(candidate, rules);
  generator::CompletenessOptions completeness;
  completeness.limits = options.limits;
  completeness.jobs = options.jobs;
  Checked sum;
  for (const generator::Enumeration& enumeration : found) {
    const auto part =
        generator::completeness(enumeration, rules, completeness, session.console, session.stop);
    sum.derived += part.derived;
    sum.no_rules += part.no_rules;
    sum.wrong += part.wrong;
    for (const generator::EqualPair& pair : part.lost) {
      sum.lost.push_back(fmt::format("{} = {}", enumeration.terms.to_string(pair.newcomer),
                                     enumeration.terms.to_string(pair.representative, pair.names)));
      const auto sides = generator::sides_of(enumeration, pair);
      auto candidate =
          sides && !session.stop.stop_requested() ? generator::candidate_of(*sides) : std::nullopt;
      if (candidate) sum.candidates.push_back(*std::move(candidate));
    }
  }
  return sum;
}

/// What is lost where a law was proved in a narrower form than it was used in, or not at all, is
/// taken in again as far as it is proved.
core::Result<Checked> complete(const std::vector<generator::Enumeration>& found,
                               const generator::MinimizeOptions& minimize,
                               std::vector<generator::RuleCandidate>& kept, const Options& options,
                               cli::Session& session) {
  Checked checked = check(found, minimize.background, kept, options, session);
  SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
  if (checked.candidates.empty()) return checked;
  generator::MinimizeOptions again = minimize;
  for (const generator::RuleCandidate& candidate : kept)
    for (const auto* direction : {&candidate.forward, &candidate.backward, &candidate.expansion})
      if (*direction)
        again.background.insert(again.background.end(), (*direction)->instances.begin(),
                                (*direction)->instances.end());
  auto more =
      generator::minimize(std::move(checked.candidates), again, session.console, session.stop);
  SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
  std::ranges::move(more, std::back_inserter(kept));
  checked = check(found, minimize.background, kept, options, session);
  SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
  return checked;
}

core::Status generate(const Options& options, cli::Session& session, parallel::Ranks* ranks,
                      cli::RuleProver& prover, Outcome& outcome) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto known, known_rules(options, session));
  generator::Reducer reducer({options.jobs, &session.console, &session.stop});
  SOAPSTONE_ASSIGN_OR_RETURN(const auto worlds, themes(options));
  std::vector<generator::Enumeration> found;
  for (const generator::Theme& theme : worlds) {
    const double begin = core::process_cpu_s();
    session.console.stage(theme.name);
    SOAPSTONE_ASSIGN_OR_RETURN(auto enumeration,
                               enumerate_on_ranks(theme, options, session, ranks));
    if (options.launch.rank > 0) continue;  // the first rank does the rest
    outcome.add(enumeration);
    outcome.enumerate_s += core::process_cpu_s() - begin;
    session.console.stage("leaving out what follows from simpler equalities");
    reducer.add(enumeration);
    if (options.check) found.push_back(std::move(enumeration));
  }
  if (options.launch.rank > 0) return core::Done{};
  outcome.reduced = reducer.statistics();
  outcome.reduce_s = core::process_cpu_s() - outcome.enumerate_s;
  SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
  auto candidates = reducer.take_kept();
  auto parts = generator::with_several_results(candidates, options.jobs, session.stop);
  outcome.with_several_results = parts.size();
  std::ranges::move(parts, std::back_inserter(candidates));
  session.console.stage("minimizing and proving");
  generator::MinimizeOptions minimize;
  minimize.limits = options.limits;
  minimize.jobs = options.jobs;
  minimize.admit = [&](auto chosen) { prover.admit(chosen); };
  minimize.background = reducer.constant_laws();
  minimize.background.insert(minimize.background.end(), known.begin(), known.end());
  auto kept = generator::minimize(std::move(candidates), minimize, session.console, session.stop);
  if (options.check && !session.stop.stop_requested()) {
    SOAPSTONE_ASSIGN_OR_RETURN(outcome.check, complete(found, minimize, kept, options, session));
  }
  outcome.minimize_s = core::process_cpu_s() - outcome.enumerate_s - outcome.reduce_s;
  SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
  SOAPSTONE_RETURN_IF_ERROR(prover.status());
  outcome.kept = kept.size();
  outcome.rules = cli::named_rules(kept);
  SOAPSTONE_ASSIGN_OR_RETURN(outcome.gains,
                             cli::note_gains(outcome.rules, options.rank, options.seed, session));
  return core::Done{};
}

/// The words that make the same file again.
std::string heading(const Options& options) {
  const std::string what = options.operators.empty()
                               ? "--preset " + options.preset
                               : fmt::format("--operators {}", fmt::join(options.operators, ","));
  const std::string ranks =
      options.ranks.empty() ? "" : fmt::format(" --ranks {}", fmt::join(options.ranks, ","));
  const std::string known =
      options.known.empty() ? "" : fmt::format(" --known {}", fmt::join(options.known, ","));
  const std::string rank = options.rank == "roofline" ? "" : " --rank " + options.rank;
  const std::string nodes = options.limits.nodes == generator::DerivationLimits{}.nodes
                                ? ""
                                : fmt::format(" --derivation-nodes {}", options.limits.nodes);
  return fmt::format("# Made by `generate-rules --ops {} {}{}{}{}{}{} --seed {}`.\n", options.ops,
                     what, ranks, known, rank, nodes, options.check ? " --check" : "",
                     options.seed);
}

std::string report_text(const Options& options, const Outcome& outcome,
                        const cli::RuleProver& prover) {
  const generator::ReduceStatistics& reduced = outcome.reduced;
  std::string text = fmt::format(
      "{} equalities: {} follow from others, {} hold for some sizes or values only, {} cannot be "
      "written as a rule, {} are of constants alone\n"
      "{} candidates and {} with several results; {} kept, {} rules written to {}\n",
      reduced.pairs, reduced.derived, reduced.wrong, reduced.without_rule, reduced.of_constants,
      reduced.kept, outcome.with_several_results, outcome.kept, outcome.rules.size(),
      options.output);
  text +=
      fmt::format("CPU seconds: {:.2f} enumerating, {:.2f} leaving out, {:.2f} minimizing and "
                  "proving ({:.2f} of these proving)\n",
                  outcome.enumerate_s, outcome.reduce_s, outcome.minimize_s, prover.cpu_ms() / 1e3);
  if (const auto& c = outcome.check) {
    text += fmt::format("Of the equalities {} are derived by saturation from what is written, {} "
                        "are no rules, {} are wrong at other sizes or values, {} are not derived\n",
                        c->derived, c->no_rules, c->wrong, c->lost.size());
    if (!options.quiet)
      for (const std::string& lost : c->lost) text += "not derived: " + lost + "\n";
  }
  if (options.quiet || prover.unproved().empty()) return text;
  text += fmt::format("\nNot proved, and left out: {}\n", prover.unproved().size());
  for (const cli::UnprovedRule& u : prover.unproved())
    text += fmt::format("\n# {}: {}\n{}", verifier::to_string(u.kind), u.reason, u.text);
  return text;
}

nlohmann::ordered_json report_json(const Outcome& outcome, const cli::RuleProver& prover) {
  auto levels = nlohmann::ordered_json::array();
  for (const generator::LevelStatistics& level : outcome.levels)
    levels.push_back({{"ops", level.ops},
                      {"candidates", level.candidates},
                      {"classes", level.classes},
                      {"pairs", level.pairs}});
  auto names = nlohmann::ordered_json::array();
  for (const cli::NamedRule& rule : outcome.rules) names.push_back(rule.name);
  nlohmann::ordered_json check;
  if (const auto& c = outcome.check)
    check = {{"derived", c->derived},
             {"no_rules", c->no_rules},
             {"wrong", c->wrong},
             {"not_derived", c->lost}};
  return {{"levels", std::move(levels)},
          {"peak_memory_bytes", outcome.peak_memory_bytes},
          {"equalities", outcome.reduced.pairs},
          {"derived", outcome.reduced.derived},
          {"wrong", outcome.reduced.wrong},
          {"without_rule", outcome.reduced.without_rule},
          {"of_constants", outcome.reduced.of_constants},
          {"candidates", outcome.reduced.kept},
          {"with_several_results", outcome.with_several_results},
          {"kept", outcome.kept},
          {"rules", std::move(names)},
          {"gains", outcome.gains},
          {"check", std::move(check)},
          {"unproved", cli::unproved_json(prover.unproved())},
          {"enumerate_cpu_s", outcome.enumerate_s},
          {"reduce_cpu_s", outcome.reduce_s},
          {"minimize_cpu_s", outcome.minimize_s},
          {"prove_cpu_s", prover.cpu_ms() / 1e3}};
}

/// Before the work is done, not after.
core::Status require_writable(const std::string& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto unused, core::AtomicFile::create(path));
  return core::Done{};
}

core::Status run(const Options& options, cli::Session& session, parallel::Ranks* ranks) {
  verifier::BatchOptions batch;
  batch.jobs = options.jobs;
  batch.check_seed = options.seed;
  cli::RuleProver prover(batch, session.stop);
  Outcome outcome;
  if (ranks == nullptr) SOAPSTONE_RETURN_IF_ERROR(require_writable(options.output));
  SOAPSTONE_RETURN_IF_ERROR(generate(options, session, ranks, prover, outcome));
  if (options.launch.rank > 0) return core::Done{};
  SOAPSTONE_RETURN_IF_ERROR(
      core::write_file(options.output, cli::rule_file_text(outcome.rules, heading(options))));
  return session.report(report_text(options, outcome, prover), report_json(outcome, prover));
}

core::Status run_as_rank(const Options& options, cli::Session& session) {
  const std::size_t cores = parallel::cores_of_process(), all = parallel::cores_of_node();
  if (!options.launch.is_alone() && cores < all)
    session.console.log(core::LogLevel::kWarning,
                        fmt::format("mpirun binds the first rank, which does the last part alone, "
                                    "to {} of {} cores; mpirun --bind-to none does not",
                                    cores, all));
  const std::string hint = options.resume.empty()
                               ? "--resume DIR keeps what is finished"
                               : fmt::format("the same command goes on from '{}'", options.resume);
  return cli::run_on_ranks(options.launch, hint,
                           [&](parallel::Ranks* ranks) { return run(options, session, ranks); });
}

void declare(CLI::App& app, Options& options) {
  app.add_option("--ops", options.ops, "Operators on each side of an equality at most")
      ->type_name("N")
      ->check(CLI::Range(1, 6).description(""))
      ->capture_default_str();
  auto* operators = app.add_option("--operators", options.operators, "Which ones, with commas")
                        ->type_name("A,B,C")
                        ->delimiter(',');
  app.add_option("--preset", options.preset,
                 fmt::format("A set of them: {}", fmt::join(generator::preset_names(), ", ")))
      ->type_name("NAME")
      ->excludes(operators)
      ->capture_default_str();
  app.add_option("--ranks", options.ranks, "How many dimensions the inputs have, with commas")
      ->type_name("N")
      ->delimiter(',')
      ->check(CLI::Range(1, 6).description(""))
      ->needs(operators);
  app.add_option("--known", options.known,
                 "Rule files, with commas, that are there already: what follows from them is left "
                 "out; `shipped`: the shipped ones but generated.rules")
      ->type_name("FILE")
      ->delimiter(',');
  app.add_option("-o,--output", options.output, "The rule file to write")
      ->type_name("FILE")
      ->required();
  app.add_option("--memory-limit", options.memory_limit_mb,
                 "MiB that the tables of the enumeration may take; 0: any")
      ->type_name("MIB");
  app.add_option("--resume", options.resume,
                 "Keep what is finished in this folder, and go on from what is there")
      ->type_name("DIR");
  app.add_option("--derivation-nodes", options.limits.nodes,
                 "E-nodes up to which a derivation is looked for")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  app.add_flag("--check", options.check,
               "Derive all equalities that were found from the rules that are kept, take in again "
               "what that does not reach, and say what is left");
  cli::add_rank_option(app, options.rank);
  cli::add_seed_option(app, options.seed);
  cli::add_jobs_option(app, options.jobs);
  cli::add_common_options(app, options);
  cli::set_examples(app,
                    "  $ generate-rules --ops 3 --preset taso -o taso.rules\n"
                    "  $ generate-rules --ops 3 --operators add,mul,matmul -o algebra.rules\n"
                    "  $ generate-rules --ops 4 --resume tiles -o generated.rules\n"
                    "  $ mpirun --bind-to none -n 2 generate-rules --ops 4 -o generated.rules\n"
                    "  $ optimize-graph model.onnx --rules generated.rules -o fast.onnx");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.is_silent = options.launch.rank > 0;
  CLI::App app("Finds rewrite rules: all equalities between small graphs, less those that others "
               "imply, each proved for all sizes. What is not proved is listed and not written.",
               "generate-rules");
  declare(app, options);
  return cli::run_main(argc, argv, app, options,
                       [&](cli::Session& session) { return run_as_rank(options, session); });
}
