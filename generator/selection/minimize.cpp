// See minimize.h. Candidates are looked at in rounds: all of a round against the rules kept before
// it, in parallel; then what is left against each other, in order. What follows mostly does so in a
// small e-graph, and what does not follow fills any: so all e-graphs are small there. What followed
// at a few ranks of a family is then looked at at all of them. In the end each that is kept is
// looked at again, in a large e-graph: a rule that came after it may derive it.
#include "generator/selection/minimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>

#include "core/tasks/tasks.h"

namespace soapstone::generator {
namespace {

using rules::Rule;
using rules::SaturationRules;

class Minimizer {
 public:
  Minimizer(const MinimizeOptions& options, core::ProgressSink& progress,
            const core::StopToken& stop)
      : options_(options), progress_(progress), stop_(stop), rules_(options.background),
        arena_(options.jobs), first_limits_(options.limits) {
    constexpr std::size_t kFirstNodes = 200;
    first_limits_.nodes = std::min(first_limits_.nodes, kFirstNodes);
  }

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
    look_at_all_ranks();
    return without_late_ones();
  }

 private:
  struct Kept {
    RuleCandidate candidate;
    std::uint32_t family = 0;  ///< The family of its rules.
  };

  void round(std::span<RuleCandidate> candidates) {
    std::vector<std::uint8_t> derived(candidates.size());
    arena_.parallel_for(0, candidates.size(), [&](std::size_t k) {
      derived[k] = stop_.stop_requested() || follows(candidates[k], rules_) ? 1 : 0;
    });
    std::vector<RuleCandidate*> open;
    for (std::size_t k = 0; k < candidates.size(); ++k)
      (derived[k] == 0 ? open : left_out_).push_back(&candidates[k]);
    // If an equality is not admitted, whatever was derived with it must be looked at again.
    while (!open.empty() && !stop_.stop_requested()) open = settle(open);
  }

  /// Chooses candidates that do not follow from each other and keeps those that are admitted.
  /// Returns the candidates that are still open.
  std::vector<RuleCandidate*> settle(const std::vector<RuleCandidate*>& open) {
    std::vector<RuleCandidate*> chosen, others;
    SaturationRules rules = rules_;
    for (RuleCandidate* candidate : open) {
      if (follows(*candidate, rules)) {
        others.push_back(candidate);
        continue;
      }
      chosen.push_back(candidate);
      add_directions(*candidate, rules);
    }
    using FormKey = std::tuple<int, bool, bool>;
    const auto key_of_form = [](const RuleCandidate* c) {
      return FormKey{c->form, c->forward.has_value(), c->backward.has_value()};
    };
    std::vector<FormKey> wanted;
    std::ranges::transform(chosen, std::back_inserter(wanted), key_of_form);
    if (options_.admit) options_.admit(chosen);
    std::vector<FormKey> admitted;
    std::ranges::transform(chosen, std::back_inserter(admitted), key_of_form);
    for (RuleCandidate* candidate : chosen) {
      if (!candidate->forward && !candidate->backward) continue;
      const std::uint32_t family = add_directions(*candidate, rules_);
      kept_.push_back({std::move(*candidate), family});
    }
    if (admitted != wanted) return others;
    left_out_.insert(left_out_.end(), others.begin(), others.end());
    return {};
  }

  /// Keeps of what was left out that which does not follow at some rank.
  void look_at_all_ranks() {
    at_all_ranks_ = true;
    std::vector<RuleCandidate*> looked_at = std::exchange(left_out_, {});
    std::ranges::sort(looked_at);  // as they stand in the list: most general first
    std::vector<std::uint8_t> derived(looked_at.size());
    std::atomic<std::size_t> done = 0;
    arena_.parallel_for(0, looked_at.size(), [&](std::size_t k) {
      derived[k] = stop_.stop_requested() || follows_further(*looked_at[k], rules_, first_limits_);
      progress_.update(++done, looked_at.size(), "looking at all ranks");
    });
    std::vector<RuleCandidate*> open;
    for (std::size_t k = 0; k < looked_at.size(); ++k)
      if (derived[k] == 0) open.push_back(looked_at[k]);
    while (!open.empty() && !stop_.stop_requested()) open = settle(open);
  }

