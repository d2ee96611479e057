// Reads plans from JSON and refuses what contradicts itself; docs/plans.md describes the format.
#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "parallel/plans/plan_cuts.h"
#include "parallel/plans/plan_document.h"
#include "parallel/plans/plan_fields.h"
#include "parallel/topology/json_parser.h"
#include "parallel/topology/json_reader.h"

namespace soapstone::parallel {
namespace {

using PlanReader = JsonReader<nlohmann::ordered_json>;

constexpr std::int64_t kMostDevicesPlanned = std::int64_t{1} << 31;
constexpr std::int64_t kMostInputs = 1 << 20;
constexpr std::int64_t kMostChunks = 1 << 20;
constexpr std::int64_t kMostMicrobatches = std::int64_t{1} << 31;

std::uint64_t read_hash(const PlanReader& field) {
  constexpr std::size_t kDigits = 16;
  const std::string text = field.text();
  std::uint64_t hash = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, hash, 16);
  if (error != std::errc() || last != end || text.size() != kDigits)
    field.fail(field.found() + " is no hash, which has 16 hexadecimal digits");
  return hash;
}

/// A role, or a role and a number from 2 on: `sample`, `reduction2`.
bool is_loop_name(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string_view number = name.substr(digits);
  if (number == "1" || number.starts_with('0')) return false;
  for (const std::string_view role : kLoopRoles)
    if (name.substr(0, digits) == role) return true;
  return false;
}

class PlanFileReader {
 public:
  explicit PlanFileReader(const nlohmann::ordered_json& json) : document_(json, "", error_) {}

  core::Result<PlanDocument> read() {
    check_version();
    document_.expect_keys(keys_of_document());
    read_head();
    read_pipeline();
    read_axes();
    read_figures();
    read_estimates();
    read_cuts();
    read_exchanges();
    read_nodes();
    read_weights();
    if (!error_)
      if (const auto stages = check_stages(plan_); !stages) error_ = stages.error().at("nodes");
    if (!error_) check_digest();
    if (error_) {
      if (error_->hint.empty()) error_->hint = "plan again with plan-graph, or mend this place";
      return *error_;
    }
    return std::move(plan_);
  }

 private:
  using AxesByName = std::map<std::string, std::vector<std::string>>;

  void check_version() {
    const PlanReader version = document_.field("version");
    if (version.integer() != PlanDocument::kVersion)
      version.fail(fmt::format("{} is no version that is known here, only {} is", version.found(),
                               PlanDocument::kVersion),
                   "plan again with the plan-graph that is installed here");
  }

  std::vector<std::string> keys_of_document() const {
    std::vector<std::string> keys = {
        "version",        "model",           "topology",     "strategy", "devices",
        "training",       "optimizer",       "cuts_states",  "pipeline", "axes",
        "cuts",           "estimates",       "exchanges",    "nodes",    "weights",
        "lower_bound_us", "estimated_share", "bucket_bytes", "digest",   "rehearsed"};
    each_figure(plan_.time, [&](const char* name, double) { keys.emplace_back(name); });
    return keys;
  }

  void read_head() {
    plan_.model_hash = read_hash(document_.field("model"));
    const PlanReader topology = document_.field("topology");
    topology.expect_keys({"name", "hash"});
    plan_.topology = topology.field("name").text();
    plan_.topology_hash = read_hash(topology.field("hash"));
    plan_.strategy = document_.field("strategy").text();
    plan_.devices = document_.field("devices").integer(1, kMostDevicesPlanned);
    plan_.is_training = document_.field("training").truth();
    plan_.cuts_states = document_.field("cuts_states").truth();
    read_optimizer();
  }

  void read_optimizer() {
    const PlanReader optimizer = document_.field("optimizer");
    const auto name = std::ranges::find(kOptimizerNames, optimizer.text());
    if (name != kOptimizerNames.end())
      plan_.optimizer = static_cast<Optimizer>(name - kOptimizerNames.begin());
    if (plan_.is_training ? name == kOptimizerNames.end() : !optimizer.text().empty())
      optimizer.fail(fmt::format("{} is none of {}, or of a plan without training",
                                 optimizer.found(), fmt::join(kOptimizerNames, ", ")));
  }

