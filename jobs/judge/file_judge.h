// ONNX Runtime as the judge of two files: the user's own, and the one that is about to be handed
// out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "search/equivalence/judge.h"
#include "workers/runtime_worker.h"

namespace soapstone::jobs {

enum class JudgeKind : std::uint8_t {
  kAuto,         ///< ONNX Runtime, if it is there.
  kOnnxRuntime,  ///< It is an error if it is not there.
  kNone,
};

struct JudgeRequest {
  JudgeKind judge = JudgeKind::kAuto;
  std::string python;  ///< Python with onnxruntime; empty: $SOAPSTONE_PYTHON, else python3.

  /// Whether the job must fail without a judge: a caller who names a runtime or its Python wants
  /// it.
  bool is_required() const {
    return judge == JudgeKind::kOnnxRuntime || (judge == JudgeKind::kAuto && !python.empty());
  }
};

/// A runtime, or why there is none.
struct IndependentRuntime {
  std::optional<workers::RuntimeWorker> worker;
  std::string why_not;
};
/// Errors: kUnavailable if one was asked for by name and does not work.
core::Result<IndependentRuntime> start_runtime(const JudgeRequest& request);

class FileJudge final : public search::Judge {
 public:
  /// Writes a graph as it will be handed out.
  using Write =
      std::function<core::Status(const core::Graph& graph, const std::filesystem::path& path)>;

  /// `interface`: the original as it was read, for the names of its inputs. The result is written
  /// under the name `file_name`, in a folder that goes away.
  static core::Result<std::unique_ptr<FileJudge>>
  of_result(workers::RuntimeWorker worker, std::filesystem::path original,
            const core::Graph& interface, const std::string& file_name, Write write);
  /// A judge of two files that exist.
  static std::unique_ptr<FileJudge> of_files(workers::RuntimeWorker worker,
                                             std::filesystem::path original,
                                             std::filesystem::path rewritten,
                                             const core::Graph& interface);

  std::string runtime() const override;
  core::Status rewrite(const core::Graph& graph) override;
  core::Status load(Model model) override;
  core::Result<std::vector<search::NamedResult>>
  run(Model model, std::span<const core::Literal> inputs) override;
  void move(std::uint64_t seed) override;
  /// The file that was written for this graph, if it was the last one.
  std::optional<std::filesystem::path> file_of(const core::Graph& graph) const;

 private:
  FileJudge(workers::RuntimeWorker worker, std::filesystem::path original,
            const core::Graph& interface);
  core::Result<std::filesystem::path> path_of(Model model);
  core::Result<std::size_t> loaded(Model model);
  void close(Model model);

  workers::RuntimeWorker worker_;
  std::filesystem::path original_, rewritten_;
  std::set<std::string> noisy_;  ///< What is off by chance in the moved original.
  std::vector<std::string> input_names_;
  std::optional<core::PrivateFolder> folder_, moved_folder_;
  Write write_;
  std::uint64_t written_ = 0;  ///< Hash of the graph in the file.
  std::uint64_t moves_ = 0;    ///< Seed of the moved original.
  std::map<Model, std::size_t> loaded_;
};

}  // namespace soapstone::jobs
