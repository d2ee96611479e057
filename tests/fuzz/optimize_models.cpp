// Optimizes one model after the other as optimize-graph does, with rules that are read once: the
// subject of tests/fuzz/differential_fuzz.py.
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

#include "cli/model_files.h"
#include "cli/optimize_output.h"
#include "cli/rule_files.h"
#include "cli/run_main.h"
#include "cpu/cpu_backend.h"
#include "models/onnx_model.h"
#include "ops/registry.h"
#include "search/optimize.h"
#include "tests/fuzz/random_cost.h"
#include "tests/fuzz/rule_source.h"
#include "verifier/admission.h"

namespace soapstone {
namespace {

using nlohmann::json;

/// Rules with what is known of their proofs.
struct Rules {
  explicit Rules(cli::LoadedRules loaded)
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

core::Result<std::unique_ptr<Rules>> load_rules(bool generated) {
  cli::RuleOptions options;
  options.generated = generated;
  SOAPSTONE_ASSIGN_OR_RETURN(auto loaded, cli::load_rules(options));
  SOAPSTONE_RETURN_IF_ERROR(cli::refuse_unproved(loaded, options));
  return std::make_unique<Rules>(std::move(loaded));
}

class Server {
 public:
  explicit Server(std::unique_ptr<runtime::Backend> backend) : backend_(std::move(backend)) {}

  core::Result<json> answer(const json& job) {
    const std::string what = job.value("do", "");
    if (what == "operators") return operators();
    if (what == "round-trip") return round_trip(job);
    SOAPSTONE_ASSIGN_OR_RETURN(Rules * rules, rules_for(job.value("generated", false)));
    if (what == "rules") return rule_names(*rules);
    if (what == "source") return rule_source(*rules, job);
    if (what == "optimize") return optimize(*rules, job);
    return core::Error{core::ErrorCode::kUsage, "no such job: " + what, {}, {}};
  }

 private:
  core::Result<Rules*> rules_for(bool generated) {
    std::unique_ptr<Rules>& rules = generated ? with_generated_ : shipped_;
    if (!rules) {
      SOAPSTONE_ASSIGN_OR_RETURN(rules, load_rules(generated));
    }
    return rules.get();
  }

  json operators() const;
  json rule_names(const Rules& rules) const;
  core::Result<json> rule_source(const Rules& rules, const json& job) const;
  core::Result<json> round_trip(const json& job) const;
  core::Result<json> optimize(Rules& rules, const json& job);

  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<Rules> shipped_, with_generated_;
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

core::Result<models::OnnxModel> read(const json& job) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto options,
                             cli::import_options(job.value("shapes", std::vector<std::string>())));
  return models::read_onnx(job.value("in", ""), options);
}

json opaque_nodes(const models::OnnxModel& model) {
  json list = json::array();
  for (const auto& node : model.opaque_nodes) list.push_back({node.op_type, node.reason});
  return list;
}

core::Result<json> Server::round_trip(const json& job) const {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto model, read(job));
  json answer{{"opaque", opaque_nodes(model)}};
  const auto written = models::write_onnx(model.graph, *model.header, job.value("out", ""));
  if (!written) {
    answer["error"] = written.error().to_string();
    answer["code"] = static_cast<int>(written.error().code);
    answer["stage"] = "write";
  }
  return answer;
}

/// Options of a job besides "in" and "out", as optimize-graph has them: "strategy", "objective",
/// "shapes", "generated"; "cost" is "roofline" or "random", with "seed"; "verify" is a number of
/// inputs, 0 for none; "favour" is the number of a rule that is to pay with random costs; "budget",
/// "patience" and "time" keep searches short.
search::OptimizeOptions options_of(const json& job) {
  search::OptimizeOptions options;
  const int samples = job.value("verify", 0);
  if (samples > 0) {
    options.verify->samples = samples;
  } else {
    options.verify.reset();
  }
  options.search.strategy = search::parse_strategy(job.value("strategy", "backtracking"))
                                .value_or(search::Strategy::kBacktracking);
  options.search.budget = job.value("budget", options.search.budget);
  options.search.patience = job.value("patience", options.search.patience);
  options.search.eqsat_nodes = job.value("e-nodes", options.search.eqsat_nodes);
  options.search.time_s = job.value("time", 0.0);
  options.search.jobs = 1;
  options.objective = search::parse_objective(job.value("objective", "latency"))
                          .value_or(search::ObjectiveKind::kLatency);
  options.measure = false;
  options.record_chain = false;
  return options;
}

/// The types at whose edges a rule says that it changes what is finite. What is not known may.
json types_with_edges(const rules::Rule& rule) {
  json types = json::array();
  for (const core::DataType type : rules::kEdgeTypes) {
    const auto is_here = [&](const rules::Edge& edge) {
      return edge.type == type && edge.effect != rules::EdgeEffect::kZeroSign;
    };
    if (!rule.edges || std::ranges::any_of(rule.edges->all(), is_here))
      types.push_back(core::to_string(type));
  }
  return types;
}

json applied_rules(const Rules& rules, const search::OptimizeReport& report) {
  json applied = json::array();
  const auto add = [&](const rules::Rule& rule) {
    applied.push_back(
        {rule.name, rules::to_string(rule.floats), rule.evidence.detail, types_with_edges(rule)});
  };
  for (const search::SimplifyStep& step : report.simplify.steps)
    if (step.rule) add(rules.baseline[*step.rule]);
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

core::Result<json> Server::optimize(Rules& rules, const json& job) {
  cli::OptimizeArguments arguments;
  arguments.model = job.value("in", "");
  arguments.output = job.value("out", "");
  cli::OptimizeJob prepared;
  SOAPSTONE_ASSIGN_OR_RETURN(prepared.model, read(job));
  SOAPSTONE_ASSIGN_OR_RETURN(prepared.backend, cpu::make_cpu_backend());
  const rules::Rule* favour =
      job.contains("favour") ? &rules.numbered(job.value("favour", std::size_t{0})) : nullptr;
  const auto cost = job.value("cost", "roofline") == "random"
                        ? make_random_cost(job.value("seed", std::uint64_t{0}), favour)
                        : cost::make_roofline_cost(runtime::Fusion::kFull);
  const core::StopToken never;
  SOAPSTONE_ASSIGN_OR_RETURN(const auto report,
                             search::optimize(prepared.model.graph, rules.admit_baseline,
                                              rules.admit_search, *cost, *backend_, options_of(job),
                                              core::silent(), never));
  json answer{{"opaque", opaque_nodes(prepared.model)},
              {"outcome", cli::outcome_name(report.outcome)},
              {"result", cli::result_name(report.result)},
              {"rules", applied_rules(rules, report)}};
  if (report.outcome == search::Outcome::kNotEquivalent) answer["offender"] = report.offending_rule;
  if (report.equivalence) answer["checked"] = report.equivalence->samples;
  cli::RunSummary summary;
  const auto written = cli::write_result(arguments, prepared, report, summary);
  if (!written) {
    answer["error"] = written.error().to_string();
    answer["code"] = static_cast<int>(written.error().code);
    answer["stage"] = "write";
  }
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
  auto backend = cpu::make_cpu_backend();
  if (!backend) {
    std::cerr << "optimize-models: " << backend.error().to_string() << '\n';
    return static_cast<int>(backend.error().code);
  }
  Server server(std::move(*backend));
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
