// See generate.h. The stages of the pipeline in order: enumerate, reduce, minimize and prove,
// complete, cost, write.
#include "jobs/generate/generate.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/clock.h"
#include "core/base/file_io.h"
#include "generator/generalization/several_results.h"
#include "generator/selection/minimize.h"
#include "generator/vocabulary/presets.h"
#include "jobs/base/guard.h"
#include "jobs/base/usage_error.h"
#include "jobs/gains/gain_costs.h"
#include "jobs/generate/completion.h"
#include "jobs/generate/tile_exchange.h"
#include "jobs/rules/rule_library.h"

namespace soapstone::jobs {
namespace {

core::Result<std::vector<generator::Theme>> themes(const GenerateRequest& request) {
  if (request.operators.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto preset, generator::preset(request.preset));
    return std::move(preset.themes);
  }
  std::set<std::size_t> ranks(request.ranks.begin(), request.ranks.end());
  constexpr std::size_t kMostRanks = 3;
  if (ranks.size() > kMostRanks)
    return usage_error(fmt::format("`ranks` takes {} different ones at most", kMostRanks),
                       "run it once for each few, with `known` for what is there");
  std::vector<std::string> operators;
  for (const std::string& name : request.operators)
    if (std::ranges::find(operators, name) == operators.end()) operators.push_back(name);
  SOAPSTONE_ASSIGN_OR_RETURN(
      auto vocabulary,
      generator::vocabulary_of(operators, std::vector<std::size_t>(ranks.begin(), ranks.end())));
  return std::vector<generator::Theme>{{"operators", std::move(vocabulary), 0}};
}

/// The rules that are there already; of the shipped ones without those that an earlier run made.
core::Result<std::vector<rules::Rule>> known_rules(const GenerateRequest& request,
                                                   const Context& context) {
  std::vector<rules::Rule> known;
  for (const std::string& name : request.known) {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<std::string> files, files_called(name));
    for (const std::string& file : files) {
      if (file != name && std::filesystem::path(file).filename() == kGeneratedRules) continue;
      if (is_own_rule_file(file)) {
        SOAPSTONE_ASSIGN_OR_RETURN(auto believed, read_believed_instances(file, context));
        std::ranges::move(believed, std::back_inserter(known));
        continue;
      }
      SOAPSTONE_ASSIGN_OR_RETURN(RuleFileContents contents, read_rule_file(file));
      std::ranges::move(contents.rules, std::back_inserter(known));
    }
  }
  const auto unproved = std::ranges::count_if(known, [](const rules::Rule& rule) {
    return rule.evidence.kind != rules::Evidence::Kind::kProved;
  });
  if (unproved > 0)
    context.progress.log(core::LogLevel::kWarning,
                         fmt::format("{} of the known rules have no proof; what follows from them "
                                     "is left out all the same",
                                     unproved));
  return known;
}

/// The result of an assistant has no pairs.
core::Result<generator::Enumeration> enumerate_on_ranks(const generator::Theme& theme,
                                                        const GenerateRequest& request,
                                                        const Context& context) {
  generator::EnumerateOptions enumerate;
  enumerate.ops = theme.ops(request.ops);
  enumerate.jobs = request.jobs;
  std::optional<RankTileExchange> exchange;
  if (request.processes != nullptr) {
    enumerate.exchange = &exchange.emplace(*request.processes);
    if (request.jobs == 0) enumerate.jobs = parallel::jobs_of_rank(request.launch);
  }
  enumerate.seed = request.seed;
  enumerate.memory_limit_bytes = request.memory_limit_mb << 20;
  // Tiles of different themes lie apart.
  enumerate.resume_dir = request.resume;
  if (!request.resume.empty() && request.operators.empty()) enumerate.resume_dir /= theme.name;
  enumerate.progress = &context.progress;
  enumerate.stop = &context.stop;
  return generator::enumerate(theme.vocabulary, enumerate);
}

