// A judge that stands for another runtime, whose faults tests choose.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/execution/executor.h"
#include "search/equivalence/judge.h"

namespace soapstone::search {

/// Runs graphs on the reference kernels, as another runtime might run files: `change` is what the
/// writer, or the runtime, makes of them on the way.
class FakeJudge : public Judge {
 public:
  explicit FakeJudge(core::Graph original) : original_(std::move(original)) {}

  std::string runtime() const override { return "Fake 1.0"; }
  core::Status rewrite(const core::Graph& graph) override {
    rewritten_ = change ? change(graph) : graph;
    ++written;
    return core::Done{};
  }
  core::Status load(Model) override {
    if (refuses_to_load) return core::unsupported("there is no operator Secret");
    return core::Done{};
  }
  core::Result<std::vector<NamedResult>> run(Model model,
                                             std::span<const core::Literal> inputs) override {
    const bool is_rewritten = model == Model::kRewritten || model == Model::kOptimizedRewritten;
    const bool is_optimized =
        model == Model::kOptimizedOriginal || model == Model::kOptimizedRewritten;
    if (refuses_to_load) return load(model).error();
    if (is_rewritten ? refuses_rewritten : refuses_original)
      return core::unsupported("no kernel for Secret");
    if (!is_optimized && refuses_as_written) return core::unsupported("no kernel for i16");
    if (is_rewritten ? breaks : breaks_original) return core::unavailable("crashed (signal 11)");
    if (model == Model::kMovedOriginal && !moved)
      return core::unsupported("the weights are in another language");
    const auto backend = runtime::make_reference_backend();
    core::Graph graph = is_rewritten ? rewritten_ : original_;
    if (model == Model::kMovedOriginal) graph = moved(graph);
    if (is_optimized && optimize) {
      auto optimized = optimize(graph);
      if (!optimized) return optimized.error();
      graph = *std::move(optimized);
    }
    SOAPSTONE_ASSIGN_OR_RETURN(auto executable, runtime::Executable::make(graph, *backend));
    SOAPSTONE_ASSIGN_OR_RETURN(auto values, executable.run(inputs));
    std::vector<NamedResult> results;
    for (std::size_t k = 0; k < values.size(); ++k)
      results.push_back({graph.tensor(graph.outputs()[k]).name, std::move(values[k])});
    return results;
  }

  void move(std::uint64_t seed) override { moves = seed; }

  std::function<core::Graph(const core::Graph&)> change;
  /// The runtime's own optimizations.
  std::function<core::Result<core::Graph>(const core::Graph&)> optimize;
  /// What the original becomes when it is moved; none: it cannot be done.
  std::function<core::Graph(const core::Graph&)> moved;
  bool refuses_to_load = false, refuses_original = false, refuses_rewritten = false, breaks = false;
  bool breaks_original = false;
  bool refuses_as_written = false;  ///< What its own optimizations have not changed.
  int written = 0;
  std::uint64_t moves = 0;  ///< The seed of the last move.

 private:
  core::Graph original_, rewritten_;
};

}  // namespace soapstone::search
