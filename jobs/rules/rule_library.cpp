// See rule_library.h.
#include "jobs/rules/rule_library.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/file_io.h"
#include "core/base/nearest.h"
#include "jobs/base/usage_error.h"
#include "jobs/rules/belief.h"
#include "ops/definition/by_role.h"
#include "rules/matching/sibling_numbers.h"
#include "rules/rule/families.h"
#include "rules/taso/import_taso.h"
#include "rules/text/reachable_operators.h"
#include "transforms/recognize/recognition.h"
#include "transforms/registry/registry.h"

/// The rules of an installed package. A program that is built with the package compiles
/// cmake/rules_location.cpp, which defines this; in our own commands nobody does, and its address
/// is null.
// NOLINTNEXTLINE(readability-identifier-naming): a symbol of C
extern "C" __attribute__((weak)) const char soapstone_installed_rules[];

namespace soapstone::jobs {
namespace {

namespace fs = std::filesystem;
using rules::Rule;
using rules::WrittenRule;

constexpr std::string_view kBaseline = "baseline";
bool is_named(const Rule& rule, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return rule.base_name == name || rule.name == name;
  });
}

bool is_left_out(const RuleRequest& request, const Rule& rule) {
  return (!request.only.empty() && !is_named(rule, request.only)) || is_named(rule, request.skip);
}

/// Whether a rule of a transform's own has one of the names, or the transform does.
bool is_meant(const transforms::Transform& transform, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    const transforms::Transform* const named = transforms::find_transform(name);
    return named != nullptr ? named == &transform : transform.may_make(name);
  });
}

/// Whether one of the names is that of a transform that makes rules of this name.
bool may_be_made(const Rule& rule, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    const transforms::Transform* const transform = transforms::find_transform(name);
    return transform != nullptr && transform->may_make(rule.base_name);
  });
}

void leave_out(const RuleRequest& request, std::vector<Rule>& rules) {
  std::erase_if(rules, [&](const Rule& rule) { return is_left_out(request, rule); });
}

/// Whether the name is that of the rule or may be that of one of its instances.
bool may_name(const std::string& name, const WrittenRule& rule) {
  return rules::base_name(name) == rule.name;
}

/// Likewise, but whether the instance exists is looked up; families have one for any number.
core::Result<bool> is_named(const WrittenRule& rule, const std::string& name) {
  if (name == rule.name || !may_name(name, rule) || rule.has_siblings) return may_name(name, rule);
  SOAPSTONE_ASSIGN_OR_RETURN(const auto instances,
                             rules::instances_of(std::span(&rule, 1), all_instances()));
  return std::ranges::find(instances, name, &Rule::name) != instances.end();
}

core::Status require_known(const LoadedRules& loaded, const std::vector<std::string>& names,
                           std::string_view field) {
  for (const std::string& name : names) {
    // Rules that are made for a graph are not known before it is read.
    if (std::ranges::any_of(transforms::transforms(),
                            [&](const auto* transform) { return is_meant(*transform, {name}); }))
      continue;
    bool known = std::ranges::any_of(loaded.search,
                                     [&](const Rule& rule) { return is_named(rule, {name}); });
    for (const WrittenRule& rule : loaded.written_search) {
      if (known) break;
      SOAPSTONE_ASSIGN_OR_RETURN(known, is_named(rule, name));
    }
    if (known) continue;
    std::vector<std::string> all;
    for (const Rule& rule : loaded.search) all.push_back(rule.base_name);
    for (const WrittenRule& rule : loaded.written_search) all.push_back(rule.name);
    for (const auto* transform : transforms::transforms()) all.emplace_back(transform->name);
    const std::string close = core::nearest(name, all);
    return usage_error(fmt::format("`{}`: there is no rule '{}'", field, name),
                       close.empty() ? "the rule files have their names"
                                     : "did you mean " + close + "?");
  }
  return core::Done{};
}

/// Leaves out what `only` and `skip` leave out as a whole.
void leave_out(const RuleRequest& request, std::vector<WrittenRule>& rules) {
  std::erase_if(rules, [&](const WrittenRule& rule) {
    const auto is_meant = [&](const std::string& name) { return may_name(name, rule); };
    return (!request.only.empty() && !std::ranges::any_of(request.only, is_meant)) ||
           std::ranges::find(request.skip, rule.name) != request.skip.end();
  });
}

bool have_equal_contents(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  if (fs::file_size(a, error) != fs::file_size(b, error) || error) return false;
  const auto of_a = core::read_file(a), of_b = core::read_file(b);
  return of_a && of_b && *of_a == *of_b;
}

/// In the order in which they are read; a file whose contents are those of another one once.
std::vector<std::string> files_of(const RuleRequest& request) {
  std::vector<std::string> files = request.only_files;
  if (files.empty()) {
    if (auto shipped = files_called("shipped")) files = *std::move(shipped);
    // The baseline is loaded apart, and the generated rules are used only if asked for.
    std::erase_if(files, [](const fs::path& file) {
      return file.stem() == kBaseline || file.filename() == kGeneratedRules;
    });
  }
  std::vector<std::string> more = request.files;
  if (request.generated) more.push_back((rules_folder() / kGeneratedRules).string());
  for (std::string& file : more) {
    const auto is_same = [&](const std::string& other) { return have_equal_contents(file, other); };
    if (std::ranges::none_of(files, is_same)) files.push_back(std::move(file));
  }
  return files;
}

