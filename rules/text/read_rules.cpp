// Rule files: from text, from a file, from a folder.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <set>
#include <thread>

#include "core/base/file_io.h"
#include "core/syntax/lexer.h"
#include "ops/definition/registry.h"
#include "rules/expansion/expand.h"
#include "rules/rule/families.h"
#include "rules/text/evidence.h"
#include "rules/text/reachable_operators.h"
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

RuleText text_of(const WrittenRule& rule) {
  return {rule.name, rule.description, rule.line, rule.text};
}

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

/// Where the rule's line of evidence begins, which is its last one; the end if there is none.
std::size_t evidence_begin(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  const std::size_t line = text.rfind('\n', end) + 1;  // npos + 1 is 0
  const std::string_view words = core::trimmed(text.substr(line));
  const bool is_evidence = words.starts_with("proof ") || words.starts_with("checked ");
  return is_evidence ? line : text.size();
}

/// Without any instance, an error unless some were left out.
Result<std::vector<Rule>> parse_all_instances(const RuleText& text, const fs::path& file,
                                              const ExpansionChoice& choice = {}) {
  std::vector<Rule> rules;
  RuleText stated = text;  // one line of evidence for all instances: only the first one is read
  stated.text.resize(evidence_begin(text.text));
  const std::string_view evidence = std::string_view(text.text).substr(stated.text.size());
  auto instances = expand(stated, choice);
  if (!instances) return located(instances.error(), file, text, "");
  for (RuleInstance& instance : *instances) {
    if (rules.empty()) instance.text += evidence;
    auto cases = parse_instance(instance.text);
    if (!cases)
      return located(cases.error(), file, text,
                     instance.suffix.empty() ? "" : "[" + instance.suffix + "]");
    for (ParsedInstance& one : *cases) {
      Rule& rule = one.rule;
      const std::string comma = instance.suffix.empty() || one.suffix.empty() ? "" : ",";
      const std::string suffix = instance.suffix + comma + one.suffix;
      rule.name = text.name + (suffix.empty() ? "" : "[" + suffix + "]");
      rule.base_name = base_name(text.name);
      rule.description = text.description;
      rule.file = file;
      rule.line = text.line;
      const EvidenceLine line{rule.evidence, rule.floats, rule.types, rule.edges};
      if (rules.empty()) {
        rule.evidence = confirmed(line, text.text);
      } else {
        const Rule& first = rules.front();
        put_label({first.evidence, first.floats, first.types, first.edges}, rule);
      }
      rules.push_back(std::move(rule));
    }
  }
  if (rules.empty() && choice.numbers == nullptr && !choice.is_wanted)
    return located(core::invalid_input("`where` leaves out every instance",
                                       "its conditions on numbers contradict each other"),
                   file, text, "");
  return rules;
}

/// The instances of a family for those of the numbers that are usual, or for the others.
Result<std::vector<Rule>> members_of(const WrittenRule& family, const std::set<int>& numbers,
                                     bool usual, ExpansionChoice choice) {
  std::set<int> some;
  for (const int number : numbers)
    if (usual_siblings().contains(number) == usual) some.insert(number);
  if (some.empty()) return std::vector<Rule>();
  choice.numbers = &some;
  SOAPSTONE_ASSIGN_OR_RETURN(auto members,
                             parse_all_instances(text_of(family), family.file, choice));
  for (Rule& rule : members) rule.is_proved_on_demand = !usual;
  return members;
}

/// What stands in front of a list with a number for each dimension that windows slide over:
/// `strides=[`.
const std::set<std::string>& window_lists() {
  static const std::set<std::string> kLists = [] {
    std::set<std::string> lists;
    for (const auto& op : ops::registry().all())
      if (const auto* const stride = op->find_role(core::AttributeRole::kStride))
        lists.insert(stride->name + "=[");
    return lists;
  }();
  return kLists;
}

/// Whether a window of the instance slides over three dimensions, whose families may be written
/// out: `[s{1..3}]`, `[s1, s2, s3]`.
bool slides_over_volumes(std::string_view text) {
  const auto has_three = [](std::string_view list) {
    return std::ranges::count(list, ',') == 2 || list.find("{1..3}") != std::string_view::npos ||
           list.find("{3 times ") != std::string_view::npos;
  };
  for (const std::string& begin : window_lists())
    for (std::size_t at = text.find(begin); at != std::string_view::npos;
         at = text.find(begin, at + 1))
      if (has_three(text.substr(at, text.find(']', at) - at))) return true;
  return false;
}

Result<std::vector<Rule>> instances_of(const WrittenRule& rule, const InstanceChoice& choice) {
  ExpansionChoice expansion;
  if (choice.operators || !choice.has_volumes) {
    expansion.is_wanted = [&](std::string_view text) {
      return (!choice.operators || may_match(called_words(text), *choice.operators)) &&
             (choice.has_volumes || !slides_over_volumes(text));
    };
    if (!expansion.is_wanted(rule.text)) return std::vector<Rule>();
  }
  if (!rule.has_siblings) return parse_all_instances(text_of(rule), rule.file, expansion);
  SOAPSTONE_ASSIGN_OR_RETURN(auto members, members_of(rule, choice.numbers, true, expansion));
  SOAPSTONE_ASSIGN_OR_RETURN(auto others, members_of(rule, choice.numbers, false, expansion));
  std::ranges::move(others, std::back_inserter(members));
  return members;
}

/// What `read` makes of each number below that, on several threads where that pays.
template <class Read>
std::vector<Result<std::vector<Rule>>> read_each(std::size_t count, const Read& read) {
  std::vector<Result<std::vector<Rule>>> results(count, std::vector<Rule>());
  std::atomic<std::size_t> next = 0;
  const auto read_some = [&] {
    for (std::size_t i; (i = next++) < count;) results[i] = read(i);
  };
  std::vector<std::jthread> helpers;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t k = 1; k < std::min(cores, count / kRulesPerThread); ++k)
    helpers.emplace_back(read_some);
  read_some();
  helpers.clear();
  return results;
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

Result<RuleFile> parse_rules(std::string_view text, const fs::path& file, RuleReading reading) {
  SplitRules split = split_rules(text);
  std::vector<core::Error> errors;
  for (const core::Error& error : split.errors)
    errors.push_back(file.empty() ? error : error.at(file.string()));
  std::vector<RuleText>& texts = split.rules;
  RuleFile result;
  if (reading == RuleReading::kAsWritten) {
    for (RuleText& rule : texts) {
      const bool has_siblings = rule.text.find("in siblings(") != std::string::npos;
      result.written.push_back({std::move(rule.name), std::move(rule.description),
                                std::move(rule.text), file, rule.line, has_siblings});
    }
    texts.clear();
  }
  auto parsed =
      read_each(texts.size(), [&](std::size_t i) { return parse_all_instances(texts[i], file); });
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

Result<std::vector<Rule>> instances_of(std::span<const WrittenRule> rules,
                                       const InstanceChoice& choice) {
  auto read =
      read_each(rules.size(), [&](std::size_t i) { return instances_of(rules[i], choice); });
  std::vector<Rule> all;
  for (auto& instances : read) {
    if (!instances) return instances.error();
    std::ranges::move(*instances, std::back_inserter(all));
  }
  return all;
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
  }
  std::vector<core::Error> errors;
  check_names(all.rules, errors);
  if (!errors.empty()) return together(errors);
  return all;
}

}  // namespace soapstone::rules
