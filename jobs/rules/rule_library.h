// Which rules a command works with: the shipped ones or the user's own, some picked, some left out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "cli/run_main.h"
#include "core/base/result.h"
#include "rules/rule/rule.h"

namespace soapstone::cli {

struct RuleOptions {
  std::vector<std::string> files;  ///< Instead of the shipped ones; empty: those.
  std::vector<std::string> only;   ///< Names or instances; empty: all.
  std::vector<std::string> skip;
  bool generated = false;  ///< Those of generated.rules, too.
  bool allow_unproved = false;
  bool allow_range_changes = false;
  bool trust_proofs = false;
};

/// --rules, --generated, --only, --skip, --allow-unproved, --allow-range-changes, --trust-proofs.
void add_rule_options(CLI::App& app, RuleOptions& options);

/// $SOAPSTONE_RULES_DIR, else beside the installed executable, else in the source tree.
std::filesystem::path rules_folder();

/// What is made by generate-rules is a file of its own there.
inline constexpr std::string_view kGeneratedRules = "generated.rules";
/// All files of the folder, in order, for the word `shipped`; else the file of that name.
std::vector<std::string> files_called(const std::string& name);

/// Whether the file is in our rule language; else it is one of TASO's.
bool is_own_rule_file(const std::filesystem::path& file);

/// What a rule file holds.
struct RuleFileContents {
  std::vector<rules::Rule> rules;
  /// Rules that we have no words for: their names, and why.
  std::vector<std::pair<std::string, std::string>> skipped;
};
/// For proofs: some of the rules of other systems cannot be applied here, but they are listed.
core::Result<RuleFileContents> read_rule_file(const std::filesystem::path& file);

struct LoadedRules {
  std::vector<rules::Rule> baseline;  ///< baseline.rules: what any good runtime does.
  std::vector<rules::Rule> search;
};
/// With evidence that may be believed (belief.h). Errors: those of reading rules; kUsage if --only
/// or --skip names a rule that there is not; kInterrupted.
core::Result<LoadedRules> load_rules(const RuleOptions& options, Session& session);

/// Errors: kUnsupported if one has no proof, unless that is allowed: the message names the rule and
/// its place.
core::Status refuse_unproved(const LoadedRules& loaded, const RuleOptions& options);

std::string rules_text(const LoadedRules& loaded);
nlohmann::ordered_json rules_json(const LoadedRules& loaded);

}  // namespace soapstone::cli
