#include "transforms/base/sequence_parts.h"

#include <map>
#include <set>

namespace soapstone::transforms {

GraphPart SequenceParts::make() {
  parent_.push_back(parent_.size());
  return parent_.back();
}

GraphPart SequenceParts::root(GraphPart part) const {
  while (parent_[part] != part) part = parent_[part];
  return part;
}

GraphPart SequenceParts::join(GraphPart a, GraphPart b) {
  parent_[root(b)] = root(a);
  return root(a);
}

std::optional<GraphPart> SequenceParts::join(std::optional<GraphPart> a,
                                             std::optional<GraphPart> b) {
  if (!a || !b) return a ? a : b;
  return join(*a, *b);
}

void SequenceParts::add(GraphPart part, RewriteStep step, bool is_worth_it) {
  steps_.push_back({part, is_worth_it, std::move(step)});
}

std::vector<RewriteSequence> SequenceParts::plans() && {
  std::map<GraphPart, RewriteSequence> by_part;
  std::set<GraphPart> worth_it;  // the last step of these parts was
  for (Step& step : steps_) {
    const GraphPart part = root(step.part);
    step.step.ends = step.step.ends || worth_it.erase(part) > 0;
    if (step.is_worth_it) worth_it.insert(part);
    by_part[part].steps.push_back(std::move(step.step));
  }
  std::vector<RewriteSequence> found;
  for (auto& [part, plan] : by_part) found.push_back(std::move(plan));
  return found;
}

}  // namespace soapstone::transforms
