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
  Backend* made_by = nullptr;
  DeviceMemory* memory = nullptr;
  core::Graph graph;
  ExecutionPlan plan;
  FoldedConstants folded;
  std::vector<bool> left_in_place;               // by tensor: weights that no kernel holds
  std::vector<std::unique_ptr<Kernel>> kernels;  // of launches, then of conversions
  std::vector<DeviceBlock> graph_inputs;
  std::map<core::TensorId, DeviceBlock> weights;  // left in place, and read by a kernel
  DeviceBlock arena, scratch;
  std::vector<Output> graph_outputs;
  ExecutableReport report;
  /// The same graph without fusion, which keeps every NaN; made when a NaN may have been lost.
  std::optional<Executable> unfused;
  // Last, so that nothing that they use goes before them.
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Recording> run;

  /// Makes all kernels of the plan.
  core::Status compile_all(Backend& backend, const Options& options);
  /// `working`: as Options::working.
  core::Status allocate(const Placement& placement, WorkingMemory* working);
  /// Records the calls of a run from what was compiled and allocated.
  core::Status bind(const Placement& placement);
  /// A graph output, after a run.
  core::Result<core::Literal> result(std::size_t number) const;
  std::size_t constant_bytes() const;
  /// Of any kernel's last call.
  bool may_have_lost_nan() const;

 private:
  std::vector<bool> large_shared_weights() const;
  core::Result<KernelCall> call_of(const Placement& placement, const PlanStep& step);
  DeviceAddress address(const Placement::Place& place) const;
  core::Result<DeviceAddress> read(const Placement& placement, core::TensorId tensor,
                                   Layout layout);
  DeviceAddress write(const Placement& placement, core::TensorId tensor, Layout layout) const;
};

}  // namespace soapstone::runtime