void add(const generator::Enumeration& enumeration, GenerateOutcome& outcome) {
  for (const generator::LevelStatistics& level : enumeration.levels) {
    if (outcome.levels.size() < static_cast<std::size_t>(level.ops))
      outcome.levels.push_back({level.ops, 0, 0, 0});
    generator::LevelStatistics& sum = outcome.levels[static_cast<std::size_t>(level.ops) - 1];
    sum.candidates += level.candidates;
    sum.classes += level.classes;
    sum.pairs += level.pairs;
  }
  outcome.peak_memory_bytes = std::max(outcome.peak_memory_bytes, enumeration.peak_memory_bytes);
}

/// None: gains are not asked for.
core::Result<std::optional<GainCosts>> costs_of(const GenerateRequest& request,
                                                const Context& context) {
  const bool is_wanted = request.gains != GainKind::kNone && !request.is_assistant();
  if (!is_wanted) return std::optional<GainCosts>();
  SOAPSTONE_ASSIGN_OR_RETURN(GainCosts costs,
                             make_gain_costs({request.gains, {}, request.runtime}, context));
  return std::optional(std::move(costs));
}

/// Writes above each rule what it gains; once told to stop it leaves out the rest. Errors:
/// kUnavailable.
core::Status note_gains(const std::optional<GainCosts>& wanted, std::uint64_t seed,
                        const Context& context, GenerateOutcome& outcome) {
  if (!wanted) return core::Done{};
  const GainCosts& costs = *wanted;
  context.progress.stage("costing");
  const GainOptions options = gain_options(costs, seed, context.stop);
  const PairCosts pairs = costs.pairs(context.stop);
  std::vector<NamedRule>& rules = outcome.rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    context.progress.update(i, rules.size(), rules[i].name);
    auto gain = best_gain(rules[i].rule.instances, pairs, options);
    // The rules are whole without their gains.
    outcome.finished = !context.stop.stop_requested();
    if (!outcome.finished) return core::Done{};
    if (!gain) return gain.error();
    rules[i].comment = gain_text(*gain, costs.name);
    outcome.gains.push_back({rules[i].name, costs.name, *std::move(gain)});
  }
  return core::Done{};
}

/// The results of the enumeration for the stages behind it.
struct Found {
  generator::Reducer reducer;
  std::vector<generator::Enumeration> enumerations;  ///< For the check at the end; else empty.
};

core::Status enumerate_all(const GenerateRequest& request, const Context& context, Found& found,
                           GenerateOutcome& outcome) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto worlds, themes(request));
  for (const generator::Theme& theme : worlds) {
    const double begin = core::process_cpu_s();
    context.progress.stage(theme.name);
    SOAPSTONE_ASSIGN_OR_RETURN(auto enumeration, enumerate_on_ranks(theme, request, context));
    if (request.is_assistant()) continue;
    add(enumeration, outcome);
    outcome.enumerate_s += core::process_cpu_s() - begin;
    context.progress.stage("leaving out what follows from simpler equalities");
    found.reducer.add(enumeration);
    if (request.check) found.enumerations.push_back(std::move(enumeration));
  }
  return core::Done{};
}

/// From the equalities that are left to proved rules.
core::Status minimize_and_prove(const GenerateRequest& request, const Context& context,
                                const std::vector<rules::Rule>& known, Found& found,
                                RuleProver& prover, GenerateOutcome& outcome) {
  auto candidates = found.reducer.take_kept();
  auto parts = generator::with_several_results(candidates, request.jobs, context.stop);
  outcome.with_several_results = parts.size();
  std::ranges::move(parts, std::back_inserter(candidates));
  context.progress.stage("minimizing and proving");
  context.announce_results();
  generator::MinimizeOptions minimize;
  minimize.limits = request.limits;
  minimize.jobs = request.jobs;
  minimize.admit = [&](auto chosen) { prover.admit(chosen); };
  minimize.background = found.reducer.constant_laws();
  minimize.background.insert(minimize.background.end(), known.begin(), known.end());
  auto kept = generator::minimize(std::move(candidates), minimize, context.progress, context.stop);
  if (request.check && !context.stop.stop_requested())
    outcome.check = complete(found.enumerations, minimize, request, context, kept);
  outcome.finished = !context.stop.stop_requested();
  context.progress.stage("labeling what is kept");
  prover.label(kept, context.progress, never());
  outcome.minimize_s = core::process_cpu_s() - outcome.enumerate_s - outcome.reduce_s;
  if (!prover.status()) return prover.status().error();
  outcome.kept = kept.size();
  outcome.rules = named_rules(kept);
  return core::Done{};
}

