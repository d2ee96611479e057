// Kernels compiled for the host by the compiler that is found at run time, and graphs run by them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/graph/literal.h"
#include "gpu/kernels/fusion.h"
#include "gpu/text/kernel_text.h"

namespace soapstone::gpu::test {

/// Many kernels in one shared object, as a compiler takes longer to start than to compile one.
class HostKernels {
 public:
  ~HostKernels();
  HostKernels() = default;
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;

  /// A name that no other kernel of this object has.
  std::string fresh_name() { return "kernel" + std::to_string(next_++); }
  void add(const KernelText& text);
  /// To be called once, after all kernels are added. The compiler's words if it fails.
  std::string compile();
  void run(const KernelText& text, const std::vector<void*>& arguments) const;
  const std::string& source() const { return source_; }

 private:
  std::string source_;
  void* library_ = nullptr;
  std::size_t next_ = 0;
};

/// A graph as a list of kernels; contractions and views too.
class KernelGraph {
 public:
  /// Adds all kernels to `kernels`. Fails the test where a group has no kernel.
  KernelGraph(core::Graph graph, HostKernels& kernels, const FusionOptions& options = {});
  /// The outputs, from those kernels.
  std::vector<std::vector<double>> run(const HostKernels& kernels,
                                       const std::vector<core::Literal>& inputs) const;
  const core::Graph& graph() const { return graph_; }
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<KernelText>& texts() const { return texts_; }

 private:
  core::Graph graph_;
  std::vector<Group> groups_;
  std::vector<KernelText> texts_;
};

}  // namespace soapstone::gpu::test
