// Either all changes together are faster, and each group has to show that it is no burden; or they
// are not, and each group has to show that it is a gain.
#include "search/trials/trials.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "search/baseline/simplify.h"

namespace soapstone::search {
namespace {

using core::Graph;
using Selection = std::vector<bool>;  // by site

class TrialRun {
 public:
  TrialRun(const Graph& base, const Candidate& candidate, double cost_before_us,
           verifier::Admission& rules, TrialClock& clock, const TrialOptions& options,
           core::ProgressSink& progress, const core::StopToken& stop, TrialReport& report)
      : candidate_(candidate), cost_before_us_(cost_before_us),
        replay_(base, candidate.steps, rules), clock_(clock), options_(options),
        progress_(progress), stop_(stop), report_(report), started_s_(core::wall_s()),
        now_(replay_.with(Selection(replay_.sites()))) {}

  Replayed run() {
    std::deque<TrialGroup> groups = groups_to_try();
    planned_ = report_.trials.size() + groups.size() + (groups.size() > 1 ? 1 : 0);
    if (groups.size() > 1 && !is_over()) add(everything());
    while (!groups.empty() && !is_over()) {
      const TrialGroup group = std::move(groups.front());
      groups.pop_front();
      if (is_in(group) ? keep(group) : add(group)) continue;
      for (TrialGroup& part : parts_of(group)) {
        groups.push_back(std::move(part));
        ++planned_;
      }
    }
    return std::move(now_);
  }

 private:
  /// One group for each list of rules; those with small gains are one.
  std::deque<TrialGroup> groups_to_try() const {
    std::deque<TrialGroup> groups;
    TrialGroup rest{"the rest", {}, 0};
    for (TrialGroup& group : group_sites(replay_.steps())) {
      if (group.gain_us >= options_.small_share * cost_before_us_) {
        groups.push_back(std::move(group));
      } else {
        rest.gain_us += group.gain_us;
        rest.sites.insert(rest.sites.end(), group.sites.begin(), group.sites.end());
      }
    }
    std::ranges::sort(rest.sites);
    if (!rest.sites.empty()) groups.push_back(std::move(rest));
    return groups;
  }

  TrialGroup everything() const {
    TrialGroup all{"everything", {}, cost_before_us_ - candidate_.cost_us};
    for (std::uint32_t site = 0; site < replay_.sites(); ++site) all.sites.push_back(site);
    return all;
  }

  /// The kinds of sites in a group that did no good as a whole; none if it has one kind alone.
  std::vector<TrialGroup> parts_of(const TrialGroup& group) const {
    std::vector<Step> steps;
    for (const Step& step : replay_.steps())
      if (std::ranges::binary_search(group.sites, step.site)) steps.push_back(step);
    std::vector<TrialGroup> parts = group_sites(steps, true);
    if (parts.size() < 2) parts.clear();
    std::erase_if(parts, [&](const TrialGroup& part) {
      return part.gain_us < options_.small_share * cost_before_us_;
    });
    return parts;
  }

  bool is_over() const {
    return stop_.stop_requested() || !report_.given_up.empty() ||
           core::wall_s() - started_s_ >= options_.time_s ||
           report_.trials.size() >= static_cast<std::size_t>(options_.most);
  }

  bool is_in(const TrialGroup& group) const {
    return std::ranges::any_of(group.sites, [&](std::uint32_t site) { return now_.applied[site]; });
  }

  Replayed changed(const TrialGroup& group, bool with) const {
    Selection chosen = now_.applied;
    for (const std::uint32_t site : group.sites) chosen[site] = with;
    return replay_.with(chosen);
  }

  /// Adds a group if the model is faster with it, beyond noise.
  bool add(const TrialGroup& group) {
    Replayed with = changed(group, true);
    Trial trial = trial_of(group);
    if (with.applied == now_.applied) {
      trial.verdict = Verdict::kNotApplicable;
      return note(std::move(trial));
    }
    if (!options_.weight_limit.allows(with.graph)) {
      trial.note = "the weights would be larger than they may be";
      return note(std::move(trial));
    }
    if (measure(trial, now_.graph, with.graph) && trial.measured.low > 1) {
      trial.verdict = Verdict::kKept;
      now_ = std::move(with);
    }
    return note(std::move(trial));
  }

