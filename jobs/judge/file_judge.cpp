// See file_judge.h.
#include "jobs/judge/file_judge.h"

#include <utility>

#include <fmt/format.h>

#include "models/onnx/moved.h"
#include "workers/runtimes.h"

namespace soapstone::jobs {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kFirstMove = 1;

/// The names of results of f32.
std::set<std::string> f32_results(const core::Graph& graph) {
  std::set<std::string> names;
  for (const core::NodeId id : graph.order()) {
    for (const core::TensorId output : graph.node(id).outputs) {
      const core::Tensor& tensor = graph.tensor(output);
      if (tensor.type.data_type == core::DataType::kFloat32 &&
          !graph.is_constant_expression(output))
        names.insert(tensor.name);
    }
  }
  names.erase(std::string());
  return names;
}

}  // namespace

core::Result<IndependentRuntime> start_runtime(const JudgeRequest& request) {
  if (request.judge == JudgeKind::kNone)
    return IndependentRuntime{std::nullopt, "none was asked for"};
  workers::RuntimeChoice choice;  // ONNX Runtime
  choice.python = request.python;
  auto worker = workers::start_runtime_worker(choice);
  if (worker) return IndependentRuntime{*std::move(worker), {}};
  if (request.is_required()) return worker.error();
  return IndependentRuntime{std::nullopt, worker.error().message};
}

FileJudge::FileJudge(workers::RuntimeWorker worker, fs::path original, const core::Graph& interface)
    : worker_(std::move(worker)), original_(std::move(original)), noisy_(f32_results(interface)) {
  for (const core::TensorId id : interface.inputs())
    input_names_.push_back(interface.tensor(id).name);
}

core::Result<std::unique_ptr<FileJudge>>
FileJudge::of_result(workers::RuntimeWorker worker, fs::path original, const core::Graph& interface,
                     const std::string& file_name, Write write) {
  std::unique_ptr<FileJudge> judge(
      new FileJudge(std::move(worker), std::move(original), interface));
  SOAPSTONE_ASSIGN_OR_RETURN(judge->folder_, core::PrivateFolder::make());
  judge->rewritten_ = judge->folder_->path() / (file_name.empty() ? "result.onnx" : file_name);
  judge->write_ = std::move(write);
  return judge;
}

std::unique_ptr<FileJudge> FileJudge::of_files(workers::RuntimeWorker worker, fs::path original,
                                               fs::path rewritten, const core::Graph& interface) {
  std::unique_ptr<FileJudge> judge(
      new FileJudge(std::move(worker), std::move(original), interface));
  judge->rewritten_ = std::move(rewritten);
  return judge;
}

std::string FileJudge::runtime() const {
  return fmt::format("{} {}", worker_.identity().name, worker_.identity().version);
}

void FileJudge::close(Model model) {
  const auto old = loaded_.find(model);
  if (old == loaded_.end()) return;
  worker_.close(old->second);
  loaded_.erase(old);
}

void FileJudge::move(std::uint64_t seed) {
  if (seed == moves_) return;
  close(Model::kMovedOriginal);
  moves_ = seed;
}

core::Status FileJudge::rewrite(const core::Graph& graph) {
  if (!write_) return core::Done{};
  if (written_ == graph.hash() && loaded_.contains(Model::kRewritten)) return core::Done{};
  close(Model::kRewritten);
  close(Model::kOptimizedRewritten);
  written_ = 0;
  SOAPSTONE_RETURN_IF_ERROR(write_(graph, rewritten_));
  written_ = graph.hash();
  return core::Done{};
}

/// The file of a model. The original with moved weights is written when it is first asked for.
core::Result<fs::path> FileJudge::path_of(Model model) {
  if (model == Model::kRewritten || model == Model::kOptimizedRewritten) return rewritten_;
  if (model != Model::kMovedOriginal) return original_;
  SOAPSTONE_ASSIGN_OR_RETURN(moved_folder_, core::PrivateFolder::make());
  const fs::path moved = moved_folder_->path() / "moved.onnx";
  SOAPSTONE_RETURN_IF_ERROR(models::write_moved(original_, moved, kFirstMove + moves_,
                                                moves_ > 0 ? noisy_ : std::set<std::string>()));
  return moved;
}

core::Result<std::size_t> FileJudge::loaded(Model model) {
  if (const auto known = loaded_.find(model); known != loaded_.end()) return known->second;
  workers::LoadOptions options;
  options.optimizations = model == Model::kOptimizedOriginal || model == Model::kOptimizedRewritten;
  SOAPSTONE_ASSIGN_OR_RETURN(const fs::path path, path_of(model));
  auto number = worker_.load(path, options);
  if (!number && model == Model::kMovedOriginal && moves_ > 0 && !noisy_.empty()) {
    noisy_.clear();  // it may be what the runtime has no kernel for
    return loaded(model);
  }
  if (number) loaded_.emplace(model, *number);
  return number;
}

core::Status FileJudge::load(Model model) {
  SOAPSTONE_RETURN_IF_ERROR(loaded(model));
  return core::Done{};
}

core::Result<std::vector<search::NamedResult>>
FileJudge::run(Model model, std::span<const core::Literal> inputs) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t number, loaded(model));
  std::vector<workers::NamedTensor> named;
  for (std::size_t k = 0; k < inputs.size(); ++k) named.push_back({input_names_[k], inputs[k]});
  SOAPSTONE_ASSIGN_OR_RETURN(auto outputs, worker_.run(number, named));
  std::vector<search::NamedResult> results;
  for (workers::NamedTensor& output : outputs)
    results.push_back({std::move(output.name), std::move(output.value)});
  return results;
}

std::optional<fs::path> FileJudge::file_of(const core::Graph& graph) const {
  if (!write_ || written_ != graph.hash()) return std::nullopt;
  return rewritten_;
}

}  // namespace soapstone::jobs
