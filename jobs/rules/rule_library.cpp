// See rule_files.h.
#include "cli/rule_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/belief.h"
#include "cli/suggestion.h"
#include "cli/table.h"
#include "rules/taso/import_taso.h"

namespace soapstone::cli {
namespace {

namespace fs = std::filesystem;
using rules::Rule;

constexpr std::string_view kBaseline = "baseline";

bool is_named(const Rule& rule, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return rule.base_name == name || rule.name == name;
  });
}

core::Status require_known(const std::vector<Rule>& rules, const std::vector<std::string>& names,
                           std::string_view option) {
  for (const std::string& name : names) {
    const bool known = std::any_of(rules.begin(), rules.end(),
                                   [&](const Rule& rule) { return is_named(rule, {name}); });
    if (known) continue;
    std::vector<std::string> all;
    for (const Rule& rule : rules) all.push_back(rule.base_name);
    const std::string close = nearest(name, all);
    return core::Error{core::ErrorCode::kUsage,
                       fmt::format("{}: there is no rule '{}'", option, name),
                       {},
                       close.empty() ? "--list-rules shows all" : "did you mean " + close + "?"};
  }
  return core::Done{};
}

core::Result<std::vector<Rule>> read_search_rules(const RuleOptions& options, Session& session) {
  std::vector<std::string> files = options.files;
  if (files.empty()) files = files_called("shipped");
  // Of the shipped ones the baseline is apart, and what was generated is used if asked for.
  const auto is_apart = [&](const fs::path& file) {
    return options.files.empty() &&
           (file.stem() == kBaseline || file.filename() == kGeneratedRules);
  };
  std::erase_if(files, is_apart);
  if (options.generated) files.push_back((rules_folder() / kGeneratedRules).string());
  std::vector<Rule> all;
  for (const std::string& file : files) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto read, read_believed(file, options.trust_proofs, session));
    std::ranges::move(read, std::back_inserter(all));
  }
  return all;
}

std::string evidence_text(const Rule& rule) {
  switch (rule.evidence.kind) {
  case rules::Evidence::Kind::kNone:
    return "none";
  case rules::Evidence::Kind::kChecked:
    return "checked";
  case rules::Evidence::Kind::kProved:
    return "proved";
  }
  return "";
}

std::string edges_text(const Rule& rule) {
  return rule.edges ? rules::to_string(*rule.edges) : "unknown";
}

/// One entry a rule as written, with the number of its instances.
template <class F>
void for_each_family(const std::vector<Rule>& rules, F&& f) {
  for (std::size_t first = 0; first < rules.size();) {
    std::size_t last = first;
    while (last < rules.size() && rules[last].base_name == rules[first].base_name) ++last;
    f(rules[first], last - first);
    first = last;
  }
}

}  // namespace

void add_rule_options(CLI::App& app, RuleOptions& options) {
  app.add_option("--rules", options.files,
                 "Rule file to use instead of the shipped ones; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_flag(
      "--generated", options.generated,
      "Use generated.rules as well, which generate-rules made: more ways, a slower search");
  app.add_option("--only", options.only, "Use this rule and no other; may be repeated")
      ->type_name("RULE")
      ->allow_extra_args(false);
  app.add_option("--skip", options.skip, "Do not use this rule; may be repeated")
      ->type_name("RULE")
      ->allow_extra_args(false);
  app.add_flag("--allow-unproved", options.allow_unproved,
               "Use rules without a proof, too; the report says so");
  app.add_flag("--trust-proofs", options.trust_proofs,
               "Believe the proof lines of rule files of your own instead of proving the rules "
               "again");
  app.add_flag("--allow-range-changes", options.allow_range_changes,
               "Use rules, too, whose result overflows, divides by zero or vanishes where what it "
               "replaces does not, in the floating type at hand");
}

