// A launch's operations as a graph of cuDNN's backend interface, the engines that could run it, and
// plans of these. Needs a device only to run: for what engines ask about it, a description will do.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/libraries/cudnn_operations.h"

namespace soapstone::gpu {

/// What products of 32-bit floats may do to their factors.
enum class FloatMath : std::uint8_t {
  kExact,
  kTensorFloat32,  ///< Round them to 10 bits, as tensor cores do.
};

/// The properties of a device, which heuristics and plans depend on.
/// Errors: kUnsupported for a text that lacks some; kUnavailable if there is no such device.
core::Result<CudnnDescriptor> described_device(const Cudnn& cudnn, std::string_view json);
core::Result<CudnnDescriptor> present_device(const Cudnn& cudnn, int ordinal);

class CudnnGraph {
 public:
  /// Errors: kUnsupported, with cuDNN's words, for operations, shapes and types that it refuses.
  static core::Result<CudnnGraph> make(std::shared_ptr<const Cudnn> cudnn, OperationGraph graph);

  const OperationGraph& operations() const { return operations_; }
  const Cudnn& cudnn() const { return *cudnn_; }
  /// How many engines know such graphs, on whatever device.
  core::Result<std::int64_t> engine_count() const;
  /// Configurations of engines, the most promising first; only those that compute as `math` says.
  core::Result<std::vector<CudnnDescriptor>>
  configurations(const CudnnDescriptor& device, cudnn::HeuristicMode mode, FloatMath math) const;
  /// Whether the engine of a configuration computes no less exactly than that.
  core::Result<bool> computes_so(const CudnnDescriptor& configuration, FloatMath math) const;

 private:
  CudnnGraph(std::shared_ptr<const Cudnn> cudnn, OperationGraph operations);

  std::shared_ptr<const Cudnn> cudnn_;
  OperationGraph operations_;
  CudnnOperations descriptors_;
  CudnnDescriptor graph_;
};

/// A configuration made ready to run.
struct CudnnPlan {
  CudnnDescriptor descriptor;
  std::size_t workspace_bytes = 0;
};
/// Errors: kUnsupported if the engine cannot run it on the device after all; kUnavailable if it has
/// to be compiled and there is no driver.
core::Result<CudnnPlan> make_plan(const Cudnn& cudnn, const CudnnDescriptor& configuration,
                                  const CudnnDescriptor& device);

}  // namespace soapstone::gpu
