// See rule_library.h.
#include "jobs/rules/rule_library.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "core/base/nearest.h"
#include "jobs/base/usage_error.h"
#include "jobs/rules/belief.h"
#include "rules/batching/towers.h"
#include "rules/rule/families.h"
#include "rules/taso/import_taso.h"

/// The rules of an installed package. A program that is built with the package compiles
/// cmake/rules_location.cpp, which defines this; in our own commands nobody does, and its address
/// is null.
// NOLINTNEXTLINE(readability-identifier-naming): a symbol of C
extern "C" __attribute__((weak)) const char soapstone_installed_rules[];

namespace soapstone::jobs {
namespace {

namespace fs = std::filesystem;
using rules::Rule;

constexpr std::string_view kBaseline = "baseline";

bool is_named(const Rule& rule, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return rule.base_name == name || rule.name == name;
  });
}

void leave_out(const RuleRequest& request, std::vector<Rule>& rules) {
  std::erase_if(rules, [&](const Rule& rule) {
    return (!request.only.empty() && !is_named(rule, request.only)) || is_named(rule, request.skip);
  });
}

/// Of a family of siblings, its name and those of members for any number of them.
bool is_named(const rules::SiblingFamily& family, const std::string& name) {
  return name == family.name || name.starts_with(family.name + "[");
}

core::Status require_known(const LoadedRules& loaded, const std::vector<std::string>& names,
                           std::string_view field) {
  for (const std::string& name : names) {
    const bool known =
        std::ranges::any_of(loaded.search,
                            [&](const Rule& rule) { return is_named(rule, {name}); }) ||
        std::ranges::any_of(loaded.families,
                            [&](const auto& family) { return is_named(family, name); });
    if (known) continue;
    std::vector<std::string> all;
    for (const Rule& rule : loaded.search) all.push_back(rule.base_name);
    for (const rules::SiblingFamily& family : loaded.families) all.push_back(family.name);
    const std::string close = core::nearest(name, all);
    return usage_error(fmt::format("`{}`: there is no rule '{}'", field, name),
                       close.empty() ? "the rule files have their names"
                                     : "did you mean " + close + "?");
  }
  return core::Done{};
}

core::Result<rules::RuleFile> read_search_rules(const RuleRequest& request,
                                                const Context& context) {
  std::vector<std::string> files = request.files;
  if (files.empty()) {
    if (auto shipped = files_called("shipped")) files = *std::move(shipped);
  }
  // The baseline is loaded apart, and the generated rules are used only if asked for.
  const auto is_apart = [&](const fs::path& file) {
    return request.files.empty() &&
           (file.stem() == kBaseline || file.filename() == kGeneratedRules);
  };
  std::erase_if(files, is_apart);
  if (request.generated) files.push_back((rules_folder() / kGeneratedRules).string());
  rules::RuleFile all;
  for (const std::string& file : files) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto read, read_believed(file, request.trust_proofs, context));
    std::ranges::move(read.rules, std::back_inserter(all.rules));
    std::ranges::move(read.families, std::back_inserter(all.families));
  }
  if (!request.text.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto own, parse_believed(request.text, context));
    std::ranges::move(own, std::back_inserter(all.rules));
  }
  return all;
}

}  // namespace

fs::path rules_folder() {
  if (const char* folder = std::getenv("SOAPSTONE_RULES_DIR"); folder != nullptr) return folder;
  std::error_code ignored;
  const fs::path executable = fs::read_symlink("/proc/self/exe", ignored);
  fs::path installed = executable.parent_path().parent_path() / "share/soapstone/rules";
  if (fs::is_directory(installed, ignored)) return installed;
  const char* const of_package = soapstone_installed_rules;
  if (of_package != nullptr) return of_package;
  return SOAPSTONE_SOURCE_RULES_DIR;
}