fs::path rules_folder() {
  if (const char* folder = std::getenv("SOAPSTONE_RULES_DIR"); folder != nullptr) return folder;
  std::error_code ignored;
  const fs::path executable = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed = executable.parent_path().parent_path() / "share/soapstone/rules";
  if (fs::is_directory(installed, ignored)) return installed;
  return SOAPSTONE_SOURCE_RULES_DIR;
}

std::vector<std::string> files_called(const std::string& name) {
  if (name != "shipped") return {name};
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(rules_folder(), error))
    if (entry.path().extension() == ".rules") files.push_back(entry.path().string());
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

core::Result<LoadedRules> load_rules(const RuleOptions& options, Session& session) {
  LoadedRules loaded;
  const fs::path baseline = rules_folder() / fmt::format("{}.rules", kBaseline);
  SOAPSTONE_ASSIGN_OR_RETURN(loaded.baseline,
                             read_believed(baseline, options.trust_proofs, session));
  SOAPSTONE_ASSIGN_OR_RETURN(loaded.search, read_search_rules(options, session));
  SOAPSTONE_RETURN_IF_ERROR(require_known(loaded.search, options.only, "--only"));
  SOAPSTONE_RETURN_IF_ERROR(require_known(loaded.search, options.skip, "--skip"));
  std::erase_if(loaded.search, [&](const Rule& rule) {
    return (!options.only.empty() && !is_named(rule, options.only)) || is_named(rule, options.skip);
  });
  return loaded;
}

core::Status refuse_unproved(const LoadedRules& loaded, const RuleOptions& options) {
  if (options.allow_unproved) return core::Done{};
  const Rule* first = nullptr;
  std::size_t count = 0;
  for (const auto* list : {&loaded.baseline, &loaded.search}) {
    for_each_family(*list, [&](const Rule& rule, std::size_t) {
      if (rule.evidence.kind == rules::Evidence::Kind::kProved) return;
      ++count;
      if (first == nullptr) first = &rule;
    });
  }
  if (first == nullptr) return core::Done{};
  const bool changed = first->evidence.kind == rules::Evidence::Kind::kNone;
  const std::string why = changed && !first->evidence.detail.empty()
                              ? fmt::format(" ({})", first->evidence.detail)
                              : "";
  const std::string others = count > 1 ? fmt::format(", nor have {} other rules", count - 1) : "";
  const std::string file = first->file.string();
  return core::Error{core::ErrorCode::kUnsupported,
                     fmt::format("rule {} has no proof{}{}", first->base_name, why, others),
                     fmt::format("{}:{}", file, first->line),
                     fmt::format("verify-rules {} shows what is wrong with it; --allow-unproved "
                                 "uses the rule all the same",
                                 file)};
}

std::string rules_text(const LoadedRules& loaded) {
  Table table({{"rule"},
               {"instances", Align::kRight},
               {"evidence"},
               {"types"},
               {"floats"},
               {"what it does"},
               {"edges"}});
  for (const auto* list : {&loaded.baseline, &loaded.search}) {
    for_each_family(*list, [&](const Rule& rule, std::size_t instances) {
      table.add_row({rule.base_name, fmt::to_string(instances), evidence_text(rule),
                     rules::to_string(rule.types), std::string(rules::to_string(rule.floats)),
                     rule.description, edges_text(rule)});
    });
  }
  return table.to_string();
}

nlohmann::ordered_json rules_json(const LoadedRules& loaded) {
  auto json = nlohmann::ordered_json::array();
  for (const auto* list : {&loaded.baseline, &loaded.search}) {
    for_each_family(*list, [&](const Rule& rule, std::size_t instances) {
      json.push_back({{"rule", rule.base_name},
                      {"baseline", list == &loaded.baseline},
                      {"instances", instances},
                      {"evidence", evidence_text(rule)},
                      {"types", rules::to_string(rule.types)},
                      {"floats", rules::to_string(rule.floats)},
                      {"edges", edges_text(rule)},
                      {"description", rule.description},
                      {"file", rule.file.filename().string()},
                      {"line", rule.line}});
    });
  }
  return json;
}

}  // namespace soapstone::cli
