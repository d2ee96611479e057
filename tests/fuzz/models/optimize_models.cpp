// Optimizes one model after the other as optimize-graph does, with rules that are read once: the
// subject of tests/fuzz/models/differential_fuzz.py.
//
//   optimize-models < JOBS
//
// A line of JOBS is a JSON object, and each is answered by a line of JSON, so that after a crash it
// is known which job did it.
//   {"do": "operators"}                                     the ONNX operators that are read
//   {"do": "rules"}                                         names of all instances, their labels
//   {"do": "source", "rule": N, "seed": N, "opset": N, "out": FILE}   where rule N matches
//   {"do": "round-trip", "in": FILE, "out": FILE}           reads and writes
//   {"do": "optimize", "in": FILE, "out": FILE, …}          see OptimizeJob below
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/options/common_options.h"
#include "cli/session/run_main.h"
#include "jobs/models/model_files.h"
#include "jobs/optimize/optimize_job.h"
#include "jobs/optimize/optimize_output.h"
#include "jobs/optimize/outcome.h"
#include "jobs/rules/rule_library.h"
#include "models/onnx/format/onnx_model.h"
#include "models/onnx/open_sizes.h"
#include "ops/definition/registry.h"
#include "search/optimize.h"
#include "tests/fuzz/models/random_cost.h"
#include "tests/fuzz/models/rule_source.h"
#include "verifier/admission.h"

namespace soapstone {
namespace {

using nlohmann::json;

/// Rules with what is known of their proofs.
struct Rules {
  explicit Rules(jobs::LoadedRules loaded)
      : baseline(std::move(loaded.baseline)), search(std::move(loaded.search)),
        admit_baseline(baseline), admit_search(search) {}
  /// The baseline's come first; from the last on the first again.
  const rules::Rule& numbered(std::size_t number) const {
    const auto first = baseline.rules(), second = search.rules();
    number %= first.size() + second.size();
    return number < first.size() ? first[number] : second[number - first.size()];
  }
  rules::RuleSet baseline, search;
  verifier::Admission admit_baseline, admit_search;
};

class Server {
 public:
  core::Result<json> answer(const json& job) {
    const std::string what = job.value("do", "");
    if (what == "operators") return operators();
    if (what == "round-trip") return round_trip(job);
    if (what == "optimize") return optimize(job);
    SOAPSTONE_ASSIGN_OR_RETURN(const Rules* rules, rules_for(false, kNewestOpset));
    if (what == "rules") return rule_names(*rules);
    if (what == "source") return rule_source(*rules, job);
    return core::Error{core::ErrorCode::kUsage, "no such job: " + what, {}, {}};
  }

 private:
  static constexpr int kNewestOpset = 1000;

  core::Result<Rules*> rules_for(bool generated, int opset) {
    std::unique_ptr<Rules>& rules = rules_[{generated, opset}];
    if (!rules) {
      jobs::RuleRequest options;
      options.generated = generated;
      std::unique_ptr<jobs::LoadedRules>& loaded = loaded_[generated];
      if (!loaded) {
        SOAPSTONE_ASSIGN_OR_RETURN(auto read, jobs::load_rules(options, jobs::Context{}));
        SOAPSTONE_RETURN_IF_ERROR(jobs::add_instances(jobs::all_instances(), options, read));
        SOAPSTONE_RETURN_IF_ERROR(jobs::refuse_unproved(read, options));
        loaded = std::make_unique<jobs::LoadedRules>(std::move(read));
      }
      jobs::LoadedRules writable = *loaded;
      jobs::leave_out_unwritable(writable, opset);
      rules = std::make_unique<Rules>(std::move(writable));
    }
    return rules.get();
  }

  json operators() const;
  json rule_names(const Rules& rules) const;
  core::Result<json> rule_source(const Rules& rules, const json& job) const;
  core::Result<json> round_trip(const json& job) const;
  core::Result<json> optimize(const json& job);

