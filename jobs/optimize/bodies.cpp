// See bodies.h. A body runs through the whole job: with its own search, trials and checks.
#include "jobs/optimize/bodies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/private_folder.h"
#include "jobs/optimize/body_surroundings.h"
#include "jobs/optimize/open_judgment.h"
#include "jobs/optimize/optimize.h"
#include "jobs/optimize/optimize_output.h"
#include "models/onnx/bodies.h"
#include "models/onnx/open_sizes.h"

namespace soapstone::jobs {
namespace {

namespace fs = std::filesystem;

/// Says in which body the job is. Warnings name files that nobody has seen, and the report says
/// what matters of them.
class BodyProgress final : public core::ProgressSink {
 public:
  BodyProgress(core::ProgressSink& next, std::string where)
      : next_(next), where_(std::move(where)) {}
  void stage(std::string_view name) override { next_.stage(fmt::format("{}: {}", where_, name)); }
  void update(std::uint64_t done, std::uint64_t total, std::string_view note) override {
    next_.update(done, total, note);
  }
  void log(core::LogLevel, std::string_view) override {}

 private:
  core::ProgressSink& next_;
  const std::string where_;
};

/// Why the result of a body's job is the body itself.
std::string why_unchanged(const search::OptimizeReport& report) {
  switch (report.outcome) {
  case search::Outcome::kNotEquivalent:
    return fmt::format("what was found computes something else, first after {}",
                       report.offending_rule);
  case search::Outcome::kGainNotReal:
    return "what was found is not faster when timed";
  case search::Outcome::kInterrupted:
    return "the run was interrupted";
  default:
    return "no faster graph found";
  }
}

/// The whole model may do what rules within its bodies may do.
void widen(search::Latitude& all, const search::Latitude& one) {
  all.may_overflow = all.may_overflow || one.may_overflow;
  all.may_recover = all.may_recover || one.may_recover;
  all.may_lose = all.may_lose || one.may_lose;
}

class BodiesJob {
 public:
  BodiesJob(const OptimizeRequest& request, const OptimizeJob& job, search::OptimizeReport& report,
            RunSummary& run, const Context& context)
      : request_(request), job_(job), report_(report), run_(run), context_(context) {}

  core::Status run() {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto folder, core::PrivateFolder::make());
    folder_ = folder.path();
    auto opened = open();
    if (!opened) {
      run_.notes.push_back("the bodies of nodes are as they were: " + opened.error().to_string());
      return core::Done{};
    }
    auto& [model, document] = *opened;
    const std::string why_not = document.bodies().empty() ? "" : why_none();
    for (std::size_t k = 0; k < document.bodies().size(); ++k) {
      const models::Body& body = document.bodies()[k];
      BodyOutcome outcome;
      outcome.where = body.where;
      outcome.runs = body.runs;
      outcome.why_left = body.why_not.empty() ? why_not : body.why_not;
      std::vector<BodyOutcome> inner;
      if (outcome.why_left.empty()) {
        const auto status = improve(k, model.graph, document, outcome, inner);
        if (!status) outcome.why_left = status.error().message;
      }
      outcomes_.push_back(std::move(outcome));
      std::ranges::move(inner, std::back_inserter(outcomes_));
    }
    if (is_any_improved()) SOAPSTONE_RETURN_IF_ERROR(hand_out(document, model));
    if (context_.stop.stop_requested()) report_.outcome = search::Outcome::kInterrupted;
    run_.bodies = std::move(outcomes_);
    return core::Done{};
  }

 private:
  struct Opened {
    models::OnnxModel model;
    models::BodyDocument document;
  };

  core::Result<Opened> open() const {
    SOAPSTONE_ASSIGN_OR_RETURN(const fs::path file, file_so_far());
    SOAPSTONE_ASSIGN_OR_RETURN(
        models::OnnxModel model,
        models::read_onnx(file, {.shapes = request_.shapes, .skip_unknown = true}));
    SOAPSTONE_ASSIGN_OR_RETURN(auto document, models::BodyDocument::read(file, model.graph));
    return Opened{std::move(model), std::move(document)};
  }

  bool is_any_improved() const { return std::ranges::any_of(outcomes_, &BodyOutcome::is_improved); }

  /// The file around the bodies as it would be handed out.
  core::Result<fs::path> file_so_far() const {
    if (!run_.output.empty()) return fs::path(run_.output);
    if (report_.result == search::ResultKind::kOriginal) return job_.model_file;
    fs::path file = folder_ / "around.onnx";
    SOAPSTONE_RETURN_IF_ERROR(write_graph(report_.graph, *job_.model.header, *job_.backend,
                                          request_.keep_constants, file));
    return file;
  }