  void read_pipeline() {
    const PlanReader pipeline = document_.field("pipeline");
    std::vector<std::string> keys = {"recomputes", "sums_behind", "gathers_once"};
    each_size(plan_.shape, [&](const char* name, std::int64_t) { keys.emplace_back(name); });
    pipeline.expect_keys(keys);
    plan_.shape.stages = pipeline.field("stages").integer(1, plan_.devices);
    plan_.shape.chunks = pipeline.field("chunks").integer(1, kMostChunks);
    plan_.shape.microbatches = pipeline.field("microbatches").integer(1, kMostMicrobatches);
    plan_.shape.loss_chunks = pipeline.field("loss_chunks").integer(1, kMostChunks);
    const PlanReader recomputes = pipeline.field("recomputes");
    const auto level = std::ranges::find(kRecomputeNames, recomputes.text());
    if (level == kRecomputeNames.end())
      recomputes.fail(
          fmt::format("{} is none of {}", recomputes.found(), fmt::join(kRecomputeNames, ", ")));
    else
      plan_.shape.recompute = static_cast<Recompute>(level - kRecomputeNames.begin());
    plan_.shape.sums_behind = pipeline.field("sums_behind").truth();
    plan_.shape.gathers_once = pipeline.field("gathers_once").truth();
    if (!plan_.is_training && plan_.shape.loss_chunks > 1)
      pipeline.field("loss_chunks").fail("only training has a loss");
    if (!plan_.is_training && plan_.shape.recompute != Recompute::kNothing)
      pipeline.fail("only training computes anything again");
    if (plan_.shape.chunks > 1 && plan_.shape.stages == 1)
      pipeline.field("chunks").fail("a single stage is not in pieces");
  }

  void read_shares(const PlanReader& shares, PlanAxis& axis) {
    shares.for_each([&](const PlanReader& share) {
      axis.shares.push_back(share.integer(1, kMostDevicesPlanned));
    });
    if (static_cast<std::int64_t>(axis.shares.size()) != axis.size)
      return shares.fail(fmt::format("{} shares are not one for each of {} positions",
                                     axis.shares.size(), axis.size));
    if (std::ranges::adjacent_find(axis.shares, std::ranges::not_equal_to()) == axis.shares.end())
      return shares.fail("all positions have the same share", "leave `shares` out");
  }

  /// Axes are those of a MeshShape, innermost first.
  void read_axes() {
    const PlanReader axes = document_.field("axes");
    std::int64_t stride = 1;
    axes.for_each([&](const PlanReader& entry) {
      entry.expect_keys({"name", "size", "stride", "shares"});
      PlanAxis axis{entry.field("name").text(), entry.field("size").integer(1, plan_.devices),
                    entry.field("stride").integer(1, plan_.devices)};
      const std::size_t k = plan_.axes.size();
      if (k < kAxisNames.size() && axis.name != kAxisNames[k])
        entry.field("name").fail(fmt::format("'{}' is not '{}'", axis.name, kAxisNames[k]));
      if (axis.stride != stride)
        entry.field("stride").fail(
            fmt::format("{} is not {}, the product of the sizes before it", axis.stride, stride));
      stride = std::min(stride * axis.size, 2 * kMostDevicesPlanned);
      if (entry.has("shares")) read_shares(entry.field("shares"), axis);
      if (plan_.shape.is_uneven && axis.size > 1)
        entry.fail("only the outermost axis has `shares`");
      plan_.shape.is_uneven |= !axis.shares.empty();
      plan_.axes.push_back(std::move(axis));
    });
    if (plan_.axes.size() != kAxisNames.size())
      return axes.fail(fmt::format("there are {} axes and not {}: {}", plan_.axes.size(),
                                   kAxisNames.size(), fmt::join(kAxisNames, ", ")));
    plan_.shape.model = plan_.axes[0].size;
    plan_.shape.any = plan_.axes[1].size;
    plan_.shape.batch = plan_.axes[2].size;
    if (stride * plan_.shape.stages != plan_.devices)
      axes.fail(fmt::format("{} stages of {} devices are not {} devices", plan_.shape.stages,
                            stride, plan_.devices));
  }

  void read_figures() {
    each_figure(plan_.time, [&](const char* name, double& figure) {
      figure = document_.field(name).not_negative();
    });
    plan_.lower_bound_us = document_.field("lower_bound_us").not_negative();
    plan_.bucket_bytes = document_.field("bucket_bytes").not_negative();
    plan_.estimated_share = document_.field("estimated_share").not_negative();
    if (plan_.estimated_share > 1)
      document_.field("estimated_share").fail("a share is not more than 1");
    if (document_.has("rehearsed")) read_rehearsed(document_.field("rehearsed"));
  }

  void read_rehearsed(const PlanReader& rehearsed) {
    RehearsedStep& step = plan_.rehearsed.emplace();
    std::vector<std::string> keys;
    each_rehearsed(step, [&](const char* name, double&) { keys.emplace_back(name); });
    rehearsed.expect_keys(keys);
    each_rehearsed(step, [&](const char* name, double& figure) {
      figure = rehearsed.field(name).not_negative();
    });
  }

  /// What is 0 is left out.
  void read_estimates() {
    std::vector<std::string> keys;
    const NodeEstimate none;
    each_estimate(none, [&](const char* name, double) { keys.emplace_back(name); });
    document_.field("estimates").for_each([&](const PlanReader& entry) {
      entry.expect_keys(keys);
      NodeEstimate& estimate = plan_.estimates.emplace_back();
      each_estimate(estimate, [&](const char* name, double& figure) {
        if (entry.has(name)) figure = entry.field(name).not_negative();
      });
    });
  }

