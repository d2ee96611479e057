// The rules that a job works with: the shipped ones and the caller's own, or these alone, some
// picked, some left out.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "jobs/base/context.h"
#include "rules/rule/rule.h"
#include "transforms/base/transform.h"

namespace soapstone::jobs {

struct RuleRequest {
  std::vector<std::string> files;       ///< In addition to the shipped ones.
  std::vector<std::string> only_files;  ///< Instead of the shipped ones; empty: those.
  std::string text;                     ///< Rules in the rule language, in addition to all others.
  std::vector<std::string> only;        ///< Names or instances; empty: all.
  std::vector<std::string> skip;
  bool generated = false;       ///< The rules of generated.rules, too.
  bool allow_unproved = false;  ///< Otherwise one rule without a proof is an error.
  bool allow_range_changes = false;
  /// Only rules that keep NaN, infinities, overflow and the sign of zero as they are.
  bool strict_ieee = false;
  bool trust_proofs = false;  ///< The caller's files need no proof here if they claim to have one.
};

/// For reports: "the shipped rules, mine.rules; without merge_matmuls".
std::string to_string(const RuleRequest& request);

/// $SOAPSTONE_RULES_DIR, else beside the installed executable, else in the package that this
/// program was built with, else in the source tree.
std::filesystem::path rules_folder();

/// The file in that folder which generate-rules made.
inline constexpr std::string_view kGeneratedRules = "generated.rules";
/// The file in that folder whose rules are for trials in a runtime alone.
inline constexpr std::string_view kForms = "forms.rules";
/// The file in that folder whose rules are for runs that no other runtime times.
inline constexpr std::string_view kStrided = "strided.rules";
/// Likewise, of forms in operators that ONNX Runtime adds to those of ONNX.
inline constexpr std::string_view kContribForms = "contrib.rules";
/// All files of the folder, in order, for the word `shipped`; else the file of that name.
/// Errors: kInvalidInput if the folder holds none.
core::Result<std::vector<std::string>> files_called(const std::string& name);

/// Whether the file is in our rule language; else it is one of TASO's.
bool is_own_rule_file(const std::filesystem::path& file);

/// The contents of a rule file.
struct RuleFileContents {
  std::vector<rules::Rule> rules;
  /// Names of rules that the rule language cannot express, and why.
  std::vector<std::pair<std::string, std::string>> skipped;
};
/// For proofs: rules of other systems that cannot be applied here are listed, too.
core::Result<RuleFileContents> read_rule_file(const std::filesystem::path& file);

struct LoadedRules {
  std::vector<rules::Rule> baseline;  ///< baseline.rules: what any good runtime does.
  std::vector<rules::Rule> search;
  /// Rules of both kinds of which no instance was made yet.
  std::vector<rules::WrittenRule> written_baseline, written_search;
};
/// Loads rules with evidence that may be believed (belief.h); shipped ones stay as they are
/// written. A file that is named twice, or has the contents of another one, is read once. Errors:
/// those of reading rules; kUsage if `only` or `skip` names a rule that there is not; kInvalidInput
/// if two files have rules of the same name; kInterrupted.
core::Result<LoadedRules> load_rules(const RuleRequest& request, const Context& context);

/// The instances that a search beginning with this graph may use: for the numbers of siblings that
/// it has, of operators that it has or that rules can make of those.
rules::InstanceChoice instances_for(const core::Graph& graph, const LoadedRules& loaded);
/// All instances, for the usual numbers of siblings.
rules::InstanceChoice all_instances();
/// The rules of read_believed() with all instances of those that it leaves as they are written.
core::Result<std::vector<rules::Rule>> read_believed_instances(const std::string& file,
                                                               const Context& context);
/// Makes those instances of the rules that are written. Errors: those of reading rules.
core::Status add_instances(const rules::InstanceChoice& choice, const RuleRequest& request,
                           LoadedRules& loaded);

/// Which rules may be used that are made for the graph (transforms/pack, transforms/affine): those
/// that are not left out by name. None, if the request leaves out the shipped rules.
std::function<bool(const rules::Rule&)> admits_made(const RuleRequest& request);
/// Which transforms are tried: those that `skip` does not name, and if `only` names any rules or
/// transforms, those that it names or that make such rules.
std::function<bool(const transforms::Transform&)> tries(const RuleRequest& request);
/// The transforms that are tried with the request, in the order of the registry.
std::vector<const transforms::Transform*> tried_transforms(const RuleRequest& request);

/// Errors: kUnsupported if one has no proof, unless that is allowed: the message names the rule and
/// its place.
core::Status refuse_unproved(const LoadedRules& loaded, const RuleRequest& request);

}  // namespace soapstone::jobs
