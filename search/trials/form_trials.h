// Forms: rules whose gain no model of costs foresees, since it lies in what a runtime makes of a
// graph. Each is tried wherever it matches.
#pragma once

#include <string>
#include <vector>

#include "search/trials/trials.h"

namespace soapstone::search {

/// What a form makes of a graph.
struct FormUse {
  core::Graph graph;
  std::vector<Step> steps;  ///< Each is a site of its own.
};

class Forms {
 public:
  /// The rules of `rules` with these Rule::base_name. `rules` must outlive it. Without
  /// `behind_opaque` what depends on opaque nodes stays as it is.
  Forms(verifier::Admission& rules, const std::vector<std::string>& names, bool behind_opaque,
        ops::SpecialValues specials = {});

  std::size_t count() const { return forms_.size(); }
  const std::string& name(std::size_t form) const { return forms_[form].name; }
  /// Every match once, the first of those that overlap. Sites of one Step::kind have equal sizes.
  /// With `only`, sites of that kind alone.
  FormUse use(const core::Graph& graph, std::size_t form,
              const std::uint64_t* only = nullptr) const;

 private:
  bool use_once(std::size_t form, const std::uint64_t* only, FormUse& used) const;

  struct Form {
    std::string name;
    std::vector<core::RuleId> ids;  ///< In the whole set, by id in `rules`.
    rules::RuleSet rules;
  };

  verifier::Admission& all_;
  std::vector<Form> forms_;
  bool behind_opaque_;
  ops::SpecialValues specials_;
};

/// Adds to `now` the forms that make the model faster: each at all its sites, or else at those of
/// single kinds. At `stop`, when the time is used up, or when the clock says kUnavailable: what was
/// kept until then.
void try_forms(const Forms& forms, TrialClock& clock, const TrialOptions& options,
               core::ProgressSink& progress, const core::StopToken& stop, TrialReport& report,
               Replayed& now);

}  // namespace soapstone::search
