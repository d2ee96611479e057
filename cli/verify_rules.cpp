// verify-rules: are the rules of these files true? Evaluates both sides of every instance at random
// sizes and prints a table; may write what it found under the rules.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/rule_files.h"
#include "cli/run_main.h"
#include "cli/table.h"
#include "rules/evidence.h"
#include "rules/rule.h"

namespace {

using namespace soapstone;  // NOLINT: a main file
using nlohmann::ordered_json;

struct Options : cli::CommonOptions {
  std::vector<std::string> files;
  int sizes = 200;
  std::uint64_t seed = 1;
  bool write = false;
};

/// What was found for one rule: all of its instances together.
struct Verdict {
  std::string name, file;
  int line = 0;
  std::size_t instances = 0;
  int sizes = 0;
  bool law_of_function = false;
  rules::FloatBehavior floats = rules::FloatBehavior::kExact;
  double milliseconds = 0;
  std::optional<core::Error> error;
  std::string refuted_instance;
  std::optional<rules::Counterexample> counterexample;

  bool holds() const { return !error && !counterexample; }
  std::string_view word() const {
    return error ? "undecided" : counterexample ? "refuted" : law_of_function ? "law" : "checked";
  }
};

std::string to_text(const rules::Counterexample& example) {
  std::string sizes;
  for (const auto& [name, value] : example.sizes) sizes += fmt::format(" {}={}", name, value);
  return fmt::format("{} at{}", example.text, sizes);
}

void check_instance(const rules::Rule& rule, int sizes, std::uint64_t seed, Verdict& verdict) {
  const auto start = std::chrono::steady_clock::now();
  const auto report = rules::check(rule, sizes, seed);
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  verdict.milliseconds += elapsed.count();
  ++verdict.instances;
  if (!report) {
    verdict.error = report.error().at(rule.name);
    return;
  }
  verdict.sizes += report->sizes_tried;
  verdict.law_of_function = verdict.law_of_function || report->law_of_function;
  verdict.floats = std::max(verdict.floats, report->floats);
  if (!report->counterexample) return;
  verdict.refuted_instance = rule.name;
  verdict.counterexample = report->counterexample;
}

/// Rules of one file, in its order. Instances after the first that does not hold are left out.
std::vector<Verdict> check_file(const std::vector<rules::Rule>& all, const Options& options,
                                cli::Session& session) {
  constexpr int kLeastSizes = 20;  // for an instance of a rule that has many
  std::map<std::string, int> instance_counts;
  for (const rules::Rule& rule : all) ++instance_counts[rule.base_name];
  std::vector<Verdict> verdicts;
  for (std::size_t k = 0; k < all.size() && !session.stop.stop_requested(); ++k) {
    const rules::Rule& rule = all[k];
    if (verdicts.empty() || verdicts.back().name != rule.base_name) {
      verdicts.emplace_back();
      verdicts.back().name = rule.base_name;
      verdicts.back().file = rule.file.string();
      verdicts.back().line = rule.line;
    }
    session.console.update(k, all.size(), rule.base_name);
    if (!verdicts.back().holds()) continue;
    const int count = instance_counts[rule.base_name];
    const int sizes =
        std::max((options.sizes + count - 1) / count, std::min(kLeastSizes, options.sizes));
    check_instance(rule, sizes, options.seed, verdicts.back());
  }
  return verdicts;
}

std::string report_text(const std::vector<Verdict>& verdicts, const Options& options) {
  constexpr auto kRight = cli::Align::kRight;
  cli::Table table({{"rule"},
                    {"instances", kRight},
                    {"sizes", kRight},
                    {"verdict"},
                    {"floats"},
                    {"ms", kRight}});
  std::string details;
  std::size_t instances = 0;
  for (const Verdict& v : verdicts) {
    instances += v.instances;
    if (options.quiet && v.holds()) continue;
    table.add_row({v.name, std::to_string(v.instances), std::to_string(v.sizes),
                   std::string(v.word()), v.holds() ? std::string(rules::to_string(v.floats)) : "-",
                   fmt::format("{:.1f}", v.milliseconds)});
    if (v.error) details += fmt::format("{}\n", v.error->to_string());
    if (v.counterexample)
      details += fmt::format("{}:{}: {}: {}\n", v.file, v.line, v.refuted_instance,
                             to_text(*v.counterexample));
  }
  std::string text = table.empty() ? "" : table.to_string();
  if (!details.empty()) text += "\n" + details;
  if (!options.quiet) text += fmt::format("\n{} rules, {} instances\n", verdicts.size(), instances);
  return text;
}

ordered_json to_json(const Verdict& v) {
  ordered_json entry{{"rule", v.name},           {"file", v.file},   {"line", v.line},
                     {"instances", v.instances}, {"sizes", v.sizes}, {"verdict", v.word()}};
  if (v.holds()) entry["floats"] = rules::to_string(v.floats);
  entry["ms"] = v.milliseconds;
  if (v.error) entry["error"] = v.error->to_string();
  if (v.counterexample) {
    entry["instance"] = v.refuted_instance;
    for (const auto& [name, value] : v.counterexample->sizes) entry["at"][name] = value;
    entry["difference"] = v.counterexample->text;
  }
  return entry;
}

core::Status write_evidence(const std::string& file, const std::vector<Verdict>& verdicts) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  std::vector<rules::EvidenceEdit> edits;
  for (const Verdict& v : verdicts) {
    if (!v.holds()) continue;
    rules::EvidenceLine line;
    line.evidence.kind = rules::Evidence::Kind::kChecked;
    // A law of a function holds in doubles only: the field knows nothing of it.
    line.evidence.detail =
        fmt::format("{}, {} sizes", v.law_of_function ? "doubles" : "2^61-1", v.sizes);
    line.floats = v.floats;
    edits.push_back({v.line, line});
  }
  const std::string updated = rules::with_evidence(text.str(), edits);
  if (updated == text.str()) return core::Done{};
  std::ofstream out(file, std::ios::binary);
  if (out << updated << std::flush) return core::Done{};
  return core::invalid_input("the file cannot be written").at(file);
}

