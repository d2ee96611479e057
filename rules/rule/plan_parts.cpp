#include "rules/rule/plan_parts.h"

#include <map>
#include <set>

namespace soapstone::rules {

GraphPart PlanParts::make() {
  parent_.push_back(parent_.size());
  return parent_.back();
}

GraphPart PlanParts::root(GraphPart part) const {
  while (parent_[part] != part) part = parent_[part];
  return part;
}

GraphPart PlanParts::join(GraphPart a, GraphPart b) {
  parent_[root(b)] = root(a);
  return root(a);
}

std::optional<GraphPart> PlanParts::join(std::optional<GraphPart> a, std::optional<GraphPart> b) {
  if (!a || !b) return a ? a : b;
  return join(*a, *b);
}

void PlanParts::add(GraphPart part, PlanStep step, bool is_worth_it) {
  steps_.push_back({part, is_worth_it, std::move(step)});
}

std::vector<RewritePlan> PlanParts::plans() && {
  std::map<GraphPart, RewritePlan> by_part;
  std::set<GraphPart> worth_it;  // the last step of these parts was
  for (Step& step : steps_) {
    const GraphPart part = root(step.part);
    step.step.ends = step.step.ends || worth_it.erase(part) > 0;
    if (step.is_worth_it) worth_it.insert(part);
    by_part[part].steps.push_back(std::move(step.step));
  }
  std::vector<RewritePlan> found;
  for (auto& [part, plan] : by_part) found.push_back(std::move(plan));
  return found;
}

}  // namespace soapstone::rules
