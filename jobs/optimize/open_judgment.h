// The independent runtime looks at a result that leaves sizes open: what it has seen before is the
// result at the sizes given, which is another file.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/private_folder.h"
#include "jobs/optimize/optimize_job.h"
#include "models/onnx/open_sizes.h"

namespace soapstone::jobs {

/// The original at the sizes given, or at other ones.
struct SizedOriginal {
  core::Graph graph;
  std::string sizes;                       ///< "N=2, T=6"
  bool has_own_inputs = false;             ///< Whether the inputs of the request fit.
  std::optional<core::Graph> result = {};  ///< What was made of it, if that is one graph.
  /// Whether bodies of nodes were checked by themselves, with what overflows in them: then finite
  /// numbers of the whole that differ are never excused.
  bool has_checked_bodies = false;
};

struct FileJudgment {
  std::vector<std::string> looked_at;  ///< Sizes at which both files were run.
  std::string difference;              ///< Why the file must not be handed out; empty: it may.
  std::string note;                    ///< Part of a sentence for the report.
  std::optional<search::JudgeReport> first;  ///< At the first of the sizes looked at.
};

/// The independent runtime compares a file with the original. A size at which it does not run the
/// original is no reason against the file; that there is no runtime is one. `latitude`: of the
/// rules that were used.
core::Result<FileJudgment> judge_file(const OptimizeRequest& request, const OptimizeJob& job,
                                      const std::filesystem::path& file,
                                      std::span<const SizedOriginal> originals,
                                      search::Latitude latitude, const Context& context);

struct OpenJudgment {
  /// The file that was judged, and where it lies. None: there is no judge.
  std::optional<core::PrivateFolder> folder;
  std::filesystem::path path;
  std::string difference;  ///< Why the file must not be handed out; empty: it may.
  std::string note;        ///< Part of a sentence for the report: who looked, and where.
};

/// Without a judge of the result there is none here. Errors: those of writing the file.
core::Result<OpenJudgment> judge_open(const OptimizeRequest& request, const OptimizeJob& job,
                                      const models::OpenExport& file,
                                      std::span<const SizedOriginal> originals,
                                      search::Latitude latitude, const Context& context);

}  // namespace soapstone::jobs
