// See drawn_parts.h.
#include "cli/plan/drawn_parts.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace soapstone::cli {
namespace {

enum class DrawnAs : std::uint8_t { kRuns, kBlocks, kPasses };

class PartMerger {
 public:
  PartMerger(const parallel::SimulatedStep& step, DrawnAs as)
      : step_(step), runs_(step.timeline.parts), as_(as), is_critical_(runs_.size()) {
    for (const std::size_t k : step.timeline.critical_path()) is_critical_[k] = true;
  }

  std::vector<DrawnPart> merged() {
    std::vector<std::size_t> order(runs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, {}, [&](std::size_t k) { return std::pair(runs_[k].device, runs_[k].start); });
    for (std::size_t first = 0; first < order.size();) {
      std::size_t last = first;
      while (last + 1 < order.size() && is_one(order[last], order[last + 1])) ++last;
      add(std::span(order).subspan(first, last + 1 - first));
      first = last + 1;
    }
    return std::move(parts_);
  }

 private:
  std::string name_of(std::uint32_t op) const {
    const std::string& name = step_.problem.operators[op].name;
    if (as_ == DrawnAs::kRuns) return name;
    if (as_ == DrawnAs::kBlocks) return name.substr(0, name.find('/'));
    return step_.is_backward[op] ? "backward pass" : "forward pass";
  }

  /// Whether these, of which one is the next after the other on a device, are told as one.
  bool is_one(std::size_t one, std::size_t next) const {
    const parallel::PartRun &a = runs_[one], &b = runs_[next];
    const bool is_update = step_.parts[a.op] == parallel::StepPart::kUpdate ||
                           step_.parts[b.op] == parallel::StepPart::kUpdate;
    return as_ != DrawnAs::kRuns && a.device == b.device && a.end == b.start && !is_update &&
           step_.microbatch_of[a.op] == step_.microbatch_of[b.op] &&
           step_.is_backward[a.op] == step_.is_backward[b.op] && name_of(a.op) == name_of(b.op);
  }

  /// One rectangle for each thing that is done, in the order in which it begins.
  void add(std::span<const std::size_t> group) {
    const std::size_t first = parts_.size();
    for (const std::size_t k : group) {
      const parallel::PartRun& run = runs_[k];
      const parallel::StepPart does = step_.parts[run.op];
      auto at = std::find_if(parts_.begin() + static_cast<std::ptrdiff_t>(first), parts_.end(),
                             [&](const DrawnPart& part) { return part.does == does; });
      if (at == parts_.end())
        at = parts_.insert(
            at, {run.device, 0, 0, does, name_of(run.op), step_.microbatch_of[run.op], false});
      at->end += run.end - run.start;
      at->is_critical = at->is_critical || is_critical_[k];
    }
    parallel::Ticks start = runs_[group.front()].start;
    for (std::size_t k = first; k < parts_.size(); ++k) {
      parts_[k].start = start;
      start = parts_[k].end += start;
    }
  }

  const parallel::SimulatedStep& step_;
  const std::vector<parallel::PartRun>& runs_;
  const DrawnAs as_;
  std::vector<bool> is_critical_;
  std::vector<DrawnPart> parts_;
};

}  // namespace

std::vector<DrawnPart> drawn_parts(const parallel::SimulatedStep& step, std::size_t most) {
  std::vector<DrawnPart> parts;
  for (const DrawnAs as : {DrawnAs::kRuns, DrawnAs::kBlocks, DrawnAs::kPasses}) {
    parts = PartMerger(step, as).merged();
    if (parts.size() <= most) break;
  }
  return parts;
}

}  // namespace soapstone::cli
