// Names of a runtime's kernels and tensors, and what they say of the graph that it read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jobs/kernels/runtime_launches.h"

namespace soapstone::jobs {

class KernelNames {
 public:
  /// All must outlive it.
  KernelNames(const core::Graph& graph, const WrittenNames& names,
              const std::vector<workers::RuntimeKernel>& kernels);

  /// The tensor of the graph with that name, or none.
  core::TensorId ours(const std::string& name) const;
  /// The first tensor of the graph that the text mentions, or none.
  core::TensorId mentioned(std::string_view text) const;
  /// The kernel that makes the tensor with that name.
  std::optional<std::size_t> writer(const std::string& name) const;
  /// Made by a kernel, but no tensor of the graph.
  bool is_private(const std::string& name) const;
  /// Reads one private tensor and nothing else that varies: it brings it into ordinary form.
  bool leaves(const workers::RuntimeKernel& kernel) const;
  bool is_called_alike(const workers::RuntimeKernel& kernel, core::NodeId id) const;
  /// By its name or that of its first result.
  core::NodeId origin_node(const std::string& origin) const;
  /// The node that the kernel does, as far as names tell, or none.
  core::NodeId owner(const workers::RuntimeKernel& kernel) const;

 private:
  core::NodeId node_in(std::string_view text) const;

  const core::Graph& graph_;
  const WrittenNames& names_;
  std::unordered_map<std::string, std::size_t> writer_;
};

}  // namespace soapstone::jobs
