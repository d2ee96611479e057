// See optimize_output.h.
#include "cli/optimize_output.h"

#include <filesystem>
#include <system_error>

#include "core/file_io.h"

namespace soapstone::cli {
namespace {

namespace fs = std::filesystem;

core::Status copy_original(const std::string& from, const std::string& to) {
  std::error_code error;
  if (fs::equivalent(from, to, error)) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const auto original, core::MappedFile::open(from));
  return core::write_file(to, original->text());
}

/// What it takes to check the output against the input.
core::Status write_proof(const OptimizeArguments& options, const search::ProofChain& chain) {
  if (options.proof.empty()) return core::Done{};
  return core::write_file(options.proof, search::print(chain));
}

}  // namespace

core::Status write_result(const OptimizeArguments& options, const OptimizeJob& job,
                          const search::OptimizeReport& report, RunSummary& run) {
  if (report.outcome == search::Outcome::kNotEquivalent) {
    run.output_note = "it computes something else";
    return core::Done{};
  }
  if (options.dry_run) {
    run.output_note = "dry run";
    return core::Done{};
  }
  run.output = options.output;
  if (report.result == search::ResultKind::kBaseline) run.output_note = "the baseline";
  if (report.result == search::ResultKind::kOriginal) {
    run.output_note = "a copy of the original";
    SOAPSTONE_RETURN_IF_ERROR(copy_original(options.model, options.output));
    search::ProofChain nothing;
    nothing.input = report.chain.input;
    return write_proof(options, nothing);
  }
  core::Graph graph = report.graph;
  search::ProofChain chain = report.chain;
  if (!options.keep_constants) {
    SOAPSTONE_ASSIGN_OR_RETURN(graph, search::fold_constants(report.graph, *job.backend));
    chain.add(search::ChainStep::Kind::kFoldConstants, graph.hash());
  }
  SOAPSTONE_RETURN_IF_ERROR(models::write_onnx(graph, *job.model.header, options.output));
  return write_proof(options, chain);
}

}  // namespace soapstone::cli
