// A runtime behind the worker protocol (docs/workers.md): models are loaded, run, timed, profiled
// and closed there. Nothing that the worker says is believed before it is checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/private_folder.h"
#include "core/base/result.h"
#include "workers/runtime_types.h"
#include "workers/worker_process.h"

namespace soapstone::workers {

struct WorkerOptions {
  std::vector<std::string> command;
  double start_timeout_s = 60;
  double load_timeout_s = 600;
  double run_timeout_s = 600;  ///< Also for time() and profile(), beyond their budgets.
  std::uint64_t most_output_bytes = std::uint64_t{1}
                                    << 32;  ///< Most bytes that the outputs of one run may have.
};

/// Failures of the worker itself (it crashed, hung, printed garbage, ran out of memory) cost one
/// restart, after which the request is made once more; then they are Errors of kind kUnavailable
/// with its last words. If the runtime refuses, the error is kUnsupported, in its own words.
/// Within a core::StopScope that asks to stop, whatever is going on ends with kInterrupted and the
/// process with it; the next request starts another one.
class RuntimeWorker {
 public:
  /// Errors: kUnavailable.
  static core::Result<RuntimeWorker> start(WorkerOptions options);

  const RuntimeIdentity& identity() const { return identity_; }
  /// The number of the model here. Models and their prepared inputs survive restarts.
  core::Result<std::size_t> load(const std::filesystem::path& path, const LoadOptions& options);
  /// One tensor for each of the model's inputs; its outputs in the order of the model.
  core::Result<std::vector<NamedTensor>> run(std::size_t model,
                                             std::span<const NamedTensor> inputs);
  /// Sets the inputs with which time() and profile() run the model; they stay in the worker.
  core::Status prepare(std::size_t model, std::span<const NamedTensor> inputs);
  /// Times models in turn: each round runs every model, often enough for a sample of about a
  /// millisecond, in an order that changes. Ends after `rounds` or `budget_us`, whichever is
  /// first, but not before three rounds. All models have the same number of samples.
  /// Precondition: the models are prepared; one may be named twice (a control).
  core::Result<std::vector<Samples>> time(std::span<const std::size_t> models, int rounds,
                                          double budget_us);
  /// Which kernels the runtime runs and how long each takes, over `runs` runs (at least three).
  /// Precondition: the model is prepared.
  core::Result<RuntimeProfile> profile(std::size_t model, int runs);
  void close(std::size_t model);
  /// From now on the worker may take so long to load a model and to run it, if that is less than
  /// before; beyond that it counts as hanging.
  void limit_waits(double load_s, double run_s);
  int restarts() const { return restarts_; }

 private:
  struct Model {
    std::filesystem::path path;
    LoadOptions options;
    std::optional<std::int64_t> number;  ///< The worker's; none: not loaded there.
    bool is_open = true;
    std::optional<std::vector<NamedTensor>> inputs;  ///< Those of prepare().
    bool is_prepared = false;                        ///< Whether the worker has them.
  };

  RuntimeWorker(WorkerOptions options, core::PrivateFolder folder)
      : options_(std::move(options)), folder_(std::move(folder)) {}
  core::Status start_process();
  core::Status load_there(Model& model);
  core::Status prepare_there(Model& model);
  core::Result<std::vector<NamedTensor>> run_there(const Model& model,
                                                   std::span<const NamedTensor> inputs);
  core::Result<std::vector<Samples>> time_there(std::span<const std::size_t> models,
                                                std::size_t rounds, double budget_us);
  core::Result<RuntimeProfile> profile_there(Model& model, int runs);
  Model& open_model(std::size_t number);
  template <class T, class Attempt>
  core::Result<T> with_restart(Attempt attempt);
  core::Error broken(const core::Error& error);

  WorkerOptions options_;
  core::PrivateFolder folder_;
  std::optional<WorkerProcess> process_;
  RuntimeIdentity identity_;
  std::vector<Model> models_;
  std::int64_t next_request_ = 1;
  int restarts_ = 0;
};

}  // namespace soapstone::workers
