// bench-graph: how long a model takes in the runtime in which it is deployed or on our own
// executor, kernel by kernel if wanted, and against another model. Also carries measured costs from
// and to other machines.
#include "cli/bench/bench_options.h"
#include "cli/bench/bench_report.h"
#include "cli/session/run_main.h"
#include "jobs/base/usage_error.h"

namespace {

using namespace soapstone;

core::Status bench(const cli::CommandLine& line, const cli::BenchOptions& options,
                   cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::BenchRequest request, cli::request_of(line, options));
  const bool exchanges = !options.import_costs.empty() || !options.export_costs.empty();
  if (request.model.empty() && !exchanges) {
    return jobs::usage_error("which model?",
                             "give an ONNX file; bench-graph --help shows examples");
  }
  std::unique_ptr<cost::CostDatabase> database;
  if (exchanges || request.breakdown || request.device.rounds()) {
    SOAPSTONE_ASSIGN_OR_RETURN(database, jobs::open_costs(request.device));
  }
  if (exchanges && !database) {
    return jobs::usage_error("--cost-db none leaves no database to exchange",
                             "give a file to --cost-db");
  }
  const jobs::Context context = session.context();
  if (database)
    SOAPSTONE_RETURN_IF_ERROR(jobs::import_costs(options.import_costs, *database, context));
  if (!request.model.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(const jobs::BenchOutcome outcome,
                               jobs::bench(request, database.get(), context));
    SOAPSTONE_RETURN_IF_ERROR(session.report(cli::bench_text(outcome), cli::bench_json(outcome)));
  }
  if (database)
    SOAPSTONE_RETURN_IF_ERROR(jobs::export_costs(options.export_costs, *database, context));
  return core::Done{};
}

}  // namespace

int main(int argc, char** argv) {
  cli::BenchOptions options;
  cli::CommandLine line("bench-graph", "Times a model on this machine.");
  cli::add_bench_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return bench(line, options, session); });
}
