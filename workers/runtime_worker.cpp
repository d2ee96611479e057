// See runtime_worker.h.
#include "workers/runtime_worker.h"

#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "workers/messages.h"

namespace soapstone::workers {
namespace {

namespace fs = std::filesystem;

core::Status write_elements(const core::Literal& value, const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  const auto bytes = value.bytes();
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (file.flush()) return core::Done{};
  return core::unavailable("cannot be written", "is the disk full?").at(path.string());
}

/// Empties the folder of files that an earlier run, or an earlier process, has left.
void empty(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) fs::remove_all(entry, ignored);
}

/// Errors: kUnavailable: there is no such plain file, or it has another size.
core::Result<core::Literal> read_elements(const TensorFile& tensor, const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error)) || error)
    return core::unavailable("its answer names a file that it has not written");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size != tensor.bytes()) {
    return core::unavailable(fmt::format("its output '{}' is to have {} bytes and has {}",
                                         tensor.name, tensor.bytes(), size));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size)))
    return core::unavailable("its output cannot be read");
  fs::remove(path, error);
  return core::Literal::copy(tensor.type, tensor.dims, bytes);
}

}  // namespace

core::Result<RuntimeWorker> RuntimeWorker::start(WorkerOptions options) {
  SOAPSTONE_ASSIGN_OR_RETURN(PrivateFolder folder, PrivateFolder::make());
  RuntimeWorker worker(std::move(options), std::move(folder));
  SOAPSTONE_RETURN_IF_ERROR(worker.start_process());
  return worker;
}

core::Status RuntimeWorker::start_process() {
  SOAPSTONE_ASSIGN_OR_RETURN(process_, WorkerProcess::start(options_.command));
  for (Model& model : models_) model.number.reset();
  const std::int64_t id = next_request_++;
  auto line = process_->exchange(hello_request(id), options_.start_timeout_s);
  if (!line) return broken(line.error().message);
  auto identity = hello_answer(*line, id);
  if (!identity) return broken(identity.error().message);
  identity_ = *std::move(identity);
  return core::Done{};
}

/// Gives the process up and makes an error of the message.
core::Error RuntimeWorker::broken(std::string message) {
  if (process_) process_->end();
  process_.reset();
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
    if (result || result.error().code != core::ErrorCode::kUnavailable) return result;
    const core::Error failure = broken(result.error().message);
    if (tries > 0) return failure;
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
  models_.push_back({fs::absolute(path), options, std::nullopt, true});
  const std::size_t number = models_.size() - 1;
  auto loaded = with_restart<core::Done>([&] { return load_there(models_[number]); });
  if (loaded) return number;
  models_[number].is_open = false;
  return loaded.error();
}

core::Result<std::vector<NamedTensor>>
RuntimeWorker::run_there(const Model& model, std::span<const NamedTensor> inputs) {
  empty(folder_.path());
  std::vector<TensorFile> files;
  for (const NamedTensor& input : inputs) {
    TensorFile file{input.name, input.value.data_type(), input.value.dims(),
                    fmt::format("in{}.bin", files.size())};
    if (core::size_bytes(file.type) == 0)
      return core::unsupported(fmt::format("input '{}' does not hold numbers", input.name));
    SOAPSTONE_RETURN_IF_ERROR(write_elements(input.value, folder_.path() / file.file));
    files.push_back(std::move(file));
  }
  const std::int64_t id = next_request_++;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string request,
                             run_request(id, *model.number, folder_.path(), files));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string line,
                             process_->exchange(request, options_.run_timeout_s));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<TensorFile> outputs, run_answer(line, id));
  std::uint64_t total = 0;
  for (const TensorFile& output : outputs) total += output.bytes();
  if (total > options_.most_output_bytes)
    return core::unsupported(fmt::format("its results have {} bytes, which is too much", total));
  std::vector<NamedTensor> results;
  for (const TensorFile& output : outputs) {
    SOAPSTONE_ASSIGN_OR_RETURN(core::Literal value,
                               read_elements(output, folder_.path() / output.file));
    results.push_back({output.name, std::move(value)});
  }
  return results;
}

core::Result<std::vector<NamedTensor>> RuntimeWorker::run(std::size_t number,
                                                          std::span<const NamedTensor> inputs) {
  CHECK(number < models_.size() && models_[number].is_open, "a model that is not loaded");
  return with_restart<std::vector<NamedTensor>>([&]() -> core::Result<std::vector<NamedTensor>> {
    SOAPSTONE_RETURN_IF_ERROR(load_there(models_[number]));
    return run_there(models_[number], inputs);
  });
}

void RuntimeWorker::close(std::size_t number) {
  Model& model = models_[number];
  model.is_open = false;
  if (!process_ || !model.number) return;
  const auto line = process_->exchange(close_request(next_request_++, *model.number), 60);
  if (!line) process_.reset();
}

}  // namespace soapstone::workers
