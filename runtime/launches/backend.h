// The interface that a device implements: which launches it can fuse, kernels for them, memory and
// queues to run them in. Backends for the host derive from HostBackend (host_backend.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/queue.h"
#include "runtime/launches/launch_plan.h"
#include "runtime/launches/layout.h"

namespace soapstone::runtime {

struct DeviceInfo {
  std::string name;       ///< "Intel Xeon … (avx512)": what costs depend on.
  std::string libraries;  ///< "oneDNN 2.6.3": with versions.
  int threads = 1;
  /// Key of the cost database.
  std::string key() const {
    return name + "; " + libraries + "; threads " + std::to_string(threads);
  }
};

/// How the tensors of a launch lie. Parallel to Launch::inputs and Launch::outputs.
struct LaunchLayouts {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
};

/// Values of constants and folded expressions, row-major; null if the tensor is not constant or
/// its value is to be given at run time.
using ConstantValue = std::function<core::LiteralPtr(core::TensorId)>;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& device() const = 0;
  /// The memory that its kernels read and write. Lives as long as the backend.
  virtual DeviceMemory& memory() = 0;
  /// Runs its kernels. Must not outlive the backend. Errors: kUnavailable if the device fails.
  virtual core::Result<std::unique_ptr<Queue>> make_queue() = 0;
  /// Says what its kernels can fuse; nobody else decides that.
  virtual const FusionRules& fusion(Fusion fusion) const = 0;
  /// The launches of a graph, in an order in which they can run, if the backend decides on their
  /// shapes itself; none, which is the default: they grow from heads as fusion() says. They hold
  /// every node that is no constant expression and no view of what others store.
  virtual std::optional<std::vector<Launch>> cover(const core::Graph& graph, Fusion fusion) const;
  /// How a launch wants its inputs and leaves its outputs, when input i lies in `stored[i]`.
  /// `wanted` comes with everything row-major, which is also the default answer. The executor
  /// inserts conversions where a wish differs from what is stored; graph inputs and constants are
  /// stored row-major, graph outputs are converted to it. A kernel converts its constants itself,
  /// when it is compiled. Called for every candidate graph of a search: must be fast.
  virtual void choose_layouts(const core::Graph& graph, const Launch& launch,
                              std::span<const Layout> stored, LaunchLayouts& wanted) const;
  /// The ways to lay the tensors of a launch among which arrange() chooses by cost, row-major ones
  /// first; fewer than two, as by default: there is nothing to choose.
  virtual std::vector<LaunchLayouts> layout_ways(const core::Graph& graph,
                                                 const Launch& launch) const;
  /// From now on launches or conversions with this signature are known to take so long.
  virtual void note_cost(const std::string& signature, double cost_us);
  /// How the launches of cover() lie all together, by the costs that are known; parallel to them.
  /// Empty, as by default: each as choose_layouts() says once those before it are placed.
  virtual std::vector<LaunchLayouts> arrange(const core::Graph& graph,
                                             std::span<const Launch> launches) const;
  /// The input of the launch over which its kernel will write output 0, foretold without compiling
  /// it: Kernel::in_place_input() of the kernel that compile() makes.
  virtual std::optional<std::size_t> in_place_input(const core::Graph& graph,
                                                    const Launch& launch) const;
  /// Tries the backend's kernels in order, last the reference kernel. `why_not`, if given,
  /// collects why each earlier one refused. Errors: kUnsupported for an opaque node.
  virtual core::Result<std::unique_ptr<Kernel>>
  compile(const core::Graph& graph, const Launch& launch, const LaunchLayouts& layouts,
          const ConstantValue& constants, std::vector<std::string>* why_not) = 0;
  /// The names of the ways in which compile() could make a kernel for the launch, the most
  /// promising first, for those who measure which is best; none, the default: there is nothing to
  /// choose.
  virtual std::vector<std::string> candidates(const core::Graph& graph, const Launch& launch,
                                              const LaunchLayouts& layouts);
  /// From now on launches with this signature (launch_signature) are compiled in the way of that
  /// name. A name that is none of the launch's candidates is as good as no choice.
  virtual void choose(const std::string& signature, const std::string& candidate);
  /// A kernel that converts one layout to another.
  virtual core::Result<std::unique_ptr<Kernel>> compile_conversion(const core::TensorType& type,
                                                                   Layout from, Layout to) = 0;
};

/// Every node by its comprehension, in doubles. Slow and right.
std::unique_ptr<Backend> make_reference_backend();

}  // namespace soapstone::runtime
