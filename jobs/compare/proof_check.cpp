// Reads a chain, replays it, and compares what it leads to with the model that was written.
#include "jobs/compare/proof_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/file_io.h"
#include "jobs/models/model_files.h"
#include "models/onnx/writing/contrib.h"
#include "search/proofs/proof_chain.h"

namespace soapstone::jobs {
namespace {

using core::Graph;

core::Result<search::ProofChain> read_chain(const std::string& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(path));
  auto chain = search::parse_chain(text);
  if (!chain) return chain.error().at(path);
  return chain;
}

std::vector<std::string> names_of(const Graph& graph, std::span<const core::TensorId> tensors) {
  std::vector<std::string> names;
  for (const core::TensorId id : tensors) names.push_back(graph.tensor(id).name);
  return names;
}

bool same_model(const Graph& a, const Graph& b) {
  return names_of(a, a.inputs()) == names_of(b, b.inputs()) &&
         names_of(a, a.outputs()) == names_of(b, b.outputs()) && same_structure(a, b);
}

/// The graph as it is when it was written to a file and read again: some operators have no
/// counterpart in ONNX and become several. The file may have been written with --contrib.
core::Result<Graph> written_and_read(const Graph& graph, const models::OnnxModel& original,
                                     const Shapes& shapes) {
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::string bytes,
      models::serialize_onnx(graph, *models::with_contrib(*original.header)));
  SOAPSTONE_ASSIGN_OR_RETURN(models::OnnxModel model,
                             models::parse_onnx(bytes, {.shapes = shapes, .skip_unknown = true}));
  return std::move(model.graph);
}

}  // namespace

core::Result<ProofCheck> check_proof(const std::string& path, const models::OnnxModel& a,
                                     const models::OnnxModel& b, const Shapes& shapes,
                                     bool allow_range_changes, runtime::Backend& backend,
                                     const Context& context) {
  context.progress.stage("replaying the proof");
  SOAPSTONE_ASSIGN_OR_RETURN(const search::ProofChain chain, read_chain(path));
  auto replayed =
      search::replay(chain, a.graph, backend, {.allow_range_changes = allow_range_changes},
                     context.progress, context.stop);
  if (!replayed) return replayed.error().at(path);
  ProofCheck check{chain.steps.size(), chain.rules.size(), replayed->proofs,
                   replayed->proof_cpu_ms};
  if (same_model(replayed->graph, b.graph)) return check;
  SOAPSTONE_ASSIGN_OR_RETURN(const Graph written, written_and_read(replayed->graph, a, shapes));
  if (same_model(written, b.graph)) return check;
  return core::Error{core::ErrorCode::kNotEquivalent,
                     fmt::format("all {} steps hold, but they lead to another model than the "
                                 "second one",
                                 chain.steps.size()),
                     path, "the second model was changed after it was written"};
}

}  // namespace soapstone::jobs