  bool follows(const RuleCandidate& candidate, const SaturationRules& rules,
               const DerivationLimits& limits) const {
    return !candidate.examples.empty() && follow(candidate.examples, rules, limits) &&
           (!at_all_ranks_ || follows_further(candidate, rules, limits));
  }
  static bool follows_further(const RuleCandidate& candidate, const SaturationRules& rules,
                              const DerivationLimits& limits) {
    return follow(further_examples(candidate), rules, limits);
  }
  static bool follow(const std::vector<Sides>& examples, const SaturationRules& rules,
                     const DerivationLimits& limits) {
    return std::ranges::all_of(examples, [&](const Sides& example) {
      return derivable(example.source, example.target, rules, limits);
    });
  }
  bool follows(const RuleCandidate& candidate, const SaturationRules& rules) const {
    return follows(candidate, rules, first_limits_);
  }

  /// Least general first, each is dropped if all others derive it. Those of a block are tried in
  /// parallel with all that is kept so far; what follows then is tried again if others were
  /// dropped.
  std::vector<RuleCandidate> without_late_ones() {
    DerivationLimits limits = options_.limits;
    limits.left_out.assign(rules_.family_count(), false);
    const auto follows_from_others = [&](std::size_t k) {
      DerivationLimits without = limits;
      without.left_out[kept_[k].family] = true;
      return follows(kept_[k].candidate, rules_, without);
    };
    constexpr std::size_t kBlock = 32;
    for (std::size_t end = kept_.size(); end > 0 && !stop_.stop_requested();) {
      const std::size_t begin = end - std::min(end, kBlock);
      std::vector<std::uint8_t> derived(end - begin);
      arena_.parallel_for(begin, end, [&](std::size_t k) {
        derived[k - begin] = !stop_.stop_requested() && follows_from_others(k) ? 1 : 0;
      });
      bool is_first = true;
      for (std::size_t k = end; k-- > begin && !stop_.stop_requested();) {
        if (derived[k - begin] == 0 || !(is_first || follows_from_others(k))) continue;
        limits.left_out[kept_[k].family] = true;
        is_first = false;
      }
      end = begin;
      progress_.update(kept_.size() - begin, kept_.size(), "looking again at what is kept");
    }
    std::vector<RuleCandidate> result;
    for (Kept& kept : kept_)
      if (!limits.left_out[kept.family]) result.push_back(std::move(kept.candidate));
    return result;
  }

  const MinimizeOptions& options_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  SaturationRules rules_;
  core::TaskArena arena_;
  DerivationLimits first_limits_;
  std::vector<Kept> kept_;
  /// Candidates that followed.
  std::vector<RuleCandidate*> left_out_;
  bool at_all_ranks_ = false;  ///< What follows is to follow at all ranks.
};

}  // namespace

std::uint32_t add_directions(const RuleCandidate& candidate, SaturationRules& rules) {
  const std::string name = fmt::format("kept_{}", rules.size());
  for (const auto* direction : {&candidate.forward, &candidate.backward, &candidate.expansion}) {
    if (!*direction) continue;
    for (Rule rule : (*direction)->instances) {
      rule.base_name = name;
      CHECK(rules.add(rule).ok(), "a rule that can be matched cannot be matched in an e-graph");
    }
  }
  return rules[rules.size() - 1].family;
}

std::vector<RuleCandidate> minimize(std::vector<RuleCandidate> candidates,
                                    const MinimizeOptions& options, core::ProgressSink& progress,
                                    const core::StopToken& stop) {
  std::ranges::stable_sort(candidates, more_general);
  return Minimizer(options, progress, stop).run(std::move(candidates));
}

}  // namespace soapstone::generator
