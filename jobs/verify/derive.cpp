// See derive.h.
#include "jobs/verify/derive.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "jobs/base/guard.h"
#include "jobs/rules/rule_library.h"

namespace soapstone::jobs {
namespace {

/// The rules from which the others are to be derived.
struct Premises {
  rules::SaturationRules rules;
  std::size_t left_out = 0;  ///< Sources in parts that share no tensor.
  std::size_t reversed = 0;
};

/// A rule that follows from one without a proof is not proved either, so rules of the user's own
/// are proved first; the log names those that cannot be proved.
core::Result<std::vector<rules::Rule>> read_premise_file(const std::string& file,
                                                         const Context& context) {
  if (!is_own_rule_file(file)) {
    SOAPSTONE_ASSIGN_OR_RETURN(RuleFileContents contents, read_rule_file(file));
    return std::move(contents.rules);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(auto read, read_believed_instances(file, context));
  for (const rules::Rule& rule : read) {
    if (rule.evidence.kind == rules::Evidence::Kind::kProved) continue;
    context.progress.log(core::LogLevel::kWarning,
                         fmt::format("{}:{}: rule {} has no proof, nor has what follows from it",
                                     rule.file.string(), rule.line, rule.name));
    break;
  }
  return read;
}

core::Result<Premises> read_premises(const DeriveRequest& request, const Context& context) {
  Premises premises;
  std::vector<std::string> files;
  for (const std::string& name : request.from) {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<std::string> more, files_called(name));
    files.insert(files.end(), more.begin(), more.end());
  }
  for (const std::string& file : files) {
    context.progress.stage("reading " + file);
    SOAPSTONE_ASSIGN_OR_RETURN(const auto read, read_premise_file(file, context));
    for (const rules::Rule& rule : read) {
      if (!premises.rules.add(rule)) ++premises.left_out;
      if (!request.both_ways) continue;
      const auto turned = generator::reversed(rule);
      if (turned && premises.rules.add(*turned)) ++premises.reversed;
    }
  }
  return premises;
}

core::Result<DeriveOutcome> derive_unguarded(const std::vector<rules::Rule>& rules,
                                             const DeriveRequest& request, const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Premises premises, read_premises(request, context));
  context.progress.stage(
      fmt::format("deriving {} rules from {}", rules.size(), premises.rules.size()));
  DeriveOutcome outcome;
  outcome.rules = generator::derivability(rules, premises.rules, request.options, context.progress,
                                          context.stop);
  outcome.premises = premises.rules.size();
  outcome.reversed = premises.reversed;
  outcome.left_out = premises.left_out;
  return outcome;
}

}  // namespace

std::size_t DeriveOutcome::count(std::optional<generator::Derivability> verdict) const {
  return static_cast<std::size_t>(
      std::ranges::count(rules, verdict, &generator::RuleDerivability::verdict));
}

core::Result<DeriveOutcome> derive(const std::vector<rules::Rule>& rules,
                                   const DeriveRequest& request, const Context& context) {
  return guarded(context,
                 [&](const Context& inner) { return derive_unguarded(rules, request, inner); });
}

}  // namespace soapstone::jobs
