// Rule files: from text, from a file, from a folder.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <set>
#include <thread>

#include "core/base/file_io.h"
#include "rules/expansion/expand.h"
#include "rules/text/evidence.h"
#include "rules/text/rule_parser.h"

namespace soapstone::rules {
namespace {

namespace fs = std::filesystem;

/// Fewer are read before a thread has started.
constexpr std::size_t kRulesPerThread = 8;
/// Errors of one file in one message.
constexpr std::size_t kMostErrors = 100;
/// Instances of one file in memory at once.
constexpr std::size_t kMostInstances = 100'000;

/// `line:column` inside the rule as one of the file; that of the rule itself if there is none.
std::string place_in_file(const std::string& where, int first_line) {
  int line = 0;
  const char* const end = where.data() + where.size();
  const auto [rest, error] = std::from_chars(where.data(), end, line);
  if (where.empty()) return std::to_string(first_line) + ":1";
  if (error != std::errc()) return where;
  return std::to_string(first_line + line - 1) + std::string(rest, end);
}

/// `file:line:column`, or the rule where only its text as a whole is to blame.
core::Error located(const core::Error& error, const fs::path& file, const RuleText& rule,
                    const std::string& instance) {
  core::Error out = error;
  out.where = place_in_file(error.where, rule.line);
  if (!file.empty()) out.where = file.string() + ":" + out.where;
  out.where += fmt::format(": rule {}{}", rule.name, instance);
  return out;
}

/// `numbers`: of siblings; null: the usual ones.
Result<std::vector<Rule>> parse_all_instances(const RuleText& text, const fs::path& file,
                                              const std::set<int>* numbers = nullptr) {
  std::vector<Rule> rules;
  auto instances = expand(text, numbers);
  if (!instances) return located(instances.error(), file, text, "");
  for (const RuleInstance& instance : *instances) {
    auto cases = parse_instance(instance.text);
    if (!cases)
      return located(cases.error(), file, text,
                     instance.suffix.empty() ? "" : "[" + instance.suffix + "]");
    for (ParsedInstance& one : *cases) {
      Rule& rule = one.rule;
      const std::string comma = instance.suffix.empty() || one.suffix.empty() ? "" : ",";
      const std::string suffix = instance.suffix + comma + one.suffix;
      rule.name = text.name + (suffix.empty() ? "" : "[" + suffix + "]");
      rule.base_name = text.name.substr(0, text.name.find('['));
      rule.description = text.description;
      rule.file = file;
      rule.line = text.line;
      const EvidenceLine line{rule.evidence, rule.floats, rule.types, rule.edges};
      rule.evidence = rules.empty() ? confirmed(line, text.text)
                                    : rules.front().evidence;  // one line for all of them
      rules.push_back(std::move(rule));
    }
  }
  if (rules.empty() && numbers == nullptr)
    return located(core::invalid_input("`where` leaves out every instance",
                                       "its conditions on numbers contradict each other"),
                   file, text, "");
  return rules;
}

/// Several errors as one: `where` is that of the first, the others follow its message, each on
/// lines of its own as a command would print it.
core::Error together(const std::vector<core::Error>& errors) {
  core::Error all = errors[0];
  if (errors.size() == 1) return all;
  const auto add_hint = [&](const std::string& hint) {
    if (!hint.empty()) all.message += "\nhint: " + hint;
  };
  add_hint(all.hint);
  const std::size_t shown = std::min(errors.size(), kMostErrors);
  for (std::size_t k = 1; k < shown; ++k) {
    all.message += fmt::format("\nerror: {}: {}", errors[k].where, errors[k].message);
    if (k + 1 < shown) add_hint(errors[k].hint);
  }
  all.hint = errors[shown - 1].hint;
  if (shown < errors.size()) {
    add_hint(all.hint);
    all.hint = fmt::format("{} more errors follow when these are gone", errors.size() - shown);
  }
  return all;
}

/// Sorts errors in the order in which a reader of the file meets them.
void sort_by_line(std::vector<core::Error>& errors, const fs::path& file) {
  const std::size_t prefix = file.empty() ? 0 : file.string().size() + 1;
  const auto line = [&](const core::Error& error) {
    int number = 0;
    const std::string_view place =
        std::string_view(error.where).substr(std::min(prefix, error.where.size()));
    std::from_chars(place.data(), place.data() + place.size(), number);
    return number;
  };
  std::ranges::stable_sort(errors, {}, line);
}

void check_names(const std::vector<Rule>& rules, std::vector<core::Error>& errors) {
  std::set<std::string_view> names;
  for (const Rule& rule : rules) {
    if (names.insert(rule.name).second) continue;
    core::Error error = core::invalid_input(fmt::format("rule `{}` is there twice", rule.name),
                                            "give one of them another name");
    error.where = fmt::format("{}:{}:1", rule.file.string(), rule.line);
    errors.push_back(std::move(error));
  }
}

}  // namespace

Result<RuleFile> parse_rules(std::string_view text, const fs::path& file, FamilyReading families) {
  SplitRules split = split_rules(text);
  std::vector<core::Error> errors;
  for (const core::Error& error : split.errors)
    errors.push_back(file.empty() ? error : error.at(file.string()));
  std::vector<RuleText>& texts = split.rules;
  RuleFile result;
  if (families == FamilyReading::kApart) {
    const auto rest = std::ranges::stable_partition(texts, [](const RuleText& rule) {
      return rule.text.find("in siblings(") == std::string::npos;
    });
    for (RuleText& rule : rest)
      result.families.push_back({rule.name, rule.description, rule.text, file, rule.line});
    texts.erase(rest.begin(), rest.end());
  }
  std::vector<Result<std::vector<Rule>>> parsed(texts.size(), std::vector<Rule>());
  std::atomic<std::size_t> next = 0;
  const auto parse_some = [&] {
    for (std::size_t i; (i = next++) < texts.size();)
      parsed[i] = parse_all_instances(texts[i], file);
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    for (std::size_t k = 1; k < std::min(cores, texts.size() / kRulesPerThread); ++k)
      helpers.emplace_back(parse_some);
    parse_some();
  }
  for (auto& rules : parsed) {
    if (!rules) {
      errors.push_back(rules.error());
      continue;
    }
    if (result.rules.size() + rules->size() > kMostInstances)
      return core::invalid_input(
                 fmt::format("the rules have more than {} instances together", kMostInstances),
                 "make several files of them")
          .at(file.string());
    std::ranges::move(*rules, std::back_inserter(result.rules));
  }
  check_names(result.rules, errors);
  sort_by_line(errors, file);
  if (!errors.empty()) return together(errors);
  return result;
}

Result<std::vector<Rule>> members_for(const SiblingFamily& family, const std::set<int>& numbers) {
  const RuleText text{family.name, family.description, family.line, family.text};
  std::vector<Rule> members;
  for (const bool usual : {true, false}) {
    std::set<int> some;
    for (const int number : numbers)
      if (usual_siblings().contains(number) == usual) some.insert(number);
    if (some.empty()) continue;
    SOAPSTONE_ASSIGN_OR_RETURN(auto rules, parse_all_instances(text, family.file, &some));
    for (Rule& rule : rules) rule.is_proved_on_demand = !usual;
    std::ranges::move(rules, std::back_inserter(members));
  }
  return members;
}

Result<RuleFile> read_rules(const fs::path& file) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(file));
  return parse_rules(text, file);
}

Result<RuleFile> read_rule_folder(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".rules") files.push_back(it->path());
  if (error || files.empty()) {
    core::Error problem =
        core::invalid_input(error ? "the folder cannot be read: " + error.message()
                                  : "the folder holds no *.rules file");
    problem.where = folder.string();
    return problem;
  }
  std::ranges::sort(files);
  RuleFile all;
  for (const fs::path& file : files) {
    SOAPSTONE_ASSIGN_OR_RETURN(RuleFile part, read_rules(file));
    std::ranges::move(part.rules, std::back_inserter(all.rules));
    std::ranges::move(part.families, std::back_inserter(all.families));
  }
  std::vector<core::Error> errors;
  check_names(all.rules, errors);
  if (!errors.empty()) return together(errors);
  return all;
}

}  // namespace soapstone::rules
