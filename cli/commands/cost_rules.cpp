// cost-rules: which rules of a file can make a model faster on a device, and which only enable
// others. Costs both sides at sizes that networks have; may time them as a whole, too.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/gain_costs.h"
#include "cli/rule_equation.h"
#include "cli/rule_files.h"
#include "cli/run_main.h"
#include "cli/table.h"
#include "cost/models/measured_cost.h"

namespace {

using namespace soapstone;  // NOLINT: a main file

struct Options : cli::CommonOptions {
  std::vector<std::string> files;
  cli::DeviceOptions device;
  std::string costs = "roofline";
  std::uint64_t seed = 1;
  bool time = false;
  int rounds = 40;
  double time_s = 0.5;
};

/// What is known of one rule.
struct Row {
  std::string rule, equation;
  std::size_t instances = 0;
  cli::RuleGain gain;
  std::optional<cost::Comparison> timed;

  bool is_faster() const { return timed && timed->ratio.low > 1; }
};

core::Result<runtime::Executable> executable(const core::Graph& side, const Options& options,
                                             runtime::Backend& backend) {
  SOAPSTONE_ASSIGN_OR_RETURN(
      auto made,
      runtime::Executable::make(side, backend, {.fusion = options.device.fusion_level()}));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto ignored,
                             made.run(runtime::random_inputs(side, options.seed)));
  (void)ignored;
  return made;
}

/// Both sides in turn, whole. None if a side does not run on the device.
std::optional<cost::Comparison> timed(const cli::Trial& trial, const Options& options,
                                      runtime::Backend& backend) {
  auto source = executable(trial.source, options, backend);
  auto target = executable(trial.target, options, backend);
  if (!source || !target) return std::nullopt;
  return cost::compare_and_time(*source, *target, options.rounds, options.time_s * 1e6);
}

core::Result<std::vector<Row>> cost_all(const std::vector<rules::Rule>& all, const Options& options,
                                        const cli::GainCosts& costs, cli::Session& session) {
  std::vector<Row> rows;
  const cli::GainOptions gain = cli::gain_options(costs, options.seed);
  for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
    while (last < all.size() && all[last].base_name == all[first].base_name) ++last;
    session.console.update(first, all.size(), all[first].base_name);
    SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
    const auto instances = std::span(all).subspan(first, last - first);
    Row row{all[first].base_name, {}, last - first, {}, {}};
    row.gain = cli::best_gain(instances, *costs.model, gain);
    const auto shown = std::ranges::find(instances, row.gain.trial.instance, &rules::Rule::name);
    row.equation = cli::equation_text(shown == instances.end() ? instances[0] : *shown);
    if (options.time && row.gain.pays()) row.timed = timed(row.gain.trial, options, *costs.backend);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ratio_text(const Row& row) {
  if (!row.timed) return "";
  const cost::RatioInterval& r = row.timed->ratio;
  return row.gain.target_us == 0
             ? fmt::format("{:.1f} us to none", row.timed->a.median_us)
             : fmt::format("{:.3f} ({:.3f} to {:.3f})", r.median, r.low, r.high);
}

std::string text_of(const std::vector<Row>& rows, const Options& options,
                    const cli::GainCosts& costs) {
  std::vector<cli::Table::Column> columns = {
      {"rule"}, {"instances", cli::Align::kRight}, {"what it gains"}};
  if (options.time) columns.push_back({"timed in turn"});
  cli::Table table(columns);
  std::size_t pay = 0;
  for (const Row& row : rows) {
    const bool pays = row.gain.pays();
    pay += pays ? 1 : 0;
    if (options.quiet && !pays) continue;
    std::vector<std::string> cells = {row.rule, fmt::to_string(row.instances),
                                      cli::gain_text(row.gain, options.costs)};
    if (options.time) cells.push_back(ratio_text(row));
    table.add_row(std::move(cells));
  }
  std::string text = table.empty() ? "" : table.to_string();
  text += fmt::format("\n{} rules: {} pay by themselves, {} enable others; costs: {}\n",
                      rows.size(), pay, rows.size() - pay, costs.model->description());
  return text;
}

nlohmann::ordered_json json_of(const std::vector<Row>& rows, const cli::GainCosts& costs) {
  auto list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json entry = {
        {"rule", row.rule}, {"equation", row.equation}, {"instances", row.instances}};
    entry.update(cli::gain_json(row.gain));
    if (row.timed)
      entry["timed"] = {{"source_us", row.timed->a.median_us},
                        {"target_us", row.timed->b.median_us},
                        {"ratio", row.timed->ratio.median},
                        {"low", row.timed->ratio.low},
                        {"high", row.timed->ratio.high},
                        {"rounds", row.timed->a.rounds},
                        {"faster", row.is_faster()}};
    list.push_back(std::move(entry));
  }
  return {{"costs", costs.name}, {"rules", std::move(list)}};
}

core::Status run(const Options& options, cli::Session& session) {
  if (options.time && options.costs != "measured")
    return core::Error{core::ErrorCode::kUsage,
                       "--time runs kernels, which a roofline has not",
                       {},
                       "add --costs measured"};
  std::vector<rules::Rule> all;
  for (const std::string& file : options.files) {
    session.console.stage("reading " + file);
    SOAPSTONE_ASSIGN_OR_RETURN(auto contents, cli::read_rule_file(file));
    std::ranges::move(contents.rules, std::back_inserter(all));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const auto costs, cli::make_gain_costs(options.costs, options.device));
  session.console.stage("costing");
  SOAPSTONE_ASSIGN_OR_RETURN(const auto rows, cost_all(all, options, costs, session));
  return session.report(text_of(rows, options, costs), json_of(rows, costs));
}

void declare(CLI::App& app, Options& options) {
  app.add_option("files", options.files, "Rule files, .pb files of TASO among them")
      ->type_name("FILE")
      ->required();
  app.add_option("--costs", options.costs,
                 "roofline (the same on every machine), or measured (on the device)")
      ->type_name("COSTS")
      ->check(CLI::IsMember({"roofline", "measured"}).description(""))
      ->capture_default_str();
  app.add_flag("--time", options.time,
               "Also run both sides of what pays, whole and in turn, and give the ratio");
  app.add_option("--rounds", options.rounds, "Most times that a side is timed")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  app.add_option("--time-limit", options.time_s, "Seconds to spend on timing a rule")
      ->type_name("S")
      ->check(cli::not_negative())
      ->capture_default_str();
  cli::add_device_options(app, options.device);
  cli::add_fusion_option(app, options.device);
  cli::add_cost_db_option(app, options.device);
  cli::add_seed_option(app, options.seed);
  cli::add_common_options(app, options);
  cli::set_examples(app, "  $ cost-rules mine.rules\n"
                         "  $ cost-rules mine.rules --costs measured --time\n"
                         "  $ cost-rules mine.rules --json - | jq '.rules[] | select(.pays)'");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Says which rules can make a model faster by themselves, at sizes that networks "
               "have, and which only enable others.",
               "cost-rules");
  declare(app, options);
  return cli::run_main(argc, argv, app, options,
                       [&](cli::Session& session) { return run(options, session); });
}