  /// What is cut along which axes, none of which cuts it twice.
  AxesByName read_cut(const PlanReader& entry) const {
    AxesByName cuts;
    std::set<std::string> used;
    entry.for_each_field([&](const std::string& key, const PlanReader& axes) {
      axes.for_each([&](const PlanReader& axis) {
        const std::string name = axis.text();
        if (std::ranges::find(kAxisNames, name) == kAxisNames.end())
          axis.fail(fmt::format("there is no axis '{}'", name),
                    fmt::format("the axes are {}", fmt::join(kAxisNames, ", ")));
        if (!used.insert(name).second)
          axis.fail(fmt::format("the parts overlap: the axis '{}' cuts twice", name));
        cuts[key].push_back(name);
      });
      if (!cuts.contains(key)) axes.fail("no axis is named");
    });
    return cuts;
  }

  void read_cuts() {
    document_.field("cuts").for_each([&](const PlanReader& entry) {
      plan_.cuts.push_back({read_cut(entry)});
      for (const auto& [loop, axes] : plan_.cuts.back().loops)
        if (!is_loop_name(loop))
          entry.fail(fmt::format("there is no loop '{}'", loop),
                     fmt::format("loops are {}, with a number from 2 on where there are several",
                                 fmt::join(kLoopRoles, ", ")));
    });
  }

  /// One of the words, or an error that lists them.
  template <class Words>
  static std::string read_word(const PlanReader& entry, const Words& words) {
    std::string word = entry.text();
    if (std::ranges::find(words, word) == std::ranges::end(words))
      entry.fail(fmt::format("'{}' is none of {}", word, fmt::join(words, ", ")));
    return word;
  }

  void read_exchanges() {
    std::vector<std::string_view> collectives;
    for (const Collective what : {Collective::kAllReduce, Collective::kReduceScatter,
                                  Collective::kAllGather, Collective::kAllToAll})
      collectives.push_back(to_string(what));
    document_.field("exchanges").for_each([&](const PlanReader& list) {
      std::vector<PlannedExchange>& exchanges = plan_.exchanges.emplace_back();
      list.for_each([&](const PlanReader& entry) {
        entry.expect_keys({"pass", "input", "collective", "axis", "bytes", "us"});
        exchanges.push_back({read_word(entry.field("pass"), kExchangePasses),
                             entry.field("input").integer(0, kMostInputs),
                             read_word(entry.field("collective"), collectives),
                             read_word(entry.field("axis"), kAxisNames),
                             entry.field("bytes").not_negative(),
                             entry.field("us").not_negative()});
      });
    });
  }

  static std::size_t read_index(const PlanReader& entry, std::size_t size) {
    return static_cast<std::size_t>(entry.integer(0, static_cast<std::int64_t>(size) - 1));
  }

  void read_nodes() {
    std::set<std::string> names;
    document_.field("nodes").for_each([&](const PlanReader& entry) {
      entry.expect_keys({"name", "stage", "cuts", "estimate", "exchanges"});
      PlannedNode node{entry.field("name").text(),
                       entry.field("stage").integer(0, plan_.shape.stages - 1)};
      if (!names.insert(node.name).second)
        entry.field("name").fail(fmt::format("the name '{}' is there twice", node.name));
      node.cuts = read_index(entry.field("cuts"), plan_.cuts.size());
      node.estimate = read_index(entry.field("estimate"), plan_.estimates.size());
      node.exchanges = read_index(entry.field("exchanges"), plan_.exchanges.size());
      plan_.nodes.push_back(std::move(node));
    });
  }

  void read_weights() {
    document_.field("weights").for_each_field([&](const std::string& name, const PlanReader& dims) {
      plan_.weights.push_back({name, read_cut(dims)});
      for (const auto& [dim, axes] : plan_.weights.back().dims)
        if (!parse_digit_name(dim))
          dims.fail(
              fmt::format("'{}' is no number of a dimension", dim),
              "write `1` for a dimension, `1:64:768` for a digit that moves by 64 elements and "
              "repeats every 768");
    });
  }

  /// Files that people wrote have no digest.
  void check_digest() {
    if (!document_.has("digest")) return;
    const PlanReader digest = document_.field("digest");
    const std::string computed = plan_digest(plan_);
    if (!error_ && digest.text() != computed)
      digest.fail(fmt::format("{} is not that of the contents, {}: they were changed after the "
                              "plan was written",
                              digest.found(), computed),
                  "plan again with plan-graph, or leave the digest out if the change is meant");
  }

  std::optional<core::Error> error_;
  const PlanReader document_;
  PlanDocument plan_;
};

}  // namespace

core::Result<PlanDocument> plan_from_json(std::string_view text) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto json, parse_json<nlohmann::ordered_json>(text));
  return PlanFileReader(json).read();
}

}  // namespace soapstone::parallel
