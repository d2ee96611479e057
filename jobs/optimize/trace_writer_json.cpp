// See trace_writer.h. What differs between equal runs stands under "time".
#include "jobs/optimize/trace_writer.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/clock.h"
#include "jobs/optimize/optimize_job.h"
#include "jobs/optimize/outcome.h"
#include "search/regions/region_search.h"

namespace soapstone::jobs {
namespace {

using nlohmann::ordered_json;

std::string hash_text(std::uint64_t hash) { return fmt::format("0x{:016x}", hash); }

std::string verify_text(const OptimizeRequest& request) {
  return request.samples > 0 ? fmt::to_string(request.samples) : "off";
}

ordered_json options_json(const OptimizeRequest& request) {
  const search::SearchOptions& search = request.search;
  return {{"strategy", search::to_string(search.strategy)},
          {"effort", search.effort},
          {"budget", search.budget ? ordered_json(*search.budget) : ordered_json(nullptr)},
          {"time_s", search.time_s},
          {"alpha", search.alpha},
          {"patience", search.patience},
          {"region", search.region_sizes},
          {"memory_limit_mib", search.memory_mib},
          {"costs", request.costs_name()},
          {"fusion", runtime::to_string(request.device.fusion)},
          {"verify", verify_text(request)},
          {"seed", request.seed}};
}

/// How often each operator occurs.
ordered_json operators_json(const core::Graph& graph) {
  std::map<std::string_view, int> counts;
  for (const core::NodeId id : graph.order())
    if (!graph.is_constant_expression(id)) ++counts[graph.node(id).op->name];
  ordered_json json = ordered_json::object();
  for (const auto& [name, count] : counts) json[std::string(name)] = count;
  return json;
}

/// The names of those nodes that the model has names for; what a rewrite made has none.
ordered_json names_json(const core::Graph& graph, std::span<const core::NodeId> nodes) {
  ordered_json json = ordered_json::array();
  for (const core::NodeId id : nodes)
    if (graph.contains(id) && !graph.node(id).name.empty()) json.push_back(graph.node(id).name);
  return json;
}

}  // namespace

struct TraceWriter::Lines {
  std::unique_ptr<core::LineFile> file;
  double begin_s = core::wall_s();

  /// Adds the body, if it is one, and the time.
  void write(const std::string& body, ordered_json event,
             const ordered_json& times = ordered_json::object()) {
    if (!body.empty()) event["body"] = body;
    ordered_json time = {{"at_s", core::wall_s() - begin_s}};
    time.update(times);
    event["time"] = std::move(time);
    file->append(event.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  }
};

core::Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::string& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto file, core::LineFile::create(path));
  return std::make_unique<TraceWriter>(std::make_shared<Lines>(Lines{std::move(file)}),
                                       std::string());
}

std::unique_ptr<TraceWriter> TraceWriter::of_body(const TraceWriter& around,
                                                  const std::string& body) {
  return std::make_unique<TraceWriter>(around.lines_,
                                       around.body_.empty() ? body : body + ", in " + around.body_);
}

TraceWriter::TraceWriter(std::shared_ptr<Lines> lines, std::string body)
    : lines_(std::move(lines)), body_(std::move(body)) {}

TraceWriter::~TraceWriter() = default;

void TraceWriter::run_begins(const OptimizeRequest& request, const OptimizeJob& job) {
  lines_->write(body_,
                {{"event", "run"},
                 {"trace_version", 1},
                 {"soapstone", SOAPSTONE_VERSION},
                 {"model", body_.empty() ? request.model : body_},
                 {"model_hash", hash_text(job.model.graph.hash())},
                 {"operators", operators_json(job.model.graph)},
                 {"rules", job.rules.search.size()},
                 {"baseline_rules", job.rules.baseline.size()},
                 {"costs", job.cost->description()},
                 {"device", job.timing().device().key()},
                 {"options", options_json(request)}},
                {{"jobs", request.search.jobs}});
}

void TraceWriter::simplified(const search::SimplifyReport& report, const core::Graph& baseline) {
  lines_->write(body_, {{"event", "baseline"},
                        {"model_hash", hash_text(baseline.hash())},
                        {"operators", operators_json(baseline)},
                        {"rules", report.rules_applied},
                        {"merged_duplicates", report.merged_duplicates}});
}

void TraceWriter::pass(const search::TracePass& pass) {
  lines_->write(body_, {{"event", "pass"},
                        {"pass", pass.number},
                        {"region_size", pass.region_size},
                        {"regions", pass.regions},
                        {"kinds", pass.kinds},
                        {"new_kinds", pass.new_kinds},
                        {"cost_us", pass.cost_us}});
}

void TraceWriter::region(const search::TraceRegion& region) {
  const search::RegionResult& found = *region.found;
  lines_->write(body_,
                {{"event", "region"},
                 {"pass", region.pass},
                 {"signature", hash_text(region.signature)},
                 {"operators", operators_json(*region.graph)},
                 {"places", region.places},
                 {"resumed", region.resumed},
                 {"expanded", found.expanded},
                 {"expanded_whole", found.expanded_whole},
                 {"built", found.built},
                 {"duplicates", found.duplicates},
                 {"cost_before_us", found.cost_before_us},
                 {"cost_after_us", found.cost_after_us},
                 {"steps", found.steps.size()},
                 {"stop", search::to_string(found.stop)}},
                {{"duration_us", region.duration_us}});
}

void TraceWriter::applied(const search::TraceApplication& application) {
  for (const search::Step& step : application.steps) {
    lines_->write(body_, {{"event", "application"},
                          {"pass", application.pass},
                          {"rule", step.base_rule},
                          {"instance", step.rule},
                          {"nodes", names_json(*application.before, step.match.nodes)},
                          {"gain_us", step.gain_us}});
  }
}

void TraceWriter::best(const search::TraceBest& best) {
  lines_->write(body_,
                {{"event", "best"}, {"expanded", best.graphs_expanded}, {"cost_us", best.cost_us}});
}

core::Status TraceWriter::run_ends(const search::OptimizeReport& report, const RunSummary& run) {
  const search::SearchResult& search = report.search;
  // Measurements end to end differ from run to run, like any time.
  ordered_json times = {{"search_cpu_s", search.cpu_s},
                        {"total_cpu_s", run.total_cpu_s},
                        {"peak_rss_mb", run.peak_rss_mb}};
  if (report.speedup) times["speedup"] = report.speedup->median;
  lines_->write(body_,
                {{"event", "end"},
                 {"outcome", outcome_name(report.outcome)},
                 {"result", result_name(report.result)},
                 {"stop", search::to_string(search.stop_reason)},
                 {"cost_before_us", report.cost_before.total_us},
                 {"cost_after_us", report.cost_after.total_us},
                 {"expanded", search.graphs_expanded},
                 {"expanded_whole", search.graphs_expanded_whole},
                 {"built", search.graphs_built},
                 {"duplicates", search.duplicates},
                 {"regions", search.regions},
                 {"regions_searched", search.regions_searched},
                 {"expanded_resumed", search.graphs_resumed},
                 {"applications", report.steps.size()},
                 {"equal", report.equivalence ? ordered_json(report.equivalence->equal)
                                              : ordered_json(nullptr)},
                 {"model_hash", hash_text(report.graph.hash())}},
                times);
  return lines_->file->status();
}

}  // namespace soapstone::jobs
