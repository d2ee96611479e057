#include "cli/plan/plan_blocks.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/terminal/table.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {
namespace {

/// Nodes in a row whose names begin alike up to the first `/`.
struct Block {
  std::string name;
  std::size_t begin = 0, end = 0;  ///< In the plan's nodes.
};

std::string name_within(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

std::vector<Block> blocks_of(const parallel::PlanDocument& plan) {
  std::vector<Block> blocks;
  for (std::size_t k = 0; k < plan.nodes.size(); ++k) {
    const std::string name = plan.nodes[k].name.substr(0, plan.nodes[k].name.find('/'));
    if (blocks.empty() || blocks.back().name != name) blocks.push_back({name, k, k});
    blocks.back().end = k + 1;
  }
  return blocks;
}

bool are_alike(const parallel::PlanDocument& plan, const Block& a, const Block& b) {
  if (a.end - a.begin != b.end - b.begin || a.end - a.begin == 1) return false;
  for (std::size_t k = 0; k < a.end - a.begin; ++k) {
    const parallel::PlannedNode &x = plan.nodes[a.begin + k], &y = plan.nodes[b.begin + k];
    if (name_within(x.name) != name_within(y.name) || x.cuts != y.cuts ||
        x.exchanges != y.exchanges)
      return false;
  }
  return true;
}

std::string cuts_text(const parallel::PlanDocument& plan, const parallel::PlannedNode& node) {
  std::vector<std::string> cuts;
  for (const auto& [loop, axes] : plan.cuts[node.cuts].loops)
    for (const std::string& name : axes)
      for (const parallel::PlanAxis& axis : plan.axes)
        if (axis.name == name)
          cuts.push_back(fmt::format("{} by {} ({}{})", loop, axis.size, name,
                                     axis.shares.empty() ? "" : ", uneven"));
  return fmt::format("{}", fmt::join(cuts, ", "));
}

std::string exchange_text(const parallel::PlannedExchange& exchange) {
  std::string collective = exchange.collective;
  std::ranges::replace(collective, '_', '-');
  const char* const often = exchange.pass == "sum" ? ", once a step" : "";
  return fmt::format("{} {} of {} ({}), {}{}",
                     exchange.pass == "sum" ? "gradient:" : exchange.pass + ":", collective,
                     bytes_text(exchange.bytes), exchange.axis, time_text(exchange.us), often);
}

/// Explains the names of the loops and axes that cut something.
std::string legend(const parallel::PlanDocument& plan) {
  static const std::vector<std::pair<std::string, std::string>> kWords = {
      {"sample", "batch, heads, tokens: what results and data have and weights have not"},
      {"attribute", "positions within a sample"},
      {"parameter", "columns of a weight, which are those of the result"},
      {"reduction", "what is summed: parts are partial sums"},
      {"joined", "what a softmax or norm runs over: parts exchange a number for each row"}};
  std::set<std::string> used;
  for (const parallel::NodeCuts& cuts : plan.cuts)
    for (const auto& [loop, axes] : cuts.loops)
      used.insert(loop.substr(0, loop.find_first_of("0123456789")));
  std::string text;
  for (const auto& [role, words] : kWords)
    if (used.contains(role)) text += fmt::format("  {}: {}\n", role, words);
  for (const parallel::PlanAxis& axis : plan.axes)
    if (axis.size > 1)
      text += fmt::format("  axis {}: {} devices, {}\n", axis.name, axis.size,
                          axis.stride == 1 ? std::string("next to each other")
                                           : fmt::format("each {} further", axis.stride));
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string plan_blocks_text(const parallel::PlanDocument& plan) {
  const std::vector<Block> blocks = blocks_of(plan);
  Table table({{"operator"}, {"stage", Align::kRight}, {"cut"}, {"exchanged, for a microbatch"}});
  for (std::size_t first = 0; first < blocks.size();) {
    std::size_t last = first;
    while (last + 1 < blocks.size() && are_alike(plan, blocks[first], blocks[last + 1])) ++last;
    const Block& block = blocks[first];
    const std::int64_t from = plan.nodes[block.begin].stage,
                       to = plan.nodes[blocks[last].end - 1].stage;
    const std::string stage = from == to ? fmt::to_string(from) : fmt::format("{}..{}", from, to);
    const bool is_repeated = last > first;
    if (is_repeated)
      table.add_row(
          {fmt::format("{} to {}, {} alike:", block.name, blocks[last].name, last - first + 1),
           stage, "", ""});
    for (std::size_t k = block.begin; k < block.end; ++k) {
      const parallel::PlannedNode& node = plan.nodes[k];
      std::string name = is_repeated ? "  " + name_within(node.name) : node.name;
      std::string cuts = cuts_text(plan, node);
      std::string shown_stage = is_repeated ? "" : fmt::to_string(node.stage);
      const auto& exchanges = plan.exchanges[node.exchanges];
      if (exchanges.empty()) table.add_row({name, shown_stage, cuts, ""});
      for (const parallel::PlannedExchange& exchange : exchanges) {
        table.add_row({name, shown_stage, cuts, exchange_text(exchange)});
        name = shown_stage = cuts = "";
      }
    }
    first = last + 1;
  }
  return table.to_string() + legend(plan);
}

}  // namespace soapstone::cli
