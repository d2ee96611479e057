// A form is applied at all its sites at once, as its gain at one of many layers drowns in noise.
#include "search/trials/form_trials.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "rules/matching/rewrite.h"
#include "search/baseline/simplify.h"
#include "search/equivalence/opaque.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::RuleId;

struct FoundForm {
  RuleId rule;  ///< In the set of the form.
  rules::Match match;
  std::uint64_t kind = 0;
};

std::uint64_t kind_of(RuleId rule, const rules::Match& match) {
  std::uint64_t hash = core::hash_combine(0x666f726d, rule.value);
  for (const std::int64_t size : match.sizes)
    hash = core::hash_combine(hash, static_cast<std::uint64_t>(size));
  return hash;
}

class FormTrials {
 public:
  FormTrials(const Forms& forms, TrialClock& clock, const TrialOptions& options,
             core::ProgressSink& progress, const core::StopToken& stop, TrialReport& report,
             Replayed& now)
      : forms_(forms), clock_(clock), options_(options), progress_(progress), stop_(stop),
        report_(report), now_(now), started_s_(core::wall_s()) {}

  void run() {
    for (std::size_t form = 0; form < forms_.count() && !is_over(); ++form) {
      FormUse everywhere = forms_.use(now_.graph, form);
      std::set<std::uint64_t> kinds;
      for (const Step& step : everywhere.steps) kinds.insert(step.kind);
      const bool kept = add(form, std::move(everywhere));
      if (kept || kinds.size() < 2) continue;
      for (const std::uint64_t kind : kinds) {
        if (is_over()) break;
        add(form, forms_.use(now_.graph, form, &kind));
      }
    }
  }

 private:
  double left_s() const { return options_.time_s / 2 - (core::wall_s() - started_s_); }
  bool is_over() const {
    return stop_.stop_requested() || !report_.given_up.empty() || left_s() <= 0;
  }

  /// Keeps what a form makes of the graph if it is faster there, beyond noise.
  bool add(std::size_t form, FormUse used) {
    if (used.steps.empty() || !options_.weight_limit.allows(used.graph)) return false;
    Trial trial{forms_.name(form), used.steps.size(), 1, {}, Verdict::kLeftOut, {}};
    const double budget_s = std::clamp(left_s() / 4, options_.least_s, options_.most_s);
    const auto compared =
        clock_.compare(merge_duplicates(now_.graph), merge_duplicates(used.graph), budget_s, stop_);
    if (stop_.stop_requested()) return false;
    if (compared) {
      trial.measured = compared->ratio;
      if (trial.measured.low > 1) {
        trial.verdict = Verdict::kKept;
        keep(std::move(used));
      }
    } else {
      trial.verdict = Verdict::kNotMeasurable;
      trial.note = compared.error().message;
      if (compared.error().code == core::ErrorCode::kUnavailable) report_.given_up = trial.note;
    }
    report_.trials.push_back(std::move(trial));
    const Trial& last = report_.trials.back();
    progress_.update(
        report_.trials.size(), report_.trials.size(),
        fmt::format("{} {}, {:.3f}x", last.what, to_string(last.verdict), last.measured.median));
    return last.verdict == Verdict::kKept;
  }

  void keep(FormUse used) {
    append_steps(now_.steps, std::move(used.steps));
    now_.graph = std::move(used.graph);
  }

  const Forms& forms_;
  TrialClock& clock_;
  const TrialOptions& options_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  TrialReport& report_;
  Replayed& now_;
  const double started_s_;
};

}  // namespace

Forms::Forms(verifier::Admission& rules, const std::vector<std::string>& names, bool behind_opaque,
             ops::SpecialValues specials)
    : all_(rules), behind_opaque_(behind_opaque), specials_(std::move(specials)) {
  for (const std::string& name : names) {
    std::vector<RuleId> ids;
    std::vector<rules::Rule> instances;
    const auto all = rules.rules().rules();
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (all[k].base_name != name || rules.is_excluded(RuleId(k))) continue;
      ids.emplace_back(k);
      instances.push_back(all[k]);
    }
    if (!ids.empty())
      forms_.push_back({name, std::move(ids), rules::RuleSet(std::move(instances))});
  }
}

FormUse Forms::use(const Graph& graph, std::size_t form, const std::uint64_t* only) const {
  FormUse used{graph, {}};
  const std::size_t most = graph.order().size();
  while (used.steps.size() < most && use_once(form, only, used)) {
  }
  return used;
}

/// What a site replaces may be read by the next one, whose match is another one then. So a pass
/// leaves some for the next.
bool Forms::use_once(std::size_t form, const std::uint64_t* only, FormUse& used) const {
  const auto& [name, ids, rules] = forms_[form];
  const Graph graph = used.graph;
  const std::vector<bool> frozen =
      behind_opaque_ ? std::vector<bool>(graph.node_bound()) : depends_on_opaque(graph);
  const ops::SpecialValues specials = specials_.again(graph);
  std::vector<FoundForm> found;
  rules.for_each_match(graph, [&](RuleId rule, const rules::Match& match) {
    const bool is_free =
        std::ranges::none_of(match.nodes, [&](NodeId id) { return bool{frozen[id.index()]}; });
    const std::uint64_t kind = kind_of(rule, match);
    if (is_free && (only == nullptr || *only == kind)) found.push_back({rule, match, kind});
    return true;
  });
  const auto is_unchanged = [&](NodeId id) {
    return used.graph.contains(id) && &used.graph.node(id) == &graph.node(id);
  };
  bool changed = false;
  for (const auto& [rule, match, kind] : found) {
    const RuleId id = ids[rule.index()];
    if (!std::ranges::all_of(match.nodes, is_unchanged) ||
        !all_.admits(id, match, verifier::specials_at(specials, match)))
      continue;
    auto next = rules::apply(used.graph, rules[rule], match);
    if (!next || next->hash() == used.graph.hash()) continue;
    used.graph = *std::move(next);
    const auto site = static_cast<std::uint32_t>(used.steps.size());
    used.steps.push_back({rules[rule].name, name, id, match, 0, nullptr, site, kind});
    changed = true;
  }
  return changed;
}

void try_forms(const Forms& forms, TrialClock& clock, const TrialOptions& options,
               core::ProgressSink& progress, const core::StopToken& stop, TrialReport& report,
               Replayed& now) {
  const double cpu_before_s = core::process_cpu_s(), wall_before_s = core::wall_s();
  FormTrials(forms, clock, options, progress, stop, report, now).run();
  report.cpu_s += core::process_cpu_s() - cpu_before_s;
  report.wall_s += core::wall_s() - wall_before_s;
}

}  // namespace soapstone::search
