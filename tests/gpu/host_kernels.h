// Kernels compiled for the host by the compiler that is found at run time, and graphs run by them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/graph/literal.h"
#include "gpu/text/kernel_text.h"
#include "runtime/generated/grouping.h"

namespace soapstone::gpu::test {

using runtime::generated::Group;
using runtime::generated::GroupingOptions;
using runtime::generated::KernelOptions;

/// Many kernels in one shared object, as a compiler takes longer to start than to compile one.
class HostKernels {
 public:
  ~HostKernels();
  HostKernels() = default;
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;

  /// The kernel, under a name that no other kernel of this object has; equal ones are compiled
  /// once.
  KernelText add(const Region& region, const KernelPlan& plan);
  /// The kernel under its own name.
  void add(const KernelText& text) { texts_.push_back(text); }
  /// To be called once, after all kernels are added. The compiler's words if it fails.
  std::string compile();
  /// Runs all blocks of a kernel; takes the arguments. Null: there is none of that name.
  using Function = void (*)(void* const*);
  Function function(const std::string& name) const;
  const std::vector<KernelText>& texts() const { return texts_; }

 private:
  std::vector<KernelText> texts_;                 // those that differ
  std::map<std::string, std::size_t> by_source_;  // with the name left open
  void* library_ = nullptr;
};

/// A graph as a list of kernels; contractions and views too.
class KernelGraph {
 public:
  /// Adds all kernels to `kernels`. Fails the test where a group has no kernel.
  KernelGraph(core::Graph graph, HostKernels& kernels, const GroupingOptions& options = {});
  /// The same with the kernels of the default groups planned as `kernel` says.
  KernelGraph(core::Graph graph, HostKernels& kernels, const KernelOptions& kernel);
  /// The outputs, from those kernels.
  std::vector<std::vector<double>> run(const HostKernels& kernels,
                                       const std::vector<core::Literal>& inputs) const;
  const core::Graph& graph() const { return graph_; }
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<KernelText>& texts() const { return texts_; }

 private:
  void add_kernels(HostKernels& kernels, const KernelOptions& options);

  core::Graph graph_;
  std::vector<Group> groups_;
  std::vector<KernelText> texts_;
};

}  // namespace soapstone::gpu::test
