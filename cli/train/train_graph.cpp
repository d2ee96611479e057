// train-graph: writes one step of a model's training as an ONNX model.
#include "cli/session/run_main.h"
#include "cli/train/train_options.h"
#include "cli/train/train_report.h"

namespace {

using namespace soapstone;

core::Status train(const cli::TrainGraphOptions& options, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::TrainRequest request, cli::train_request(options));
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::TrainOutcome outcome,
                             jobs::train(request, session.context()));
  return session.report(cli::train_text(outcome), cli::train_json(outcome));
}

}  // namespace

int main(int argc, char** argv) {
  cli::TrainGraphOptions options;
  cli::CommandLine line("train-graph", "Writes one step of a model's training as an ONNX model: "
                                       "forward, gradients, update.");
  cli::add_train_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return train(options, session); });
}
