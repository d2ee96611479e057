// bench-graph: how long a model takes on a device, launch by launch if wanted, and against another
// model. Also carries measured costs from and to other machines.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bench_report.h"
#include "cli/device_options.h"
#include "cli/model_files.h"
#include "cli/run_main.h"
#include "search/equivalence/equivalence.h"

namespace {

using namespace soapstone;  // NOLINT: a main file

struct Options : cli::CommonOptions {
  std::string model, against;
  std::vector<std::string> shapes;
  cli::DeviceOptions device;
  std::uint64_t seed = 0;
  int rounds = 200;
  double time_s = 10;
  bool breakdown = false;
  std::string import_costs, export_costs;
};

/// A model that has run once and can be timed.
struct Loaded {
  core::Graph graph;
  runtime::Executable executable;
};

core::Result<Loaded> load(const std::string& path, const Options& options,
                          runtime::Backend& backend, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(models::OnnxModel model,
                             cli::read_model(path, options.shapes, session));
  SOAPSTONE_RETURN_IF_ERROR(cli::check_can_run(path, model.graph));
  session.console.stage("compiling " + path);
  auto executable =
      runtime::Executable::make(model.graph, backend, {.fusion = options.device.fusion_level()});
  if (!executable) return executable.error().at(path);
  const auto inputs = search::sample_inputs(model.graph, search::SampleKind::kNormal, options.seed);
  if (auto outputs = executable->run(inputs); !outputs) return outputs.error().at(path);
  for (const auto& [node, why] : executable->report().reference_kernels) {
    session.console.log(core::LogLevel::kWarning,
                        fmt::format("{}: {} runs on a slow reference kernel: {}", path, node, why));
  }
  return Loaded{std::move(model.graph), *std::move(executable)};
}

core::Status import_costs(const Options& options, cost::CostDatabase& database,
                          cli::Session& session) {
  if (options.import_costs.empty()) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t count,
                             database.import_json_lines(options.import_costs));
  session.console.log(core::LogLevel::kInfo,
                      fmt::format("read {} costs from {}", count, options.import_costs));
  return core::Done{};
}

core::Status export_costs(const Options& options, cost::CostDatabase& database,
                          cli::Session& session) {
  if (options.export_costs.empty()) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t count,
                             database.export_json_lines(options.export_costs));
  session.console.log(core::LogLevel::kInfo,
                      fmt::format("wrote {} costs to {}", count, options.export_costs));
  return core::Done{};
}

core::Result<cli::BenchReport> measure(const Options& options, cost::CostDatabase* database,
                                       cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, cli::make_backend(options.device));
  cli::BenchReport report;
  report.device = backend->device().key();
  report.fusion = options.device.fusion_level();
  SOAPSTONE_ASSIGN_OR_RETURN(Loaded model, load(options.model, options, *backend, session));
  report.models.push_back({options.model, {}, model.executable.report()});
  const double time_us = options.time_s * 1e6;
  if (options.against.empty()) {
    session.console.stage("timing");
    runtime::Executable* const alone[] = {&model.executable};
    report.models[0].timing = cost::time_in_turn(alone, options.rounds, time_us, session.stop)[0];
  } else {
    SOAPSTONE_ASSIGN_OR_RETURN(Loaded other, load(options.against, options, *backend, session));
    session.console.stage("timing in turn");
    const cost::Comparison comparison = cost::compare_and_time(
        other.executable, model.executable, options.rounds, time_us, session.stop);
    report.models[0].timing = comparison.b;
    report.models.push_back({options.against, comparison.a, other.executable.report()});
    report.ratio = comparison.ratio;
  }
  SOAPSTONE_RETURN_IF_ERROR(session.check_interrupt());
  if (options.breakdown) {
    session.console.stage("timing launches");
    report.launches =
        cost::make_measured_cost(*backend, report.fusion, database, {.stop = &session.stop})
            ->breakdown(model.graph);
  }
  return report;
}

core::Error usage(std::string message, std::string hint) {
  return {core::ErrorCode::kUsage, std::move(message), {}, std::move(hint)};
}

core::Status bench(const Options& options, cli::Session& session) {
  const bool exchanges = !options.import_costs.empty() || !options.export_costs.empty();
  if (options.model.empty() && !exchanges) {
    return usage("which model?", "give an ONNX file; bench-graph --help shows examples");
  }
  std::unique_ptr<cost::CostDatabase> database;
  if (exchanges || options.breakdown) {
    SOAPSTONE_ASSIGN_OR_RETURN(database, cli::open_costs(options.device));
  }
  if (exchanges && !database) {
    return usage("--cost-db none leaves no database to exchange", "give a file to --cost-db");
  }
  if (database) SOAPSTONE_RETURN_IF_ERROR(import_costs(options, *database, session));
  if (!options.model.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(const cli::BenchReport report,
                               measure(options, database.get(), session));
    SOAPSTONE_RETURN_IF_ERROR(session.report(cli::bench_text(report), cli::bench_json(report)));
  }
  if (database) SOAPSTONE_RETURN_IF_ERROR(export_costs(options, *database, session));
  return core::Done{};
}

void declare(CLI::App& app, Options& options) {
  app.add_option("model", options.model, "ONNX file")->type_name("FILE");
  app.add_option("--against", options.against,
                 "Time another model in turn with it, and give the ratio")
      ->type_name("FILE");
  app.add_flag("--breakdown", options.breakdown, "Also time each launch alone");
  app.add_option("--rounds", options.rounds, "Most times that a model is timed")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  app.add_option("--time", options.time_s, "Seconds to spend on timing")
      ->type_name("S")
      ->check(cli::not_negative())
      ->capture_default_str();
  cli::add_shape_option(app, options.shapes);
  cli::add_device_options(app, options.device);
  cli::add_fusion_option(app, options.device);
  cli::add_cost_db_option(app, options.device);
  app.add_option("--import-costs", options.import_costs, "Read costs that --export-costs wrote")
      ->type_name("FILE");
  app.add_option("--export-costs", options.export_costs,
                 "Write the database of costs as JSON Lines, for another machine")
      ->type_name("FILE");
  cli::add_seed_option(app, options.seed);
  cli::add_common_options(app, options);
  cli::set_examples(app, "  $ bench-graph model.onnx --breakdown\n"
                         "  $ bench-graph model.opt.onnx --against model.onnx\n"
                         "  $ bench-graph --export-costs costs.jsonl");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times a model on this machine.", "bench-graph");
  declare(app, options);
  return cli::run_main(argc, argv, app, options,
                       [&](cli::Session& session) { return bench(options, session); });
}
