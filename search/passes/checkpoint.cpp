// See checkpoint.h.
#include "search/passes/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/base/file_io.h"
#include "core/base/hash.h"
#include "rules/matching/match_at.h"

namespace soapstone::search {
namespace {

using core::Graph;

/// Those that are made for a graph are made again.
std::uint64_t hash_of(const rules::RuleSet& rules) {
  std::uint64_t hash = 0;
  for (const rules::Rule& rule : rules.rules())
    if (!rule.is_placed) hash = core::hash_combine(hash, core::hash_text(rules::print(rule)));
  return hash;
}

core::Status differs(const CheckpointIdentity& file, const CheckpointIdentity& mine) {
  const auto error = [](std::string message) {
    return core::invalid_input(std::move(message),
                               "give the same options as then, or another file to --resume");
  };
  if (file.model != mine.model) return error("the checkpoint is of another model");
  if (file.rules != mine.rules) return error("the checkpoint was made with other rules");
  if (file.costs != mine.costs)
    return error(fmt::format("the checkpoint was made with other costs: {}, now {}", file.costs,
                             mine.costs));
  if (file.options != mine.options)
    return error(fmt::format("the checkpoint was made with other options: {}, now {}", file.options,
                             mine.options));
  return core::Done{};
}

}  // namespace

CheckpointIdentity identity_of(const Graph& graph, const rules::RuleSet& rules,
                               const cost::CostModel& cost, runtime::Fusion fusion,
                               const SearchOptions& options) {
  // Time and threads change no result of a region that was searched to its end. Nor do strategy and
  // objective: they decide which regions are searched, and with how much budget, which find() asks.
  return {graph.hash(), hash_of(rules),
          fmt::format("{}; fusion {}", cost.description(), runtime::to_string(fusion)),
          fmt::format(
              "--alpha {} --budget {} --patience {} --region {} --memory-limit {} detour {} "
              "growth {}",
              options.alpha, options.budget.value_or(kDefaultBudget), options.patience,
              fmt::join(options.region_sizes, " "), options.memory_mib, options.max_detour,
              options.objective != nullptr ? options.objective->weight_limit().most_growth() : 0)};
}

CheckpointKey key_of(const Region& region, const Way& way) {
  const auto bytes = std::as_bytes(std::span(region.signature));
  const std::uint64_t guide = static_cast<std::uint64_t>(way.guide) << 2;
  const std::uint64_t first = core::hash_combine(way.limit, guide + (way.folds ? 2 : 0));
  return {core::hash_bytes(bytes, first), core::hash_bytes(bytes, first + 1)};
}

core::Status Checkpoint::open(const CheckpointIdentity& identity, const rules::RuleSet& rules) {
  rules_ = &rules;
  written_at_s_ = core::wall_s();
  contents_.identity = identity;
  std::error_code ignored;
  if (!std::filesystem::exists(file_, ignored)) {
    // Write the file now: if it cannot be written, that must show now and not after hours.
    changed_ = true;
    return write();
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const auto file, core::MappedFile::open(file_));
  const auto bytes = file->bytes();
  auto contents = parse_checkpoint({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!contents) return contents.error().at(file_.string());
  if (auto same = differs(contents->identity, identity); !same)
    return same.error().at(file_.string());
  for (const auto& [key, entry] : contents->entries)
    for (const CheckpointEntry::Rewrite& rewrite : entry.rewrites)
      if (rewrite.rule.index() >= rules.rules().size())
        return core::invalid_input(fmt::format("there is no rule number {}", rewrite.rule.value),
                                   "give a file that --resume wrote, or the name of a new one")
            .at(file_.string());
  contents_ = *std::move(contents);
  read_ = contents_.entries.size();
  return core::Done{};
}

bool CheckpointEntry::holds_with(std::uint64_t budget) const {
  switch (stop) {
  case RegionStop::kBudget:
    return expanded == budget;
  case RegionStop::kPatience:
    return expanded < budget;  // with as much, that would have been the reason
  case RegionStop::kExhausted:
  case RegionStop::kMemory:
    return expanded <= budget;
  case RegionStop::kStopped:
    return false;
  }
  return false;
}

std::optional<RegionResult> Checkpoint::find(const Region& region, const Way& way,
                                             std::uint64_t budget, verifier::Admission& admission,
                                             cost::CostModel& cost) const {
  CheckpointEntry entry;
  {
    const std::lock_guard lock(mutex_);
    const auto known = contents_.entries.find(key_of(region, way));
    if (known == contents_.entries.end() || !known->second.holds_with(budget)) return std::nullopt;
    entry = known->second;
  }
  RegionResult result;
  result.expanded = entry.expanded;
  result.expanded_whole = entry.expanded_whole;
  result.built = entry.built;
  result.duplicates = entry.duplicates;
  result.stop = entry.stop;
  result.cost_before_us = result.cost_after_us = cost.graph_cost(region.graph).total_us;
  if (result.cost_before_us != entry.cost_before_us) return std::nullopt;
  Graph graph = region.graph;
  for (const CheckpointEntry::Rewrite& rewrite : entry.rewrites) {
    auto match =
        rules::find_match_at(graph, admission.rules(), rewrite.rule, rewrite.nodes, rewrite.inputs);
    if (!match ||
        !admission.admits(rewrite.rule, *match, verifier::specials_at(region.specials, *match)))
      return std::nullopt;
    auto next = rules::apply(graph, admission.rules()[rewrite.rule], *match);
    if (!next) return std::nullopt;
    graph = *std::move(next);
    const double cost_us = cost.graph_cost(graph).total_us;
    result.steps.push_back({{rewrite.rule, *std::move(match)},
                            nullptr,
                            result.cost_after_us - cost_us,
                            graph.node_bound(),
                            graph.tensor_bound()});
    result.cost_after_us = cost_us;
  }
  if (result.cost_after_us != entry.cost_after_us) return std::nullopt;
  return result;
}

void Checkpoint::add(const Region& region, const Way& way, const RegionResult& found) {
  if (found.stop == RegionStop::kStopped) return;
  CheckpointEntry entry{
      {},          found.cost_before_us, found.cost_after_us, found.expanded, found.expanded_whole,
      found.built, found.duplicates,     found.stop};
  for (const RegionStep& step : found.steps)
    entry.rewrites.push_back(
        {step.rewrite.rule, step.rewrite.match.nodes, step.rewrite.match.inputs});
  const std::lock_guard lock(mutex_);
  contents_.entries.insert_or_assign(key_of(region, way), std::move(entry));
  changed_ = true;
  if (core::wall_s() - written_at_s_ >= interval_s_) write_locked();
}

core::Status Checkpoint::write() {
  const std::lock_guard lock(mutex_);
  if (changed_) write_locked();
  return outcome_;
}

void Checkpoint::write_locked() {
  const std::string text = print(contents_, *rules_);
  changed_ = false;
  const auto save = [&]() -> core::Status {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto file, core::AtomicFile::create(file_));
    SOAPSTONE_RETURN_IF_ERROR(file->write(std::as_bytes(std::span(text))));
    return file->commit();
  };
  outcome_ = save();
  written_at_s_ = core::wall_s();
}

}  // namespace soapstone::search
