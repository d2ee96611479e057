// Runs a graph on a backend: constants folded once, buffers planned and reused, launches in order.
// Takes and gives tensors of the host; where kernels find theirs is the backend's affair.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "runtime/execution/working_memory.h"
#include "runtime/launches/backend.h"
#include "runtime/launches/execution_plan.h"
#include "runtime/memory/memory_plan.h"

namespace soapstone::runtime {

struct ExecutableReport {
  std::size_t launches = 0;
  std::size_t conversions = 0;            ///< Layout changes, launches too.
  std::size_t peak_activation_bytes = 0;  ///< Most that is live at once; without graph inputs.
  std::size_t arena_bytes = 0;            ///< The block that holds all activations.
  std::size_t constant_bytes = 0;
  /// Launches that run the slow reference kernel: node name and why faster ones refused.
  std::vector<std::pair<std::string, std::string>> reference_kernels;
};

class Executable {
 public:
  struct Options {
    Fusion fusion = Fusion::kFull;
    /// Each kernel holds the weights that it reads, in the layout that it likes best. Off: large
    /// ones that several launches read stay as they are, which takes less memory and, for a few
    /// runs, less time.
    bool hold_shared_weights = true;
    /// Memory for activations, which others may use between two runs; it must outlive the result.
    /// The graph is run by run_at() alone then. Null: it has its own.
    WorkingMemory* working = nullptr;
  };
  /// `backend` must outlive the result. Errors: kUnsupported names the first opaque node or open
  /// shape, or what takes more memory than is allowed; kUnavailable if memory runs out.
  static core::Result<Executable> make(const core::Graph& graph, Backend& backend,
                                       const Options& options);
  static core::Result<Executable> make(const core::Graph& graph, Backend& backend);
  ~Executable();
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;

  /// One literal a graph input, in order. Errors: kInvalidInput for a wrong type or shape, and
  /// for values that an operator does not admit, such as an index out of range. Where a fused
  /// kernel may have taken NaN for a number, the graph is run once more without fusion.
  core::Result<std::vector<core::Literal>> run(std::span<const core::Literal> inputs);
  /// Runs on tensors in the memory of the backend, one a graph input and output, in order,
  /// row-major. Precondition: Options::working. Errors: as run().
  core::Status run_at(const std::vector<DeviceAddress>& inputs,
                      const std::vector<DeviceAddress>& outputs);
  /// Runs on the inputs of the last run() (zeros before the first), without copying in or out, for
  /// timing. Errors: as run(); zeros are admitted by every operator.
  core::Status run_again();
  /// Microseconds that the device spends on so many runs like run_again(), one after the other,
  /// without a wait between them. Precondition: run() succeeded once. Errors: kUnavailable if the
  /// device fails.
  core::Result<double> time_us(std::int64_t repetitions);
  const ExecutableReport& report() const;

 private:
  struct State;
  /// Without fusion, which keeps every NaN.
  core::Result<Executable*> unfused();
  explicit Executable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Random inputs of the graph's types: signed normal floats; integers in [0, `integer_bound`),
/// or in the range that the operators which read them require.
/// The same on every machine.
std::vector<core::Literal> random_inputs(const core::Graph& graph, std::uint64_t seed,
                                         std::int64_t integer_bound = 2);

}  // namespace soapstone::runtime