/// The words that make the same file again.
std::string heading(const GenerateRequest& request, bool finished) {
  const std::string what = request.operators.empty()
                               ? "--preset " + request.preset
                               : fmt::format("--operators {}", fmt::join(request.operators, ","));
  const std::string ranks =
      request.ranks.empty() ? "" : fmt::format(" --ranks {}", fmt::join(request.ranks, ","));
  const std::string known =
      request.known.empty() ? "" : fmt::format(" --known {}", fmt::join(request.known, ","));
  std::string rank = request.gains == GainKind::kRoofline
                         ? ""
                         : fmt::format(" --rank {}", to_string(request.gains));
  if (request.gains == GainKind::kMeasured)
    rank += fmt::format(" --runtime {}", to_string(request.runtime));
  const std::string nodes = request.limits.nodes == GenerateRequest{}.limits.nodes
                                ? ""
                                : fmt::format(" --derivation-nodes {}", request.limits.nodes);
  return fmt::format("# Made by `generate-rules --ops {} {}{}{}{}{}{} --seed {}`{}.\n", request.ops,
                     what, ranks, known, rank, nodes, request.check ? " --check" : "", request.seed,
                     finished ? "" : ", which was interrupted");
}

/// A path that cannot be written is reported before hours of work, not after.
core::Status require_writable(const std::string& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto unused, core::AtomicFile::create(path));
  return core::Done{};
}

core::Result<GenerateOutcome> generate_unguarded(const GenerateRequest& request,
                                                 const Context& context) {
  const bool writes = !request.output.empty() && !request.is_assistant();
  if (writes && request.processes == nullptr)
    SOAPSTONE_RETURN_IF_ERROR(require_writable(request.output));
  verifier::BatchOptions batch;
  batch.jobs = request.jobs;
  batch.check_seed = request.seed;
  RuleProver prover(batch, context.stop);
  GenerateOutcome outcome;
  // A runtime that is not there is reported now, too.
  SOAPSTONE_ASSIGN_OR_RETURN(const auto costs, costs_of(request, context));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto known, known_rules(request, context));
  Found found{generator::Reducer({request.jobs, &context.progress, &context.stop}), {}};
  SOAPSTONE_RETURN_IF_ERROR(enumerate_all(request, context, found, outcome));
  if (request.is_assistant()) return outcome;
  outcome.reduced = found.reducer.statistics();
  outcome.reduce_s = core::process_cpu_s() - outcome.enumerate_s;
  SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  SOAPSTONE_RETURN_IF_ERROR(minimize_and_prove(request, context, known, found, prover, outcome));
  if (outcome.finished)
    SOAPSTONE_RETURN_IF_ERROR(note_gains(costs, request.seed, context, outcome));
  outcome.unproved = prover.unproved();
  outcome.prove_ms = prover.cpu_ms();
  outcome.text = rule_file_text(outcome.rules, heading(request, outcome.finished));
  if (writes) SOAPSTONE_RETURN_IF_ERROR(core::write_file(request.output, outcome.text));
  return outcome;
}

}  // namespace

core::Result<GenerateOutcome> generate(const GenerateRequest& request, const Context& context) {
  return guarded(context, [&](const Context& inner) { return generate_unguarded(request, inner); });
}

}  // namespace soapstone::jobs
