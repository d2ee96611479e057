// See memory_check.h.
#include "runtime/memory/memory_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/memory_limit.h"
#include "ops/analysis/analysis.h"
#include "ops/definition/registry.h"

namespace soapstone::runtime {
namespace {

using core::TensorId;

/// Saturates: sizes are a file's own claims.
std::uint64_t bytes_of(const core::TensorType& type) {
  const auto dims = type.shape_known ? core::concrete(type.shape) : std::nullopt;
  if (!dims) return 0;
  const auto count = core::checked_element_count(*dims);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
  if (!count || static_cast<std::uint64_t>(*count) > kMost / 8) return kMost;
  return static_cast<std::uint64_t>(*count) * core::size_bytes(type.data_type);
}

class Need {
 public:
  explicit Need(const core::Graph& graph) : graph_(graph) {}

  core::Status check() {
    std::uint64_t total = 0;
    for (const TensorId id : graph_.inputs()) total += 2 * bytes(id);
    for (const TensorId id : graph_.outputs()) total += bytes(id);
    std::uint64_t most = 0;
    for (const core::NodeId id : graph_.order()) most = std::max(most, bytes(graph_.node(id)));
    total += most;
    if (total <= core::memory_limit()) return core::Done{};
    const core::Tensor& tensor = graph_.tensor(largest_);
    return core::unsupported(
        fmt::format(
            "running it takes {} of memory at least, and {} are allowed; the largest tensor "
            "is '{}', {}{} ({})",
            core::memory_text(total), core::memory_text(core::memory_limit()), tensor.name,
            core::to_string(tensor.type.data_type),
            core::to_string(tensor.type.shape, graph_.symbols()),
            core::memory_text(largest_bytes_)),
        "--max-memory GIB allows more, --shape gives inputs other sizes");
  }

 private:
  std::uint64_t bytes(TensorId id) {
    const std::uint64_t size = bytes_of(graph_.tensor(id).type);
    if (size > largest_bytes_) {
      largest_ = id;
      largest_bytes_ = size;
    }
    return size;
  }

  /// Operands that are inputs or weights are there already.
  std::uint64_t bytes(const core::Node& node) {
    std::uint64_t sum = 0;
    for (const TensorId id : node.outputs) sum += bytes(id);
    for (const TensorId id : node.inputs)
      if (id.valid() && graph_.tensor(id).producer.valid()) sum += bytes(id);
    return sum;
  }

  const core::Graph& graph_;
  TensorId largest_;
  std::uint64_t largest_bytes_ = 0;
};

bool has_known_shapes(const core::Graph& graph, core::NodeId id) {
  const auto known = [&](TensorId tensor) {
    return !tensor.valid() || (graph.tensor(tensor).type.shape_known &&
                               core::concrete(graph.tensor(tensor).type.shape));
  };
  const core::Node& node = graph.node(id);
  return std::ranges::all_of(node.inputs, known) && std::ranges::all_of(node.outputs, known);
}

}  // namespace

core::Status check_memory(const core::Graph& graph) { return Need(graph).check(); }

core::Status check_work(const core::Graph& graph) {
  double total = 0, most = 0;
  core::NodeId slowest;
  for (const core::NodeId id : graph.order()) {
    if (ops::is_opaque(graph.node(id)) || !has_known_shapes(graph, id)) continue;
    const double flops = ops::work_of(graph, id).flops;
    total += flops;
    if (flops <= most) continue;
    most = flops;
    slowest = id;
  }
  if (total <= kMostOperations) return core::Done{};
  const core::Node& node = graph.node(slowest);
  return core::unsupported(
      fmt::format(
          "one run takes {:.1g} operations, and more than {:.0g} are not waited for; most of "
          "them are in {} '{}'",
          total, kMostOperations, node.op->name, node.name),
      "look at its window and sizes; --shape gives inputs other sizes");
}

}  // namespace soapstone::runtime
