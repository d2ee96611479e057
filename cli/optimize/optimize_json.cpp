// The JSON of optimize-graph's report, see optimize_report.h.
#include <nlohmann/json.hpp>

#include "cli/equivalence/equivalence_report.h"
#include "cli/optimize/explanation_report.h"
#include "cli/optimize/optimize_report.h"
#include "cli/reports/json_text.h"
#include "cli/reports/rounding_report.h"

namespace soapstone::cli {
namespace {

using nlohmann::ordered_json;

void add_certificate(ordered_json& json, const search::SearchResult& found) {
  json["strategy"] = search::to_string(found.strategy);
  json["e_nodes"] = found.e_nodes;
  json["underivable"] = found.underivable;
  json["certificate"] = nullptr;
  if (!found.certificate) return;
  const search::Certificate& certificate = *found.certificate;
  json["certificate"] = {{"regions", certificate.regions},
                         {"regions_optimal", certificate.optimal},
                         {"regions_cheapest_kept", certificate.cheapest_kept},
                         {"largest_gap", certificate.largest_gap},
                         {"gap", certificate.gap},
                         {"found_gap", certificate.found_gap}};
}

template <class T, class F>
ordered_json json_or_null(const std::optional<T>& value, F&& f) {
  return value ? ordered_json(f(*value)) : ordered_json(nullptr);
}

void add_memory(ordered_json& json, const search::OptimizeReport& report) {
  const auto peak = [](const search::Latency& l) {
    return l.peak_activation_bytes > 0 ? ordered_json(l.peak_activation_bytes)
                                       : ordered_json(nullptr);
  };
  json["objective"] = to_string(report.objective);
  const bool limited = report.objective == search::ObjectiveKind::kLatencyUnderMemory;
  json["peak_memory_limit_bytes"] =
      limited ? ordered_json(report.peak_limit_bytes) : ordered_json(nullptr);
  json["within_limit"] = limited ? ordered_json(report.is_within_limit()) : ordered_json(nullptr);
  json["predicted_peak_activation_bytes_before"] = report.memory_before.peak_bytes;
  json["predicted_peak_activation_bytes_after"] = report.memory_after.peak_bytes;
  json["peak_activation_bytes_before"] = json_or_null(report.latency_before, peak);
  json["peak_activation_bytes_after"] = json_or_null(report.latency_after, peak);
  json["weight_bytes_before"] = report.memory_before.weight_bytes;
  json["weight_bytes_after"] = report.memory_after.weight_bytes;
  json["most_weight_bytes"] = report.most_weight_bytes;
  json["left_out_for_weights"] = report.has_limited_weights;
}

void add_measurements(ordered_json& json, const search::OptimizeReport& report) {
  const auto median = [](const search::Latency& l) { return l.timing.median_us; };
  const auto interval = [](const search::Latency& l) {
    return ordered_json::array({l.timing.low_us, l.timing.high_us});
  };
  json["latency_before_us"] = json_or_null(report.latency_before, median);
  json["latency_after_us"] = json_or_null(report.latency_after, median);
  json["latency_before_interval_us"] = json_or_null(report.latency_before, interval);
  json["latency_after_interval_us"] = json_or_null(report.latency_after, interval);
  json["speedup"] = json_or_null(report.speedup, [](const auto& s) { return s.median; });
  json["speedup_interval"] = json_or_null(report.speedup, [](const auto& s) {
    return ordered_json::array({s.low, s.high});
  });
  json["baseline_predicted_speedup"] =
      json_or_null(report.baseline_gain, [](double gain) { return gain; });
  json["baseline_speedup"] =
      json_or_null(report.baseline_speedup, [](const auto& s) { return s.median; });
}

void add_trials(ordered_json& json, const search::OptimizeReport& report) {
  json["runtime"] =
      report.trials ? ordered_json(report.trials->runtime) : ordered_json("soapstone");
  json["trials"] = ordered_json::array();
  if (!report.trials) return;
  for (const search::Trial& trial : report.trials->trials) {
    const auto& [median, low, high] = trial.measured;
    const bool measured = trial.is_measured();
    json["trials"].push_back({{"change", trial.what},
                              {"places", trial.sites},
                              {"predicted_speedup", trial.predicted},
                              {"against_costs", trial.is_against_costs},
                              {"speedup", measured ? ordered_json(median) : nullptr},
                              {"speedup_interval", measured ? ordered_json({low, high}) : nullptr},
                              {"verdict", to_string(trial.verdict)},
                              {"note", trial.note}});
  }
}

void add_judge(ordered_json& json, const search::OptimizeReport& report) {
  json["judge"] = json_or_null(report.judge, judge_json);
  json["rules_taken_out"] = ordered_json::array();
  for (const search::TakenOut& rule : report.taken_out) {
    json["rules_taken_out"].push_back({{"rule", rule.rule},
                                       {"baseline", rule.is_baseline},
                                       {"found_by", rule.found_by},
                                       {"difference", difference_json(rule.difference)}});
  }
}

void add_equivalence(ordered_json& json, const search::OptimizeReport& report) {
  json["max_rel_error"] =
      json_or_null(report.equivalence, [](const auto& e) { return e.max_rel_error(); });
  json["equivalence"] = json_or_null(report.equivalence, [](const auto& e) {
    return ordered_json{{"equal", e.equal},
                        {"samples", e.samples},
                        {"ill_conditioned", e.ill_conditioned},
                        {"difference", difference_json(e.difference)},
                        {"outputs", outputs_json(e)}};
  });
  add_judge(json, report);
  json["offending_rule"] =
      report.offending_rule.empty() ? ordered_json(nullptr) : ordered_json(report.offending_rule);
}

ordered_json rule_set_json(const jobs::RuleRequest& rules) {
  std::vector<std::string> files = rules.only_files;
  files.insert(files.end(), rules.files.begin(), rules.files.end());
  return {{"shipped", rules.only_files.empty()},
          {"files", files},
          {"generated", rules.generated},
          {"only", rules.only},
          {"skip", rules.skip}};
}

void add_bodies(ordered_json& json, const jobs::RunSummary& run) {
  json["bodies"] = ordered_json::array();
  for (const jobs::BodyOutcome& body : run.bodies) {
    const bool searched = body.cost_before_us > 0;
    json["bodies"].push_back(
        {{"body", body.where},
         {"runs", body.runs},
         {"improved", body.is_improved},
         {"reason", body.why_left},
         {"cost_before_us", searched ? ordered_json(body.cost_before_us) : ordered_json(nullptr)},
         {"cost_after_us", searched ? ordered_json(body.cost_after_us) : ordered_json(nullptr)},
         {"speedup", json_or_null(body.speedup, [](const auto& s) { return s.median; })},
         {"rules", body.rules}});
  }
}

}  // namespace

std::string optimize_json(const jobs::OptimizeOutcome& outcome) {
  const auto& [report, run, explanation] = outcome;
  ordered_json json;
  json["model"] = run.model;
  json["output"] = run.output.empty() ? ordered_json(nullptr) : ordered_json(run.output);
  json["outcome"] = jobs::outcome_name(report.outcome);
  json["result"] = jobs::result_name(report.result);
  add_measurements(json, report);
  add_trials(json, report);
  add_memory(json, report);
  json["cost_before_us"] = report.cost_before.total_us;
  json["cost_after_us"] = report.cost_after.total_us;
  json["estimated_share"] = report.cost_after.estimated_share();
  json["nodes_before"] = report.nodes_before;
  json["nodes_after"] = report.nodes_after;
  json["opaque_nodes"] = report.opaque_nodes;
  json["launches_before"] = report.cost_before.launches;
  json["launches_after"] = report.cost_after.launches;
  json["graphs_expanded"] = report.search.graphs_expanded;
  json["graphs_expanded_whole"] = report.search.graphs_expanded_whole;
  json["graphs_built"] = report.search.graphs_built;
  json["duplicates"] = report.search.duplicates;
  json["regions"] = report.search.regions;
  json["regions_searched"] = report.search.regions_searched;
  json["graphs_resumed"] = report.search.graphs_resumed;
  json["regions_resumed"] = report.search.regions_resumed;
  json["stop_reason"] = search::to_string(report.search.stop_reason);
  add_certificate(json, report.search);
  json["search_cpu_s"] = report.search.cpu_s;
  json["search_wall_s"] = report.search.wall_s;
  json["total_cpu_s"] = run.total_cpu_s;
  json["total_wall_s"] = run.total_wall_s;
  json["peak_rss_mb"] = run.peak_rss_mb;
  json["other_work_processors"] =
      json_or_null(run.load, [](const core::MachineLoad& load) { return load.others; });
  json["rule_set"] = rule_set_json(run.rules);
  json["rules_applied"] = ordered_json::array();
  for (const search::RuleUse& use : report.rules_applied) {
    json["rules_applied"].push_back({{"rule", use.rule},
                                     {"count", use.count},
                                     {"gain_us", use.gain_us},
                                     {"proved", use.proved}});
  }
  json["baseline_rules"] = ordered_json::object();
  for (const auto& [rule, count] : report.simplify.rules_applied) {
    json["baseline_rules"][rule] = count;
  }
  json["proofs_tried"] = report.proofs_tried;
  json["proofs_kept"] = report.proofs_kept;
  json["proof_cpu_s"] = report.proof_cpu_s;
  json["unproved_rules"] = report.unproved_rules;
  json["rules_left_out"] = ordered_json::array();
  for (const auto& refusal : run.left_out) {
    json["rules_left_out"].push_back({{"rule", refusal.rule},
                                      {"type", core::to_string(refusal.type)},
                                      {"reason", refusal.reason}});
  }
  json["unproved_rules_applied"] = report.unproved_rules_applied;
  json["edge_changes"] = ordered_json::array();
  for (const search::SpecialChange& change : report.special_changes) {
    json["edge_changes"].push_back(
        {{"rule", change.rule},
         {"edges", change.effects ? ordered_json(to_string(*change.effects)) : ordered_json()}});
  }
  json["left_out_for_specials"] = report.left_out_for_specials;
  add_equivalence(json, report);
  json["costs"] = run.costs;
  json["device"] = run.device;
  json["rounding"] = json_or_null(run.rounding, rounding_json);
  add_bodies(json, run);
  json["proofs_not_found"] = ordered_json::array();
  for (const auto& refusal : report.refusals)
    json["proofs_not_found"].push_back(
        {{"rule", refusal.rule}, {"values", refusal.values}, {"reason", refusal.reason}});
  json["notes"] = outcome.notes();
  if (explanation) json["explanation"] = explanation_json(*explanation);
  return json_text(json);
}

}  // namespace soapstone::cli