/// The shipped files if none is given.
std::vector<std::string> files_of(const Options& options) {
  std::vector<std::string> files = options.files;
  std::error_code error;
  if (files.empty())
    for (const auto& entry : std::filesystem::directory_iterator(cli::rules_folder(), error))
      if (entry.path().extension() == ".rules") files.push_back(entry.path().string());
  if (options.files.empty()) std::ranges::sort(files);
  return files;
}

core::Status verify(const Options& options, cli::Session& session) {
  std::vector<Verdict> all;
  for (const std::string& file : files_of(options)) {
    session.console.stage(file);
    SOAPSTONE_ASSIGN_OR_RETURN(const auto rules, rules::read_rules(file));
    const auto verdicts = check_file(rules.rules, options, session);
    SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
    if (options.write) SOAPSTONE_RETURN_IF_ERROR(write_evidence(file, verdicts));
    std::ranges::copy(verdicts, std::back_inserter(all));
  }
  ordered_json list = ordered_json::array();
  for (const Verdict& v : all) list.push_back(to_json(v));
  SOAPSTONE_RETURN_IF_ERROR(session.report(report_text(all, options), {{"rules", list}}));
  using core::ErrorCode;
  const auto refuted =
      std::ranges::count_if(all, [](const Verdict& v) { return v.counterexample.has_value(); });
  if (refuted > 0)
    return core::Error{ErrorCode::kRequirementNotMet,
                       fmt::format("{} rules are refuted", refuted),
                       {},
                       "the report says where the two sides differ"};
  if (std::ranges::all_of(all, &Verdict::holds)) return core::Done{};
  return core::Error{ErrorCode::kUnsupported, "some rules could not be checked", {}, {}};
}

void declare(CLI::App& app, Options& options) {
  app.add_option("files", options.files, "Rule files; none: the shipped ones")->type_name("FILE");
  app.add_option(
         "--sizes", options.sizes,
         "Random sizes to try for each rule, over all of its instances, 20 at least for one")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  app.add_flag("--write", options.write, "Put what was found under the rules that hold");
  cli::add_seed_option(app, options.seed);
  cli::add_common_options(app, options);
  cli::set_examples(app, "  $ verify-rules\n"
                         "  $ verify-rules mine.rules --sizes 1000 --seed 7\n"
                         "  $ verify-rules mine.rules --write\n"
                         "  $ verify-rules mine.rules --json - | jq '.rules[] | .verdict'");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Checks with numbers that the two sides of rewrite rules compute the same. One pair "
               "of unequal results refutes a rule; else it is checked, which is not a proof.",
               "verify-rules");
  declare(app, options);
  return cli::run_main(argc, argv, app, options,
                       [&](cli::Session& session) { return verify(options, session); });
}
