// See runtime_worker.h.
#include "workers/runtime_worker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "workers/exchange_files.h"
#include "workers/messages.h"

namespace soapstone::workers {

namespace fs = std::filesystem;

namespace {

constexpr double kLongestBudgetUs = 24 * 3600e6;
constexpr int kMostProfiledRuns = 1000;

}  // namespace

core::Result<RuntimeWorker> RuntimeWorker::start(WorkerOptions options) {
  SOAPSTONE_ASSIGN_OR_RETURN(core::PrivateFolder folder, core::PrivateFolder::make());
  RuntimeWorker worker(std::move(options), std::move(folder));
  SOAPSTONE_RETURN_IF_ERROR(worker.start_process());
  return worker;
}

core::Status RuntimeWorker::start_process() {
  SOAPSTONE_ASSIGN_OR_RETURN(process_, WorkerProcess::start(options_.command));
  for (Model& model : models_) {
    model.number.reset();
    model.is_prepared = false;
  }
  const std::int64_t id = next_request_++;
  auto line = process_->exchange(hello_request(id), options_.start_timeout_s);
  if (!line) return broken(line.error());
  auto identity = hello_answer(*line, id);
  if (!identity) return broken(identity.error());
  identity_ = *std::move(identity);
  return core::Done{};
}

/// Gives the process up and makes an error of what happened. If the process runs still, it did not
/// keep to the protocol: then the message gets the end of what it wrote to its standard error.
core::Error RuntimeWorker::broken(const core::Error& error) {
  std::string message = error.message;
  const bool is_interrupted = error.code == core::ErrorCode::kInterrupted;
  if (process_ && process_->is_running() && !is_interrupted)
    message = process_->failure(std::move(message)).message;
  process_.reset();
  if (is_interrupted) return error;
  return core::unavailable(std::move(message)).at(options_.command.back());
}

/// Makes the attempt again, once, in a new process, if the worker failed; not if the runtime
/// refused.
template <class T, class Attempt>
core::Result<T> RuntimeWorker::with_restart(Attempt attempt) {
  for (int tries = 0;; ++tries) {
    core::Status running = core::Done{};
    if (!process_) {
      running = start_process();
      ++restarts_;
    }
    core::Result<T> result = running ? attempt() : core::Result<T>(running.error());
    const bool is_interrupted = !result && result.error().code == core::ErrorCode::kInterrupted;
    if (result || !(is_interrupted || result.error().code == core::ErrorCode::kUnavailable))
      return result;
    const core::Error failure = broken(result.error());
    if (is_interrupted || tries > 0) return failure;
  }
}

core::Status RuntimeWorker::load_there(Model& model) {
  if (model.number) return core::Done{};
  const std::int64_t id = next_request_++;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string request,
                             load_request(id, model.path, model.options));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string line,
                             process_->exchange(request, options_.load_timeout_s));
  SOAPSTONE_ASSIGN_OR_RETURN(model.number, load_answer(line, id));
  return core::Done{};
}

core::Result<std::size_t> RuntimeWorker::load(const fs::path& path, const LoadOptions& options) {
  models_.push_back({fs::absolute(path), options, std::nullopt, true, std::nullopt, false});
  const std::size_t number = models_.size() - 1;
  auto loaded = with_restart<core::Done>([&] { return load_there(models_[number]); });
  if (loaded) return number;
  models_[number].is_open = false;
  core::Error error = loaded.error();
  if (error.code == core::ErrorCode::kUnsupported) {
    error.message = fmt::format("{} cannot load the model: {}", identity_.name, error.message);
    error.hint = "try other options, a newer version of it, or another runtime";
  }
  return error;
}

core::Status RuntimeWorker::prepare_there(Model& model) {
  SOAPSTONE_RETURN_IF_ERROR(load_there(model));
  if (model.is_prepared) return core::Done{};
  empty_folder(folder_.path());
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<TensorFile> files,
                             write_tensors(*model.inputs, folder_.path()));
  const std::int64_t id = next_request_++;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string request,
                             prepare_request(id, {*model.number, folder_.path(), files}));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string line,
                             process_->exchange(request, options_.run_timeout_s));
  empty_folder(folder_.path());
  SOAPSTONE_RETURN_IF_ERROR(plain_answer(line, id));
  model.is_prepared = true;
  return core::Done{};
}

core::Status RuntimeWorker::prepare(std::size_t number, std::span<const NamedTensor> inputs) {
  Model& model = open_model(number);
  model.inputs.emplace(inputs.begin(), inputs.end());
  model.is_prepared = false;
  auto prepared = with_restart<core::Done>([&] { return prepare_there(model); });
  if (!prepared) model.inputs.reset();
  return prepared;
}

