// The fake worker, as a fixture: what is done with a model, in one call each.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "workers/runtime_worker.h"

namespace soapstone::workers {

class Fake : public ::testing::Test {
 protected:
  Fake() : folder_(*core::PrivateFolder::make()) {}

  core::Result<RuntimeWorker> start(const std::string& fault) {
    WorkerOptions options;
    const std::string script = SOAPSTONE_SOURCE_DIR "/tests/workers/fake_worker.py";
    // Without what a script does not need, it starts in half the time.
    options.command = {"python3", "-I",  "-S",
                       script,    fault, (folder_.path() / "processes").string()};
    // Short where one waits for its end; else there is time, on a machine that does other things
    // too.
    options.run_timeout_s = options.load_timeout_s = fault.ends_with(":hang") ? 0.5 : 60;
    return RuntimeWorker::start(options);
  }

  static NamedTensor tensor(std::vector<float> values) {
    return {"x", core::Literal::floats({static_cast<std::int64_t>(values.size())}, values)};
  }

  /// A model that is prepared with 1, 2, 3.
  static core::Result<std::size_t> loaded(RuntimeWorker& worker) {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t model, worker.load("model.onnx", {}));
    const NamedTensor x = tensor({1, 2, 3});
    SOAPSTONE_RETURN_IF_ERROR(worker.prepare(model, std::span(&x, 1)));
    return model;
  }

  static core::Result<std::vector<double>> run(RuntimeWorker& worker, std::size_t model) {
    const NamedTensor x = tensor({1, 2, 3});
    SOAPSTONE_ASSIGN_OR_RETURN(const auto outputs, worker.run(model, std::span(&x, 1)));
    return outputs.at(0).value.to_doubles();
  }

  /// What `verb` says of the model: always 2, 4, 6, if all is well.
  static core::Result<std::vector<double>> ask(RuntimeWorker& worker, std::size_t model,
                                               const std::string& verb) {
    if (verb == "run" || verb == "load") return run(worker, model);
    if (verb == "profile") {
      SOAPSTONE_ASSIGN_OR_RETURN(const RuntimeProfile profile, worker.profile(model, 3));
      const double third = profile.kernels.at(0).us / 3;
      return std::vector<double>{third, profile.total_us / 3 * 2, profile.total_cpu_us};
    }
    const std::size_t models[] = {model, model};
    SOAPSTONE_ASSIGN_OR_RETURN(const auto samples, worker.time(models, 3, 1e5));
    return std::vector<double>{samples.at(0).wall_us.at(0) / 3, samples[1].cpu_us.at(2) / 3 * 2,
                               samples[1].wall_us.at(1)};
  }

  int processes() {
    std::ifstream file(folder_.path() / "processes");
    int count = 0;
    file >> count;
    return count;
  }

  core::PrivateFolder folder_;
};

}  // namespace soapstone::workers
