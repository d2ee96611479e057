// The inside of an Executable: what it compiled and allocated, and the calls that make a run.
// Private to runtime/execution.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/execution/executor.h"
#include "runtime/execution/fold.h"
#include "runtime/memory/placement.h"

namespace soapstone::runtime {

struct Executable::State {
  /// A graph output: a constant, or the place where the device leaves the result.
  struct Output {
    core::LiteralPtr constant;
    DeviceAddress address;
  };
  /// Where the caller's tensors lie (Executable::run_at).
  struct Outside {
    std::vector<DeviceAddress> inputs, outputs;
    bool operator==(const Outside&) const = default;
  };
  Backend* made_by = nullptr;
  DeviceMemory* memory = nullptr;
  core::Graph graph;
  ExecutionPlan plan;
  FoldedConstants folded;
  std::vector<bool> left_in_place;               // by tensor: weights that no kernel holds
  std::vector<std::unique_ptr<Kernel>> kernels;  // of launches, then of conversions
  std::optional<Placement> placement;
  WorkingMemory* working = nullptr;
  std::size_t scratch_bytes = 0;
  std::vector<DeviceBlock> graph_inputs;  // none if inputs lie outside
  Outside outside;
  std::map<core::TensorId, DeviceBlock> weights;  // left in place, and read by a kernel
  DeviceBlock arena, scratch;
  std::vector<Output> graph_outputs;
  ExecutableReport report;
  /// The same graph without fusion, which keeps every NaN; made when a NaN may have been lost. It
  /// comes too late to share the memory that others work in.
  std::optional<WorkingMemory> unfused_working;
  std::optional<Executable> unfused;
  // Last, so that nothing that they use goes before them.
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Recording> run;

  /// Makes all kernels of the plan.
  core::Status compile_all(Backend& backend, const Options& options);
  /// Takes memory for a run, or says how much of the working memory it needs.
  core::Status allocate();
  /// Records the calls of a run from what was compiled and allocated.
  core::Status bind();
  /// The same for tensors of the caller.
  core::Status bind_outside(Outside tensors);
  /// Copies results to the caller's tensors that kernels could not write there.
  core::Status copy_results() const;
  /// What the graph without fusion works in, if this one has tensors of the caller.
  WorkingMemory* own_working();
  /// A graph output, after a run.
  core::Result<core::Literal> result(std::size_t number) const;
  std::size_t constant_bytes() const;
  /// Of any kernel's last call.
  bool may_have_lost_nan() const;

 private:
  std::vector<bool> large_shared_weights() const;
  core::Result<KernelCall> call_of(const RewriteStep& step);
  DeviceAddress address(const Placement::Place& place) const;
  core::Result<DeviceAddress> read(core::TensorId tensor, Layout layout);
  DeviceAddress write(core::TensorId tensor, Layout layout) const;
};

}  // namespace soapstone::runtime