  /// Leaves a group out, and what stands on it, unless the model is slower without it.
  bool keep(const TrialGroup& group) {
    Replayed without = changed(group, false);
    Trial trial = trial_of(group);
    // All together were seen to be faster, so what cannot be judged alone stays.
    if (!options_.weight_limit.allows(without.graph) ||
        !measure(trial, without.graph, now_.graph) || trial.measured.median >= 1) {
      trial.verdict = Verdict::kKept;
    } else {
      now_ = std::move(without);
    }
    return note(std::move(trial));
  }

  Trial trial_of(const TrialGroup& group) const {
    const double after_us = std::max(cost_before_us_ - group.gain_us, 1e-3 * cost_before_us_);
    return {group.what, group.sites.size(), cost_before_us_ / after_us, {}, Verdict::kLeftOut, {}};
  }

  /// False: it could not be measured, and the trial says why.
  bool measure(Trial& trial, const Graph& without, const Graph& with) {
    const double left_s = options_.time_s - (core::wall_s() - started_s_);
    const auto to_come = static_cast<double>(
        std::max<std::size_t>(planned_, report_.trials.size() + 1) - report_.trials.size());
    const double budget_s = std::clamp(left_s / to_come, options_.least_s, options_.most_s);
    const auto compared =
        clock_.compare(merge_duplicates(without), merge_duplicates(with), budget_s, stop_);
    if (compared) {
      trial.measured = compared->ratio;
      return true;
    }
    trial.verdict = Verdict::kNotMeasurable;
    trial.note = compared.error().message;
    is_cut_short_ = compared.error().code == core::ErrorCode::kInterrupted;
    if (compared.error().code == core::ErrorCode::kUnavailable) report_.given_up = trial.note;
    return false;
  }

  /// A trial that an interrupt ended has no verdict and is none.
  bool note(Trial trial) {
    const bool kept = trial.verdict == Verdict::kKept;
    if (is_cut_short_) return kept;
    report_.trials.push_back(std::move(trial));
    const Trial& last = report_.trials.back();
    progress_.update(
        report_.trials.size(), std::max(planned_, report_.trials.size()),
        fmt::format("{} {}, {:.3f}x", last.what, to_string(last.verdict), last.measured.median));
    return kept;
  }

  const Candidate& candidate_;
  const double cost_before_us_;
  const SiteReplay replay_;
  TrialClock& clock_;
  const TrialOptions& options_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  TrialReport& report_;
  const double started_s_;
  std::size_t planned_ = 0;    ///< Trials made, and those to come.
  Replayed now_;               ///< The fastest so far.
  bool is_cut_short_ = false;  ///< The last trial was interrupted.
};

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
  case Verdict::kKept:
    return "kept";
  case Verdict::kLeftOut:
    return "left out";
  case Verdict::kNotApplicable:
    return "not applicable";
  case Verdict::kNotMeasurable:
    return "not measurable";
  }
  return "";
}

std::vector<TrialGroup> group_sites(const std::vector<Step>& steps, bool by_kind) {
  struct Part {
    std::string what;
    std::uint64_t kind = 0;
    double gain_us = 0;
  };
  std::map<std::uint32_t, Part> sites;
  for (const Step& step : steps) {
    Part& part = sites[step.site];
    part.what += (part.what.empty() ? "" : " + ") + step.base_rule;
    part.kind = by_kind ? step.kind : 0;
    part.gain_us += step.gain_us;
  }
  std::map<std::pair<std::string, std::uint64_t>, TrialGroup> groups;
  for (const auto& [site, part] : sites) {
    TrialGroup& group = groups[{part.what, part.kind}];
    group.what = part.what;
    group.sites.push_back(site);
    group.gain_us += part.gain_us;
  }
  std::vector<TrialGroup> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &TrialGroup::gain_us);
  return sorted;
}

Replayed run_trials(const Graph& base, const Candidate& candidate, double cost_before_us,
                    verifier::Admission& rules, TrialClock& clock, const TrialOptions& options,
                    core::ProgressSink& progress, const core::StopToken& stop,
                    TrialReport& report) {
  report.runtime = clock.runtime();
  const double cpu_before_s = core::process_cpu_s();
  const double wall_before_s = core::wall_s();
  Replayed result =
      TrialRun(base, candidate, cost_before_us, rules, clock, options, progress, stop, report)
          .run();
  report.cpu_s += core::process_cpu_s() - cpu_before_s;
  report.wall_s += core::wall_s() - wall_before_s;
  return result;
}

}  // namespace soapstone::search