core::Result<rules::RuleFile> read_search_rules(const RuleRequest& request,
                                                const Context& context) {
  rules::RuleFile all;
  for (const std::string& file : files_of(request)) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto read, read_believed(file, request.trust_proofs, context));
    std::ranges::move(read.rules, std::back_inserter(all.rules));
    std::ranges::move(read.written, std::back_inserter(all.written));
  }
  if (!request.text.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto own, parse_believed(request.text, context));
    std::ranges::move(own, std::back_inserter(all.rules));
  }
  return all;
}

}  // namespace

std::string to_string(const RuleRequest& request) {
  std::vector<std::string> parts = request.only_files;
  if (parts.empty()) parts.emplace_back("the shipped rules");
  parts.insert(parts.end(), request.files.begin(), request.files.end());
  if (request.generated) parts.emplace_back(kGeneratedRules);
  if (!request.text.empty()) parts.emplace_back("rules in a text");
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (!request.only_files.empty()) text += ", without the shipped ones";
  if (!request.only.empty())
    text += fmt::format("; of these only {}", fmt::join(request.only, ", "));
  if (!request.skip.empty()) text += fmt::format("; without {}", fmt::join(request.skip, ", "));
  return text;
}

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
  const fs::path baseline = rules_folder() / fmt::format("{}.rules", kBaseline);
  SOAPSTONE_ASSIGN_OR_RETURN(auto of_baseline,
                             read_believed(baseline, request.trust_proofs, context));
  SOAPSTONE_ASSIGN_OR_RETURN(auto of_search, read_search_rules(request, context));
  LoadedRules loaded{std::move(of_baseline.rules), std::move(of_search.rules),
                     std::move(of_baseline.written), std::move(of_search.written)};
  if (auto named = rules::check_names(loaded.search, loaded.written_search); !named) {
    core::Error error = named.error();
    if (request.only_files.empty()) error.hint += ", or leave out the shipped ones: `only_rules`";
    return error;
  }
  SOAPSTONE_RETURN_IF_ERROR(require_known(loaded, request.only, "only"));
  SOAPSTONE_RETURN_IF_ERROR(require_known(loaded, request.skip, "skip"));
  leave_out(request, loaded.search);
  leave_out(request, loaded.written_search);
  // Instances for numbers that only the model knows come last.
  std::ranges::stable_partition(loaded.written_search, std::logical_not(),
                                &WrittenRule::has_siblings);
  return loaded;
}

rules::InstanceChoice instances_for(const core::Graph& graph, const LoadedRules& loaded) {
  rules::OperatorNames operators = transforms::operators_of_transforms();
  bool has_volumes = false;
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    operators.insert(node.op->name);
    has_volumes =
        has_volumes || (node.op->find_role(core::AttributeRole::kStride) != nullptr &&
                        ops::sizes_by_role(node, core::AttributeRole::kStride).size() == 3);
  }
  for (const transforms::RewriteSequence& plan : transforms::find_named_functions(graph))
    for (const transforms::RewriteStep& step : plan.steps)
      for (const std::string& text : step.texts)
        for (const std::string_view word : rules::called_words(text).target)
          operators.insert(std::string(word));
  std::vector<rules::CalledWords> words;
  for (const auto* list : {&loaded.baseline, &loaded.search})
    for (const Rule& rule : *list) words.push_back(rules::called_words(rule));
  for (const auto* list : {&loaded.written_baseline, &loaded.written_search})
    for (const WrittenRule& rule : *list) words.push_back(rules::called_words(rule.text));
  return {rules::sibling_numbers(graph),
          rules::reachable_operators(std::move(operators), std::move(words)), has_volumes};
}

rules::InstanceChoice all_instances() { return {rules::usual_siblings()}; }

core::Result<std::vector<Rule>> read_believed_instances(const std::string& file,
                                                        const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(rules::RuleFile read, read_believed(file, false, context));
  SOAPSTONE_ASSIGN_OR_RETURN(auto written, rules::instances_of(read.written, all_instances()));
  std::ranges::move(written, std::back_inserter(read.rules));
  return std::move(read.rules);
}

core::Status add_instances(const rules::InstanceChoice& choice, const RuleRequest& request,
                           LoadedRules& loaded) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto baseline, rules::instances_of(loaded.written_baseline, choice));
  SOAPSTONE_ASSIGN_OR_RETURN(auto searched, rules::instances_of(loaded.written_search, choice));
  leave_out(request, searched);
  std::ranges::move(baseline, std::back_inserter(loaded.baseline));
  std::ranges::move(searched, std::back_inserter(loaded.search));
  loaded.written_baseline.clear();
  loaded.written_search.clear();
  return core::Done{};
}

std::function<bool(const Rule&)> admits_made(const RuleRequest& request) {
  if (!request.only_files.empty()) return nullptr;
  return [request](const Rule& rule) {
    return !is_left_out(request, rule) ||
           (may_be_made(rule, request.only) && !is_named(rule, request.skip));
  };
}

std::function<bool(const transforms::Transform&)> tries(const RuleRequest& request) {
  return [request](const transforms::Transform& transform) {
    const auto has_name = [&](const std::string& name) { return transform.name == name; };
    return (request.only.empty() || is_meant(transform, request.only)) &&
           !std::ranges::any_of(request.skip, has_name);
  };
}

std::vector<const transforms::Transform*> tried_transforms(const RuleRequest& request) {
  std::vector<const transforms::Transform*> tried;
  if (!admits_made(request)) return tried;
  std::ranges::copy_if(transforms::transforms(), std::back_inserter(tried),
                       [is_tried = tries(request)](const auto* one) { return is_tried(*one); });
  return tried;
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