  std::map<bool, std::unique_ptr<jobs::LoadedRules>> loaded_;     ///< By "generated".
  std::map<std::pair<bool, int>, std::unique_ptr<Rules>> rules_;  ///< And by opset.
};

json Server::operators() const {
  json list = json::array();
  const auto add = [&](const ops::OnnxReader& reader) {
    list.push_back({reader.domain, reader.op_type, reader.since_opset, reader.until_opset});
  };
  for (const auto& definition : ops::registry().all())
    for (const ops::OnnxReader& reader : definition->onnx.readers) add(reader);
  for (const ops::OnnxReader& reader : ops::composite_readers()) add(reader);
  return {{"operators", list}};
}

json Server::rule_names(const Rules& rules) const {
  json list = json::array();
  for (const rules::RuleSet* set : {&rules.baseline, &rules.search})
    for (const rules::Rule& rule : set->rules())
      list.push_back(
          {rule.name, rule.base_name, rules::to_string(rule.floats), rule.evidence.detail});
  return {{"rules", list}};
}

core::Result<json> Server::rule_source(const Rules& rules, const json& job) const {
  const rules::Rule& rule = rules.numbered(job.value("rule", std::size_t{0}));
  SOAPSTONE_ASSIGN_OR_RETURN(const RuleSource source,
                             draw_rule_source(rule, job.value("seed", std::uint64_t{0})));
  const auto header = models::new_header(job.value("opset", 17));
  SOAPSTONE_RETURN_IF_ERROR(models::write_onnx(source.graph, *header, job.value("out", "")));
  return json{{"rule", rule.name}, {"constant", source.constant_inputs}};
}

core::Result<jobs::Shapes> shapes_of(const json& job) {
  jobs::Shapes shapes;
  for (const std::string& text : job.value("shapes", std::vector<std::string>())) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto shape, cli::parse_shape(text));
    shapes.insert_or_assign(std::move(shape.first), std::move(shape.second));
  }
  return shapes;
}

core::Result<models::OnnxModel> read(const json& job) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto shapes, shapes_of(job));
  return models::read_onnx(job.value("in", ""), {.shapes = std::move(shapes)});
}

void add_error(json& answer, const core::Error& error) {
  answer["error"] = error.to_string();
  answer["code"] = static_cast<int>(error.code);
  answer["stage"] = "write";
}

json opaque_nodes(const models::OnnxModel& model) {
  json list = json::array();
  for (const auto& node : model.opaque_nodes) list.push_back({node.op_type, node.reason});
  return list;
}

core::Result<json> Server::round_trip(const json& job) const {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto model, read(job));
  json answer{{"opaque", opaque_nodes(model)}};
  const auto written = models::write_onnx(model.graph, *model.header, job.value("out", ""),
                                          {.keep_original_nodes = job.value("keep", true)});
  if (!written) add_error(answer, written.error());
  return answer;
}

/// Options of a job besides "in" and "out", as optimize-graph has them: "strategy", "objective",
/// "shapes", "generated"; "cost" is "roofline" or "random", with "seed"; "verify" is a number of
/// inputs, 0 for none; "favor" is the number of a rule that is to pay with random costs; "budget",
/// "patience" and "time" keep searches short.
core::Result<jobs::OptimizeRequest> request_of(const json& job) {
  jobs::OptimizeRequest request;
  request.model = job.value("in", "");
  request.output = job.value("out", "");
  SOAPSTONE_ASSIGN_OR_RETURN(request.shapes, shapes_of(job));
  request.costs = jobs::CostKind::kRoofline;
  const auto strategy = search::parse_strategy(job.value("strategy", "backtracking"));
  const auto objective = search::parse_objective(job.value("objective", "latency"));
  if (!strategy || !objective) return core::invalid_input("no such strategy or objective");
  request.search.strategy = *strategy;
  request.objective = *objective;
  request.samples = job.value("verify", 0);
  // The fuzzer is the judge: here of what would be written without one.
  const bool judged = job.value("judge", "none") != "none";
  request.judge.judge = judged ? jobs::JudgeKind::kAuto : jobs::JudgeKind::kNone;
  request.allow_unchecked = !judged;
  if (job.contains("budget")) request.search.budget = job["budget"].get<std::uint64_t>();
  request.search.patience = job.value("patience", request.search.patience);
  request.search.eqsat_nodes = job.value("e-nodes", request.search.eqsat_nodes);
  // Few models take longer, and many more are worth more.
  request.search.time_s = job.value("time", 3.0);
  request.search.jobs = 1;
  return request;
}

/// The types at whose edges a rule says that it changes what is finite. Types of which nothing is
/// known are listed, too.
json types_with_edges(const rules::Rule& rule) {
  json types = json::array();
  for (const core::DataType type : rules::kEdgeTypes) {
    const auto is_here = [&](const rules::Edge& edge) {
      return edge.type == type && edge.effect != rules::EdgeEffect::kZeroSign;
    };
    if (rule.floats > rules::FloatBehavior::kReassociates || !rule.edges ||
        std::ranges::any_of(rule.edges->all(), is_here))
      types.push_back(core::to_string(type));
  }
  return types;
}

