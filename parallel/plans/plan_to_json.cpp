// Plans become JSON here; docs/plans.md describes the format.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/hash.h"
#include "parallel/plans/plan_document.h"
#include "parallel/plans/plan_fields.h"

namespace soapstone::parallel {
namespace {

using PlanJson = nlohmann::ordered_json;

std::string hash_text_of(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string text_of(const PlanJson& json) {
  return json.dump(1, ' ', false, PlanJson::error_handler_t::replace) + "\n";
}

void write_head(const PlanDocument& document, PlanJson& json) {
  json = {
      {"version", PlanDocument::kVersion},
      {"model", hash_text_of(document.model_hash)},
      {"topology", {{"name", document.topology}, {"hash", hash_text_of(document.topology_hash)}}},
      {"strategy", document.strategy},
      {"devices", document.devices},
      {"training", document.is_training},
      {"optimizer", document.is_training ? to_string(document.optimizer) : ""},
      {"cuts_states", document.cuts_states}};
  PlanJson& pipeline = json["pipeline"];
  each_size(document.shape, [&](const char* name, const auto& size) { pipeline[name] = size; });
  pipeline["recomputes"] = to_string(document.shape.recompute);
  pipeline["sums_behind"] = document.shape.sums_behind;
  pipeline["gathers_once"] = document.shape.gathers_once;
  json["axes"] = PlanJson::array();
  for (const PlanAxis& axis : document.axes) {
    json["axes"].push_back({{"name", axis.name}, {"size", axis.size}, {"stride", axis.stride}});
    if (!axis.shares.empty()) json["axes"].back()["shares"] = axis.shares;
  }
  each_figure(document.time, [&](const char* name, const auto& figure) { json[name] = figure; });
  json["lower_bound_us"] = document.lower_bound_us;
  json["bucket_bytes"] = document.bucket_bytes;
  json["estimated_share"] = document.estimated_share;
  if (document.rehearsed)
    each_rehearsed(*document.rehearsed,
                   [&](const char* name, double figure) { json["rehearsed"][name] = figure; });
}

void write_estimates(const PlanDocument& document, PlanJson& json) {
  json = PlanJson::array();
  for (const NodeEstimate& estimate : document.estimates) {
    PlanJson entry = PlanJson::object();
    each_estimate(estimate, [&](const char* name, double figure) {
      if (figure != 0) entry[name] = figure;
    });
    json.push_back(std::move(entry));
  }
}

void write_nodes(const PlanDocument& document, PlanJson& json) {
  json["cuts"] = PlanJson::array();
  for (const NodeCuts& cuts : document.cuts)
    json["cuts"].push_back(cuts.loops.empty() ? PlanJson::object() : PlanJson(cuts.loops));
  write_estimates(document, json["estimates"]);
  json["exchanges"] = PlanJson::array();
  for (const std::vector<PlannedExchange>& exchanges : document.exchanges) {
    PlanJson list = PlanJson::array();
    for (const PlannedExchange& exchange : exchanges)
      list.push_back({{"pass", exchange.pass},
                      {"input", exchange.input},
                      {"collective", exchange.collective},
                      {"axis", exchange.axis},
                      {"bytes", exchange.bytes},
                      {"us", exchange.us}});
    json["exchanges"].push_back(std::move(list));
  }
  json["nodes"] = PlanJson::array();
  for (const PlannedNode& node : document.nodes)
    json["nodes"].push_back({{"name", node.name},
                             {"stage", node.stage},
                             {"cuts", node.cuts},
                             {"estimate", node.estimate},
                             {"exchanges", node.exchanges}});
  json["weights"] = PlanJson::object();
  for (const PlannedWeight& weight : document.weights)
    json["weights"][weight.name] = weight.dims.empty() ? PlanJson::object() : PlanJson(weight.dims);
}

PlanJson json_without_digest(const PlanDocument& document) {
  PlanJson json;
  write_head(document, json);
  write_nodes(document, json);
  return json;
}

}  // namespace

std::string plan_digest(const PlanDocument& document) {
  return hash_text_of(core::hash_text(text_of(json_without_digest(document))));
}

std::string plan_to_json(const PlanDocument& document) {
  PlanJson json = json_without_digest(document);
  json["digest"] = hash_text_of(core::hash_text(text_of(json)));
  return text_of(json);
}

}  // namespace soapstone::parallel
