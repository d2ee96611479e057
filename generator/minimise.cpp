// See minimise.h. Candidates are looked at in rounds: all of a round against the rules kept before
// it, in parallel; then what is left against each other, in order.
#include "generator/minimise.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>

namespace soapstone::generator {
namespace {

using rules::Rule;
using rules::RuleSet;

class Minimiser {
 public:
  Minimiser(const MinimiseOptions& options, core::ProgressSink& progress,
            const core::StopToken& stop)
      : options_(options), progress_(progress), stop_(stop), rules_(options.background),
        arena_(options.jobs > 0 ? options.jobs : tbb::task_arena::automatic) {}

  std::vector<RuleCandidate> run(std::vector<RuleCandidate> candidates) {
    // Short rounds while much is new.
    constexpr std::size_t kFirstRound = 16, kLongestRound = 1024;
    std::size_t length = kFirstRound;
    for (std::size_t begin = 0; begin < candidates.size() && !stop_.stop_requested();) {
      const std::size_t end = std::min(begin + length, candidates.size());
      round(std::span(candidates).subspan(begin, end - begin));
      begin = end;
      length = std::min(2 * length, kLongestRound);
      progress_.update(begin, candidates.size(), fmt::format("{} kept", kept_.size()));
    }
    return std::move(kept_);
  }

 private:
  void round(std::span<RuleCandidate> candidates) {
    const RuleSet rules(rules_);
    std::vector<char> derived(candidates.size());
    arena_.execute([&] {
      tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t k) {
        derived[k] = stop_.stop_requested() || follows(candidates[k], rules) ? 1 : 0;
      });
    });
    std::vector<RuleCandidate*> open;
    for (std::size_t k = 0; k < candidates.size(); ++k)
      if (derived[k] == 0) open.push_back(&candidates[k]);
    // Where something is not admitted, what it derived must be looked at again.
    while (!open.empty() && !stop_.stop_requested()) open = settle(open);
  }

  /// Keeps what is admitted of what does not follow from each other. Returns what is still open.
  std::vector<RuleCandidate*> settle(const std::vector<RuleCandidate*>& open) {
    std::vector<RuleCandidate*> chosen, others;
    std::vector<Rule> rules = rules_;
    auto set = std::make_unique<RuleSet>(rules);
    for (RuleCandidate* candidate : open) {
      if (follows(*candidate, *set)) {
        others.push_back(candidate);
        continue;
      }
      chosen.push_back(candidate);
      add_rules(*candidate, rules);
      set = std::make_unique<RuleSet>(rules);
    }
    const std::size_t wanted = rules.size();
    if (options_.admit) options_.admit(chosen);
    for (RuleCandidate* candidate : chosen) {
      if (!candidate->forward && !candidate->backward) continue;
      add_rules(*candidate, rules_);
      kept_.push_back(std::move(*candidate));
    }
    return rules_.size() == wanted ? std::vector<RuleCandidate*>{} : others;
  }

  bool follows(const RuleCandidate& candidate, const RuleSet& rules) const {
    return candidate.instance && derivable(candidate.instance->source, candidate.instance->target,
                                           rules, options_.limits);
  }

  static void add_rules(const RuleCandidate& candidate, std::vector<Rule>& rules) {
    for (const auto* direction : {&candidate.forward, &candidate.backward})
      if (*direction)
        rules.insert(rules.end(), (*direction)->instances.begin(), (*direction)->instances.end());
  }

  const MinimiseOptions& options_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  std::vector<Rule> rules_;
  tbb::task_arena arena_;
  std::vector<RuleCandidate> kept_;
};

}  // namespace

std::vector<RuleCandidate> minimise(std::vector<RuleCandidate> candidates,
                                    const MinimiseOptions& options, core::ProgressSink& progress,
                                    const core::StopToken& stop) {
  std::ranges::stable_sort(candidates, more_general);
  return Minimiser(options, progress, stop).run(std::move(candidates));
}

}  // namespace soapstone::generator
