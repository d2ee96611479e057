// See optimize_output.h.
#include "jobs/optimize/optimize_output.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "core/base/file_io.h"

#include "jobs/optimize/open_result.h"
#include "models/onnx/batch_size.h"

namespace soapstone::jobs {
namespace {

namespace fs = std::filesystem;

core::Status write_original(const OptimizeRequest& request, const OptimizeJob& job) {
  if (request.graph) return models::write_onnx(job.model.graph, *job.model.header, request.output);
  if (job.batched) return models::write_with_batch(request.model, request.batch, request.output);
  std::error_code error;
  if (fs::equivalent(request.model, request.output, error)) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const auto original, core::MappedFile::open(request.model));
  return core::write_file(request.output, original->text());
}

/// Writes the steps by which compare() can check the output against the input.
core::Status write_proof(const OptimizeRequest& request, const search::ProofChain& chain) {
  if (request.proof.empty()) return core::Done{};
  return core::write_file(request.proof, search::print(chain));
}

/// Byte by byte. Two that are not there are equal.
bool same_contents(const fs::path& a, const fs::path& b) {
  std::ifstream first(a, std::ios::binary), second(b, std::ios::binary);
  std::vector<char> of_first(std::size_t{1} << 16), of_second(of_first.size());
  while (first && second) {
    first.read(of_first.data(), static_cast<std::streamsize>(of_first.size()));
    second.read(of_second.data(), static_cast<std::streamsize>(of_second.size()));
    if (first.gcount() != second.gcount() ||
        !std::equal(of_first.begin(), of_first.begin() + first.gcount(), of_second.begin()))
      return false;
  }
  return first.eof() == second.eof();
}

/// Constant expressions as their values, unless they are to be kept; what belongs to an ONNX node
/// that is written as it was read stays, and so do those of `computed`. `chain`: gets the step that
/// this is; may be null.
core::Result<core::Graph> as_written(const core::Graph& graph, const models::ModelHeader& header,
                                     runtime::Backend& backend, bool keep_constants,
                                     search::ProofChain* chain,
                                     std::span<const core::NodeId> computed = {}) {
  if (keep_constants) return graph;
  auto kept = models::constants_within_originals(graph, header);
  kept.insert(kept.end(), computed.begin(), computed.end());
  SOAPSTONE_ASSIGN_OR_RETURN(core::Graph folded, search::fold_constants(graph, backend, kept));
  if (chain != nullptr) {
    chain->add(search::ChainStep::Kind::kFoldConstants, folded.hash());
    chain->steps.back().nodes = kept;
  }
  return folded;
}

}  // namespace

core::Status require_judged(const fs::path& judged, const fs::path& output) {
  if (judged.empty()) return core::Done{};
  const auto with_data = [](const fs::path& path) { return fs::path(path.string() + ".data"); };
  std::error_code ignored;
  const bool external = fs::exists(with_data(judged), ignored);
  if (same_contents(judged, output) &&
      (!external || same_contents(with_data(judged), with_data(output))))
    return core::Done{};
  fs::remove(output, ignored);
  return core::Error{core::ErrorCode::kInternal, "the file written is not the one that was checked",
                     output.string(), "is another process writing it?"};
}

core::Status write_graph(const core::Graph& graph, const models::ModelHeader& header,
                         runtime::Backend& backend, bool keep_constants, const fs::path& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph written,
                             as_written(graph, header, backend, keep_constants, nullptr));
  return models::write_onnx(written, header, path);
}

core::Status write_result(const OptimizeRequest& request, const OptimizeJob& job,
                          const search::OptimizeReport& report, RunSummary& run,
                          const Context& context) {
  if (report.outcome == search::Outcome::kNotEquivalent) {
    run.output_note = "it computes something else";
    return core::Done{};
  }
  if (request.dry_run) {
    run.output_note = "dry run";
    return core::Done{};
  }
  if (request.output.empty()) {
    run.output_note = "no file was asked for";
    return core::Done{};
  }
  run.output = request.output;
  if (report.result == search::ResultKind::kBaseline) run.output_note = "the baseline";
  if (report.result == search::ResultKind::kOriginal) {
    run.output_note = "a copy of the original";
    SOAPSTONE_RETURN_IF_ERROR(write_original(request, job));
    search::ProofChain nothing;
    nothing.input = report.chain.input;
    return write_proof(request, nothing);
  }
  const OpenResult open = leave_sizes_open(request, job, report, context);
  if (!open.note.empty()) run.notes.push_back(open.note);
  std::span<const core::NodeId> computed;
  if (open.file) computed = open.computed;
  search::ProofChain chain = report.chain;
  SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph graph,
                             as_written(report.graph, *job.model.header, *job.backend,
                                        request.keep_constants, &chain, computed));
  if (open.file) {
    SOAPSTONE_RETURN_IF_ERROR(open.file->write(request.output));
    SOAPSTONE_RETURN_IF_ERROR(require_judged(open.judgment.path, request.output));
  } else {
    SOAPSTONE_RETURN_IF_ERROR(models::write_onnx(graph, *job.model.header, request.output));
    const auto judged = job.judge ? job.judge->file_of(report.graph) : std::nullopt;
    SOAPSTONE_RETURN_IF_ERROR(require_judged(judged.value_or(fs::path()), request.output));
  }
  return write_proof(request, chain);
}

}  // namespace soapstone::jobs