  /// Why no body is touched, or empty.
  std::string why_none() {
    if (!request_.proof.empty()) return "the file of `proof` has no room for their steps";
    if (request_.objective == search::ObjectiveKind::kLatencyUnderMemory)
      return "the limit on memory is for the whole model";
    if (request_.allow_unchecked) return {};
    if (!job_.judge || !job_.optimize.verify)
      return fmt::format("no independent runtime looks at the whole model ({}); --allow-unchecked "
                         "optimizes bodies all the same",
                         job_.optimize.verify ? job_.optimize.why_no_judge : "nothing is checked");
    const std::string refusal =
        search::Judgment(*job_.judge, job_.model.graph, *job_.optimize.verify).refusal();
    if (refusal.empty()) return {};
    return fmt::format("{} does not run the model: {}", job_.judge->runtime(), refusal);
  }

  OptimizeRequest request_for(const models::Body& body, const fs::path& file,
                              std::size_t bodies) const {
    OptimizeRequest request = request_;
    request.model = file;
    request.shapes = body.shapes;
    request.output = folder_ / "optimized.onnx";
    request.batch = 0;
    request.dry_run = request.strict = false;
    request.inputs.clear();
    request.trace.clear();
    request.trace_around = job_.trace.get();
    request.body = body.where;
    request.resume.clear();
    // The graph around the bodies had the other half.
    const double share = 0.5 / static_cast<double>(std::max<std::size_t>(bodies, 1));
    request.search.time_s *= share;
    request.measure_s *= share;
    return request;
  }

  /// Optimizes the body and puts the result back.
  core::Status improve(std::size_t k, const core::Graph& graph, models::BodyDocument& document,
                       BodyOutcome& outcome, std::vector<BodyOutcome>& inner) {
    if (context_.stop.stop_requested())
      return core::unavailable("the run was interrupted before its turn");
    const models::Body& body = document.bodies()[k];
    const fs::path file = folder_ / "body.onnx";
    SOAPSTONE_RETURN_IF_ERROR(document.write_body(k, file));
    SOAPSTONE_ASSIGN_OR_RETURN(const models::OnnxModel model,
                               models::read_onnx(file, {.shapes = body.shapes}));
    OptimizeRequest request = request_for(body, file, document.bodies().size());
    request.search.surroundings =
        surroundings_of(body, model.graph, graph, request_.search.surroundings);
    BodyProgress progress(context_.progress, body.where);
    SOAPSTONE_ASSIGN_OR_RETURN(
        OptimizeOutcome result,
        optimize(request, Context{progress, context_.stop, context_.keep_results}));
    take_report(result, outcome, inner);
    if (result.report.result == search::ResultKind::kOriginal || result.run.output.empty())
      return core::unsupported(why_unchanged(result.report));
    auto status = document.put_back(k, result.run.output);
    if (!status) {
      for (BodyOutcome& other : inner) leave(other, "the body that it is in was left");
      return status;
    }
    outcome.is_improved = true;
    widen(report_.latitude, result.report.latitude);
    body_checked_ = result.report.equivalence;
    return core::Done{};
  }

  static void leave(BodyOutcome& outcome, const std::string& why) {
    if (outcome.is_improved) outcome.why_left = why;
    outcome.is_improved = false;
  }

  void leave_all(const std::string& why) {
    for (BodyOutcome& outcome : outcomes_) leave(outcome, why);
  }

  static void take_report(OptimizeOutcome& result, BodyOutcome& outcome,
                          std::vector<BodyOutcome>& inner) {
    const search::OptimizeReport& report = result.report;
    outcome.cost_before_us = report.cost_before.total_us;
    outcome.cost_after_us = report.cost_after.total_us;
    if (report.result != search::ResultKind::kOriginal) {
      outcome.speedup =
          report.result == search::ResultKind::kBaseline ? report.baseline_speedup : report.speedup;
      // The costs of the report begin behind the baseline.
      outcome.cost_before_us *= report.baseline_gain.value_or(1);
    } else {
      outcome.cost_after_us = outcome.cost_before_us;
    }
    for (const search::RuleUse& use : report.rules_applied) outcome.rules.push_back(use.rule);
    if (result.explanation) {
      outcome.explanation = std::move(result.explanation);
      outcome.explanation->bodies.clear();
    }
    inner = std::move(result.run.bodies);
    for (BodyOutcome& body : inner) {
      body.where += ", in " + outcome.where;
      body.is_inner = true;
    }
  }

  /// Judges and times the file with its new bodies, and writes it.
  core::Status hand_out(const models::BodyDocument& document, const models::OnnxModel& model) {
    const fs::path name = fs::path(request_.output).filename();
    const fs::path judged = folder_ / "judged" / (name.empty() ? "result.onnx" : name);
    std::error_code ignored;
    fs::create_directory(judged.parent_path(), ignored);
    if (const auto written = document.write(judged); !written) {
      leave_all("the model with the new bodies cannot be written: " + written.error().message);
      return core::Done{};
    }
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string difference, judge(judged, model));
    if (!difference.empty()) {
      leave_all("the model with the new bodies was refused: " + difference);
      return core::Done{};
    }
    if (is_slower(document)) {
      leave_all("the whole model is slower with the new bodies");
      return core::Done{};
    }
    say_improved();
    if (run_.output.empty()) return core::Done{};
    SOAPSTONE_RETURN_IF_ERROR(document.write(run_.output));
    return require_judged(judged, run_.output);
  }