bool changes_zero_sign(const rules::Rule& rule) {
  return rule.edges && std::ranges::any_of(rule.edges->all(), [](const rules::Edge& edge) {
           return edge.effect == rules::EdgeEffect::kZeroSign;
         });
}

json applied_rules(const Rules& rules, const search::OptimizeReport& report) {
  json applied = json::array();
  const auto add = [&](const rules::Rule& rule) {
    applied.push_back({rule.name, rules::to_string(rule.floats), rule.evidence.detail,
                       types_with_edges(rule), changes_zero_sign(rule)});
  };
  for (const search::SimplifyStep& step : report.simplify.steps)
    if (step.kind == search::SimplifyStep::Kind::kRule) add(rules.baseline[step.rule]);
  if (report.result != search::ResultKind::kRewritten) return applied;
  for (const search::Step& step : report.steps) {
    if (!step.lemma) {
      add(rules.search[step.id]);
      continue;
    }
    for (const search::LemmaStep& used : step.lemma->steps) add(rules.search[used.rule]);
  }
  return applied;
}

core::Result<json> Server::optimize(const json& job) {
  const jobs::Context context;
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::OptimizeRequest request, request_of(job));
  SOAPSTONE_ASSIGN_OR_RETURN(jobs::OptimizeJob prepared,
                             jobs::prepare(request, jobs::LoadedRules{}, context));
  SOAPSTONE_ASSIGN_OR_RETURN(Rules * rules,
                             rules_for(job.value("generated", false), prepared.model.opset));
  if (job.value("cost", "roofline") == "random") {
    SOAPSTONE_ASSIGN_OR_RETURN(const Rules* all, rules_for(false, kNewestOpset));
    const rules::Rule* favor =
        job.contains("favor") ? &all->numbered(job.value("favor", std::size_t{0})) : nullptr;
    prepared.cost = make_random_cost(job.value("seed", std::uint64_t{0}), favor);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(
      const auto report, search::optimize(prepared.model.graph, rules->admit_baseline,
                                          rules->admit_search, *prepared.cost, *prepared.backend,
                                          prepared.optimize, context.progress, context.stop));
  json answer{{"opaque", opaque_nodes(prepared.model)},
              {"outcome", jobs::outcome_name(report.outcome)},
              {"result", jobs::result_name(report.result)},
              {"rules", applied_rules(*rules, report)}};
  if (report.outcome == search::Outcome::kNotEquivalent) answer["offender"] = report.offending_rule;
  if (report.equivalence) answer["checked"] = report.equivalence->samples;
  for (const search::TakenOut& taken : report.taken_out) answer["taken out"].push_back(taken.rule);
  if (!models::open_dimensions(prepared.model).empty()) {
    // The steps are taken again at other sizes.
    const auto baseline = rules->baseline.rules(), searched = rules->search.rules();
    prepared.rules.baseline.assign(baseline.begin(), baseline.end());
    prepared.rules.search.assign(searched.begin(), searched.end());
  }
  jobs::RunSummary summary;
  const auto written = jobs::write_result(request, prepared, report, summary, context);
  if (!written) add_error(answer, written.error());
  return answer;
}

json error_answer(const core::Error& error) {
  return {{"error", error.to_string()}, {"code", static_cast<int>(error.code)}, {"stage", "job"}};
}

json answer_line(Server& server, const std::string& line) {
  const json job = json::parse(line, nullptr, false);
  if (!job.is_object()) return {{"error", "not a JSON object"}, {"code", 2}, {"stage", "job"}};
  json answer;
  const auto done = cli::without_exceptions([&]() -> core::Status {
    SOAPSTONE_ASSIGN_OR_RETURN(answer, server.answer(job));
    return core::Done{};
  });
  return done ? answer : error_answer(done.error());
}

int run_all() {
  Server server;
  for (std::string line; std::getline(std::cin, line);) {
    const auto started = std::chrono::steady_clock::now();
    json answer = answer_line(server, line);
    answer["seconds"] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    std::cout << answer.dump(-1, ' ', true, json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace soapstone

int main() { return soapstone::run_all(); }