core::Result<std::vector<NamedTensor>>
RuntimeWorker::run_there(const Model& model, std::span<const NamedTensor> inputs) {
  empty_folder(folder_.path());
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<TensorFile> files,
                             write_tensors(inputs, folder_.path()));
  const std::int64_t id = next_request_++;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string request,
                             run_request(id, {*model.number, folder_.path(), files}));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string line,
                             process_->exchange(request, options_.run_timeout_s));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<TensorFile> outputs, run_answer(line, id));
  std::uint64_t total = 0;
  for (const TensorFile& output : outputs) total += output.bytes();
  if (total > options_.most_output_bytes)
    return core::unsupported(fmt::format("its results have {} bytes, which is too much", total));
  std::vector<NamedTensor> results;
  for (const TensorFile& output : outputs) {
    SOAPSTONE_ASSIGN_OR_RETURN(core::Literal value, read_tensor(output, folder_.path()));
    results.push_back({output.name, std::move(value)});
  }
  return results;
}

core::Result<std::vector<NamedTensor>> RuntimeWorker::run(std::size_t number,
                                                          std::span<const NamedTensor> inputs) {
  Model& model = open_model(number);
  return with_restart<std::vector<NamedTensor>>([&]() -> core::Result<std::vector<NamedTensor>> {
    SOAPSTONE_RETURN_IF_ERROR(load_there(model));
    return run_there(model, inputs);
  });
}

core::Result<std::vector<Samples>> RuntimeWorker::time_there(std::span<const std::size_t> numbers,
                                                             std::size_t rounds, double budget_us) {
  std::vector<std::int64_t> models;
  for (const std::size_t number : numbers) {
    SOAPSTONE_RETURN_IF_ERROR(prepare_there(models_[number]));
    models.push_back(*models_[number].number);
  }
  const std::int64_t id = next_request_++;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string line,
                             process_->exchange(time_request(id, models, rounds, budget_us),
                                                options_.run_timeout_s + budget_us * 1e-6));
  return time_answer(line, id, models.size(), rounds);
}

core::Result<std::vector<Samples>> RuntimeWorker::time(std::span<const std::size_t> numbers,
                                                       int rounds, double budget_us) {
  for (const std::size_t number : numbers)
    CHECK(open_model(number).inputs, "a model that is not prepared is to be timed");
  if (numbers.empty()) return std::vector<Samples>();
  if (numbers.size() > kMostSamples / kFewestRounds)
    return core::unsupported(fmt::format("{} models are too many to be timed", numbers.size()));
  const std::size_t most = kMostSamples / numbers.size();
  const std::size_t count =
      std::clamp(static_cast<std::size_t>(std::max(rounds, 0)), kFewestRounds, most);
  budget_us = budget_us > 0 ? std::min(budget_us, kLongestBudgetUs) : 0;
  return with_restart<std::vector<Samples>>([&] { return time_there(numbers, count, budget_us); });
}

core::Result<RuntimeProfile> RuntimeWorker::profile_there(Model& model, int runs) {
  SOAPSTONE_RETURN_IF_ERROR(prepare_there(model));
  empty_folder(folder_.path());
  const std::int64_t id = next_request_++;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string request,
                             profile_request(id, *model.number, runs, folder_.path()));
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::string line,
      process_->exchange(request, options_.load_timeout_s + options_.run_timeout_s));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string file, profile_answer(line, id));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text,
                             read_text(folder_.path() / file, kMostProfileBytes));
  empty_folder(folder_.path());
  return parse_profile(text);
}

core::Result<RuntimeProfile> RuntimeWorker::profile(std::size_t number, int runs) {
  Model& model = open_model(number);
  CHECK(model.inputs, "a model that is not prepared is to be profiled");
  const int count = std::clamp(runs, static_cast<int>(kFewestRounds), kMostProfiledRuns);
  return with_restart<RuntimeProfile>([&] { return profile_there(model, count); });
}

RuntimeWorker::Model& RuntimeWorker::open_model(std::size_t number) {
  CHECK(number < models_.size() && models_[number].is_open, "a model that is not loaded");
  return models_[number];
}

void RuntimeWorker::limit_waits(double load_s, double run_s) {
  options_.load_timeout_s = std::min(options_.load_timeout_s, load_s);
  options_.run_timeout_s = std::min(options_.run_timeout_s, run_s);
}

void RuntimeWorker::close(std::size_t number) {
  Model& model = open_model(number);
  model.is_open = false;
  model.inputs.reset();
  if (!process_ || !model.number) return;
  const auto line = process_->exchange(close_request(next_request_++, *model.number),
                                       std::min(60.0, options_.run_timeout_s));
  if (!line) process_.reset();
}

}  // namespace soapstone::workers
