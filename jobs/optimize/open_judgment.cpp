// See open_judgment.h.
#include "jobs/optimize/open_judgment.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "search/equivalence/judgment.h"

namespace soapstone::jobs {
namespace {

search::JudgeReport judged_at(const OptimizeJob& job, const SizedOriginal& original,
                              search::Latitude latitude, search::Judge& judge,
                              const Context& context) {
  search::EquivalenceOptions verify = *job.optimize.verify;
  if (!original.has_own_inputs) verify.inputs.clear();
  verify.latitude = latitude;
  search::Judgment judgment(judge, original.graph, verify);
  std::optional<search::EquivalenceCheck> check;
  judgment.explain_overflow_by([&](const core::Graph& graph, int sample) {
    // Between the nodes of a file that is no graph of ours nobody looks. On values up to the ends
    // of their types numbers overflow there, and all that follows differs.
    if (!original.result) {
      const bool may_follow =
          !original.has_checked_bodies && search::has_wide_inputs(verify, sample);
      return std::vector<bool>(graph.outputs().size(), may_follow);
    }
    if (!check) {
      if (auto made = search::EquivalenceCheck::make(original.graph, *job.backend, verify))
        check = *std::move(made);
    }
    return check ? check->leaves_range(*original.result, sample) : std::vector<bool>();
  });
  return judgment.run(original.graph, context.progress, context.stop);
}

}  // namespace

core::Result<FileJudgment> judge_file(const OptimizeRequest& request, const OptimizeJob& job,
                                      const std::filesystem::path& file,
                                      std::span<const SizedOriginal> originals,
                                      search::Latitude latitude, const Context& context) {
  FileJudgment result;
  SOAPSTONE_ASSIGN_OR_RETURN(IndependentRuntime runtime, start_runtime(request.judge));
  if (!runtime.worker) {
    result.difference = runtime.why_not;
    return result;
  }
  const auto judge =
      FileJudge::of_files(*std::move(runtime.worker), job.model_file, file, job.model.graph);
  std::vector<std::string> refused;
  for (const SizedOriginal& original : originals) {
    const search::JudgeReport report = judged_at(job, original, latitude, *judge, context);
    if (!report.looked) {
      refused.push_back(fmt::format("{} ({})", original.sizes, report.reason));
      continue;
    }
    result.looked_at.push_back(original.sizes);
    if (!result.first) result.first = report;
    if (report.equivalence.equal) continue;
    const search::Difference difference =
        report.equivalence.difference.value_or(search::Difference{});
    result.difference =
        fmt::format("at {}, on {}, it {}", original.sizes, difference.input, difference.what);
    return result;
  }
  if (result.looked_at.empty()) return result;
  result.note = fmt::format("{} computes the same from both files at {}", judge->runtime(),
                            fmt::join(result.looked_at, " and at "));
  if (!refused.empty())
    result.note += fmt::format(", and was no judge at {}", fmt::join(refused, " and at "));
  return result;
}

core::Result<OpenJudgment> judge_open(const OptimizeRequest& request, const OptimizeJob& job,
                                      const models::OpenExport& file,
                                      std::span<const SizedOriginal> originals,
                                      search::Latitude latitude, const Context& context) {
  OpenJudgment result;
  if (!job.judge) return result;
  SOAPSTONE_ASSIGN_OR_RETURN(result.folder, core::PrivateFolder::make());
  result.path = result.folder->path() / std::filesystem::path(request.output).filename();
  SOAPSTONE_RETURN_IF_ERROR(file.write(result.path));
  SOAPSTONE_ASSIGN_OR_RETURN(FileJudgment judgment,
                             judge_file(request, job, result.path, originals, latitude, context));
  result.difference = std::move(judgment.difference);
  result.note = std::move(judgment.note);
  return result;
}

}  // namespace soapstone::jobs