core::Result<std::vector<std::string>> files_called(const std::string& name) {
  if (name != "shipped") return std::vector<std::string>{name};
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(rules_folder(), error))
    if (entry.path().extension() == ".rules") files.push_back(entry.path().string());
  if (files.empty()) {
    return core::invalid_input(fmt::format("{}: no rule files are there", rules_folder().string()),
                               "the environment's SOAPSTONE_RULES_DIR may name their folder");
  }
  std::ranges::sort(files);
  return files;
}

bool is_own_rule_file(const fs::path& file) { return file.extension() != ".pb"; }

core::Result<RuleFileContents> read_rule_file(const fs::path& file) {
  RuleFileContents contents;
  if (is_own_rule_file(file)) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto read, rules::read_rules(file));
    contents.rules = std::move(read.rules);
    return contents;
  }
  SOAPSTONE_ASSIGN_OR_RETURN(auto read, rules::import_taso_rules(file));
  contents.rules = std::move(read.file.rules);
  for (rules::UnmatchedRule& unmatched : read.unmatched)
    contents.rules.push_back(std::move(unmatched.rule));
  for (rules::SkippedRule& skipped : read.skipped)
    contents.skipped.emplace_back(fmt::format("taso_{}", skipped.number),
                                  std::move(skipped.reason));
  return contents;
}

core::Result<LoadedRules> load_rules(const RuleRequest& request, const Context& context) {
  LoadedRules loaded;
  const fs::path baseline = rules_folder() / fmt::format("{}.rules", kBaseline);
  SOAPSTONE_ASSIGN_OR_RETURN(auto of_baseline,
                             read_believed(baseline, request.trust_proofs, context));
  loaded.baseline = std::move(of_baseline.rules);
  SOAPSTONE_ASSIGN_OR_RETURN(auto of_search, read_search_rules(request, context));
  loaded.search = std::move(of_search.rules);
  loaded.families = std::move(of_search.families);
  SOAPSTONE_RETURN_IF_ERROR(rules::check_names(loaded.search));
  SOAPSTONE_RETURN_IF_ERROR(require_known(loaded, request.only, "only"));
  SOAPSTONE_RETURN_IF_ERROR(require_known(loaded, request.skip, "skip"));
  leave_out(request, loaded.search);
  return loaded;
}

core::Status add_members(const std::set<int>& numbers, const RuleRequest& request,
                         LoadedRules& loaded) {
  std::vector<Rule> all;
  for (const rules::SiblingFamily& family : loaded.families) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto members, rules::members_for(family, numbers));
    std::ranges::move(members, std::back_inserter(all));
  }
  leave_out(request, all);
  std::ranges::move(all, std::back_inserter(loaded.search));
  return core::Done{};
}

void add_batching(const core::Graph& graph, const RuleRequest& request, LoadedRules& loaded) {
  std::vector<Rule> all = rules::batching_rules(graph);
  leave_out(request, all);
  std::ranges::move(all, std::back_inserter(loaded.search));
}

core::Status refuse_unproved(const LoadedRules& loaded, const RuleRequest& request) {
  if (request.allow_unproved) return core::Done{};
  const Rule* first = nullptr;
  std::size_t count = 0;
  for (const auto* list : {&loaded.baseline, &loaded.search}) {
    for (const std::span<const Rule> family : rules::families(*list)) {
      if (family.front().evidence.kind == rules::Evidence::Kind::kProved) continue;
      ++count;
      if (first == nullptr) first = &family.front();
    }
  }
  if (first == nullptr) return core::Done{};
  const bool changed = first->evidence.kind == rules::Evidence::Kind::kNone;
  const std::string why = changed && !first->evidence.detail.empty()
                              ? fmt::format(" ({})", first->evidence.detail)
                              : "";
  const std::string others = count > 1 ? fmt::format(", nor have {} other rules", count - 1) : "";
  const std::string file = first->file.string();
  const std::string look =
      file.empty() ? "" : fmt::format("verify-rules {} shows what is wrong with it; ", file);
  return core::Error{core::ErrorCode::kUnsupported,
                     fmt::format("rule {} has no proof{}{}", first->base_name, why, others),
                     rules::place_of(*first), look + "`allow_unproved` uses the rule all the same"};
}

}  // namespace soapstone::jobs
