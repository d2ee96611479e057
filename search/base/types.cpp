#include "search/base/types.h"

#include <utility>

namespace soapstone::search {

void append_steps(std::vector<Step>& all, std::vector<Step> more) {
  const std::uint32_t sites = all.empty() ? 0 : all.back().site + 1;
  for (Step& step : more) {
    step.site += sites;
    all.push_back(std::move(step));
  }
}

std::string_view to_string(Strategy strategy) {
  switch (strategy) {
  case Strategy::kPortfolio:
    return "portfolio";
  case Strategy::kBacktracking:
    return "backtracking";
  case Strategy::kEqsat:
    return "eqsat";
  case Strategy::kBest:
    return "best";
  }
  return "";
}

std::optional<Strategy> parse_strategy(std::string_view text) {
  for (const Strategy strategy :
       {Strategy::kPortfolio, Strategy::kBacktracking, Strategy::kEqsat, Strategy::kBest})
    if (to_string(strategy) == text) return strategy;
  return std::nullopt;
}

std::string_view to_string(StopReason reason) {
  switch (reason) {
  case StopReason::kExhausted:
    return "search space exhausted";
  case StopReason::kSettled:
    return "no more gains found";
  case StopReason::kBudget:
    return "budget used up";
  case StopReason::kTime:
    return "time used up";
  case StopReason::kInterrupted:
    return "interrupted";
  }
  return "";
}

}  // namespace soapstone::search