  /// Why the file must not be handed out, or empty.
  core::Result<std::string> judge(const fs::path& file, const models::OnnxModel& model) {
    if (!job_.judge) return std::string();  // allow_unchecked
    context_.progress.stage("checking the model with its new bodies");
    std::vector<SizedOriginal> originals{{job_.model.graph, "the sizes given", true}};
    add_other_sizes(model, originals);
    for (SizedOriginal& original : originals) original.has_checked_bodies = true;
    SOAPSTONE_ASSIGN_OR_RETURN(
        const FileJudgment judgment,
        judge_file(request_, job_, file, originals, report_.latitude, context_));
    if (judgment.looked_at.empty() && judgment.difference.empty() && !request_.allow_unchecked)
      return std::string("no runtime runs both files");
    judged_ = judgment.first;
    if (!judgment.note.empty()) run_.notes.push_back("with new bodies: " + judgment.note);
    return judgment.difference;
  }

  /// Sizes that the file leaves open are one larger.
  void add_other_sizes(const models::OnnxModel& model,
                       std::vector<SizedOriginal>& originals) const {
    const auto dimensions = models::open_dimensions(model);
    if (dimensions.empty()) return;
    std::vector<std::int64_t> sizes;
    for (const auto& dimension : dimensions) sizes.push_back(dimension.size + 1);
    const auto original =
        models::read_onnx(job_.model_file, {.shapes = models::shapes_at(model, dimensions, sizes),
                                            .skip_unknown = true});
    if (original) originals.push_back({original->graph, "sizes that are one larger", false});
  }

  /// Times the whole against the original. A branch that random inputs do not take shows no gain.
  bool is_slower(const models::BodyDocument& document) {
    const bool was_improved = report_.outcome == search::Outcome::kImproved;
    if (!was_improved) report_.speedup.reset();
    if (!job_.clock || context_.stop.stop_requested()) return false;
    context_.progress.stage("timing the model with its new bodies");
    auto opened = open_deployment(request_.runtime, request_.device.threads);
    if (!opened || !opened->deployment) return false;
    const auto clock = FileClock::make(
        *std::move(opened->deployment), job_.model_file, job_.model.graph,
        [&](const core::Graph&, const fs::path& path) { return document.write(path); }, nullptr,
        {});
    if (!clock) return false;
    const auto times = (*clock)->compare_file(job_.model.graph, job_.model.graph,
                                              job_.optimize.trials.most_s, context_.stop);
    if (!times) {
      run_.notes.push_back(
          fmt::format("the model with its new bodies was not timed: {}", times.error().message));
      return false;
    }
    if (times->ratio.high < (was_improved && report_.speedup ? report_.speedup->low : 1))
      return true;
    report_.speedup = times->ratio;
    return false;
  }

  /// Costs of bodies count as often as they run.
  void say_improved() {
    if (judged_) report_.judge = judged_;
    if (!report_.equivalence && judged_) report_.equivalence = judged_->equivalence;
    if (!report_.equivalence) report_.equivalence = body_checked_;
    for (const BodyOutcome& outcome : outcomes_) {
      if (outcome.is_inner) continue;  // the one around it has its cost
      report_.cost_before.total_us += outcome.runs * outcome.cost_before_us;
      report_.cost_after.total_us +=
          outcome.runs * (outcome.is_improved ? outcome.cost_after_us : outcome.cost_before_us);
    }
    const bool had_no_gain = report_.outcome == search::Outcome::kNoGainFound ||
                             report_.outcome == search::Outcome::kGainNotReal;
    if (had_no_gain) report_.outcome = search::Outcome::kImproved;
    if (report_.result == search::ResultKind::kOriginal) {
      report_.result = search::ResultKind::kRewritten;
      run_.output_note = run_.output.empty() ? run_.output_note : "with better bodies";
    }
  }

  const OptimizeRequest& request_;
  const OptimizeJob& job_;
  search::OptimizeReport& report_;
  RunSummary& run_;
  const Context& context_;
  fs::path folder_;
  std::vector<BodyOutcome> outcomes_;
  std::optional<search::JudgeReport> judged_;              ///< Of the whole with new bodies.
  std::optional<search::EquivalenceReport> body_checked_;  ///< Of the last new body.
};

}  // namespace

bool has_bodies(const models::OnnxModel& model) {
  return !model.opaque_nodes.empty() &&
         std::ranges::any_of(model.graph.order(), [&](core::NodeId id) {
           return models::has_bodies(model.graph.node(id));
         });
}

core::Status optimize_bodies(const OptimizeRequest& request, const OptimizeJob& job,
                             search::OptimizeReport& report, RunSummary& run,
                             const Context& context) {
  if (request.graph || report.outcome == search::Outcome::kNotEquivalent || !has_bodies(job.model))
    return core::Done{};
  if (context.stop.stop_requested()) {
    run.notes.emplace_back("the bodies of nodes are as they were: an interrupt came first");
    return core::Done{};
  }
  return BodiesJob(request, job, report, run, context).run();
}

}  // namespace soapstone::jobs
