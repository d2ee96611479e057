// See lemma.h. A derivation is looked for among the applications that made the e-nodes of the
// result, which is nearly always enough; then what can be left out is left out.
#include "search/proofs/lemma.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "search/proofs/derivation.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;
using rules::Application;
using rules::ClassId;
using rules::ENodeId;

/// Steps that are replayed until a derivation is taken as it is.
constexpr std::size_t kWork = 20'000;

class DerivationFinder {
 public:
  DerivationFinder(const Graph& source, const Graph& target, const SaturationLog& log,
                   verifier::Admission& rules, const std::function<bool()>& stopped)
      : source_(source), target_(target), graph_(log.graph), given_(log.source),
        log_(log.applications), rules_(rules), stopped_(stopped), equations_(log_.size()) {}

  std::optional<std::vector<LemmaStep>> run(std::span<const ENodeId> chosen) {
    auto found = attempt(makers_of(chosen));
    if (!found) {
      std::vector<std::size_t> all(log_.size());
      for (std::size_t k = 0; k < all.size(); ++k) all[k] = k;
      found = attempt(all);
    }
    if (!found) return std::nullopt;
    shorten(*found);
    return std::move(found->steps);
  }

 private:
  struct Found {
    std::vector<std::size_t> applications;
    std::vector<LemmaStep> steps;
  };

  /// The application that added it; none if it was given.
  template <class Bound>
  std::optional<std::size_t> maker(std::size_t id, Bound bound) const {
    const auto after = std::ranges::upper_bound(log_, id, {}, bound);
    if (after == log_.begin()) return std::nullopt;
    return static_cast<std::size_t>(after - log_.begin()) - 1;
  }

  /// The applications that made the e-nodes, and those that made their operands.
  std::vector<std::size_t> makers_of(std::span<const ENodeId> chosen) const {
    std::set<std::size_t> needed;
    std::vector<std::size_t> pending;
    const auto need = [&](std::optional<std::size_t> application) {
      if (application && needed.insert(*application).second) pending.push_back(*application);
    };
    for (const ENodeId id : chosen) need(maker(id.index(), &Application::first_node));
    while (!pending.empty()) {
      const Application& application = log_[pending.back()];
      pending.pop_back();
      for (const ENodeId id : application.matched)
        need(maker(id.index(), &Application::first_node));
      for (const ClassId id : application.inputs)
        need(maker(id.index(), &Application::first_class));
    }
    return {needed.begin(), needed.end()};
  }

  /// Replays those whose inputs are there.
  std::optional<Found> attempt(const std::vector<std::size_t>& applications) {
    Derivation derivation(source_);
    Found found;
    names_.clear();
    names_of_equals_.clear();
    for (std::size_t k = 0; k < given_.size(); ++k) name(given_[k], k);
    for (const std::size_t k : applications) {
      ++work_;
      if (stopped_()) return std::nullopt;
      const Application& application = log_[k];
      const auto inputs = numbers_of(application.inputs);
      const Equation* equation = inputs ? equation_of(k) : nullptr;
      if (equation == nullptr) continue;
      const std::size_t first = derivation.size();
      derivation.assume(*equation, *inputs);
      for (std::size_t j = 0; j < application.made.size(); ++j)
        name(application.made[j], first + j);
      found.applications.push_back(k);
      found.steps.push_back({core::RuleId(application.rule), *inputs, application.sizes});
    }
    if (!derivation.gives(target_)) return std::nullopt;
    return found;
  }

  void name(ClassId id, std::size_t number) {
    names_.emplace(id, number);
    names_of_equals_.emplace(graph_.find(id), number);
  }

  /// A tensor that was that class once, or else one that is equal to it by now.
  std::optional<std::vector<std::size_t>> numbers_of(const std::vector<ClassId>& classes) const {
    std::vector<std::size_t> numbers;
    for (const ClassId id : classes) {
      const auto same = names_.find(id);
      const auto equal = names_of_equals_.find(graph_.find(id));
      if (same == names_.end() && equal == names_of_equals_.end()) return std::nullopt;
      numbers.push_back(same != names_.end() ? same->second : equal->second);
    }
    return numbers;
  }

  const Equation* equation_of(std::size_t k) {
    if (!equations_[k]) {
      std::vector<core::TensorType> types;
      for (const ClassId id : log_[k].inputs) types.push_back(graph_.type(id));
      equations_[k] = equation_at(rules_, core::RuleId(log_[k].rule), types, log_[k].sizes);
    }
    return equations_[k]->ok() ? &**equations_[k] : nullptr;
  }

  /// Leaves out ever smaller parts, from the end.
  void shorten(Found& found) {
    for (std::size_t part = found.steps.size() / 2; part > 0; part /= 2) {
      for (std::size_t end = found.steps.size(); end > 0;) {
        if (work_ > kWork) return;
        const std::size_t begin = end - std::min(part, end);
        std::vector<std::size_t> fewer = found.applications;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(begin),
                    fewer.begin() + static_cast<std::ptrdiff_t>(end));
        if (auto shorter = attempt(fewer)) found = *std::move(shorter);
        end = std::min(begin, found.steps.size());
      }
    }
  }

  const Graph& source_;
  const Graph& target_;
  const rules::EGraph& graph_;
  const std::vector<ClassId>& given_;
  const std::vector<Application>& log_;
  verifier::Admission& rules_;
  const std::function<bool()>& stopped_;
  std::vector<std::optional<core::Result<Equation>>> equations_;  // by application
  std::map<ClassId, std::size_t> names_, names_of_equals_;
  std::size_t work_ = 0;
};

}  // namespace

core::Result<rules::Rule> lemma_rule(std::string name, const Graph& source, const Graph& target,
                                     std::vector<bool> constant) {
  rules::Rule rule;
  rule.name = std::move(name);
  rule.source = source;
  rule.target = target;
  rule.constant_inputs = std::move(constant);
  SOAPSTONE_ASSIGN_OR_RETURN(auto file, rules::parse_rules(rules::print(rule)));
  if (file.rules.size() != 1 || file.rules[0].source.symbols().size() > 0 ||
      !same_structure(file.rules[0].source, source))
    return core::invalid_input("the graph is another one when it is read back");
  return std::move(file.rules[0]);
}

std::string origins_of(const Lemma& lemma, const rules::RuleSet& rules) {
  std::vector<std::string> names;
  for (const LemmaStep& step : lemma.steps)
    if (const std::string& name = rules[step.rule].base_name;
        std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return fmt::format("{}", fmt::join(names, " + "));
}

bool is_derived(const Lemma& lemma, verifier::Admission& rules) {
  Derivation derivation(lemma.rule.source);
  for (const LemmaStep& step : lemma.steps) {
    std::vector<core::TensorType> types;
    for (const std::size_t tensor : step.inputs) {
      if (tensor >= derivation.size()) return false;
      types.push_back(derivation.type(tensor));
    }
    const auto equation = equation_at(rules, step.rule, types, step.sizes);
    if (!equation) return false;
    derivation.assume(*equation, step.inputs);
  }
  return derivation.gives(lemma.rule.target);
}

std::optional<std::vector<LemmaStep>> derive(const Graph& source, const Graph& target,
                                             const SaturationLog& log,
                                             std::span<const ENodeId> chosen,
                                             verifier::Admission& rules,
                                             const std::function<bool()>& stopped) {
  return DerivationFinder(source, target, log, rules, stopped).run(chosen);
}

}  // namespace soapstone::search
