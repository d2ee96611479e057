// A launch is the part of a graph that one kernel runs. A graph's cost and its execution both go
// launch by launch, so that search and executor agree on what is fused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::runtime {

/// How much of the graph behind its head a launch may take in.
enum class Fusion : std::uint8_t {
  kNone,        ///< Every node by itself.
  kActivation,  ///< relu, sigmoid, tanh, clip, leaky_relu as the only reader of a bias-free
                ///< convolution or matmul.
  kFull,  ///< Bias, scale, activation, gate, residual addition, in the order that a backend can
          ///< run.
  kGenerated,  ///< The same, and loops that are compiled for chains of other operators.
};
std::string_view to_string(Fusion fusion);

/// A step of the part of a launch behind its head: the nodes' results are not stored.
enum class EpilogueKind : std::uint8_t {
  kBias,        ///< add or sub of an operand that varies with the channel alone; behind an einsum,
                ///< of any that broadcasts to the result
  kBatchBias,   ///< add of an operand that varies with the product of a batch, and with the channel
  kScale,       ///< mul or div by such an operand as a bias is
  kActivation,  ///< a function of one argument
  kResidual,    ///< add of an operand of the same shape
  kGate,        ///< x·f(x), where f is a function of one argument
};
struct EpilogueStep {
  EpilogueKind kind;
  core::NodeId node;
  core::TensorId operand;  ///< The second argument of add or mul; none for an activation or gate.
  core::NodeId gate = {};  ///< The f of a gate, of which `node` is the product.

  /// The node that computes a function of one argument: of an activation or a gate.
  core::NodeId function() const { return gate.valid() ? gate : node; }
};

struct Launch {
  core::NodeId head;
  std::vector<EpilogueStep> epilogue;
  /// Of a launch of any shape (Backend::cover): all its nodes behind the head, in topological
  /// order; then there is no epilogue. Views through which it reads are among them.
  std::vector<core::NodeId> others = {};
  std::vector<core::TensorId> inputs;   ///< Each tensor once, in order of first use; constants too.
  std::vector<core::TensorId> outputs;  ///< What is stored: the results of the last step.

  core::NodeId last_node() const { return epilogue.empty() ? head : epilogue.back().node; }
  /// Head, then the epilogue or the others.
  std::vector<core::NodeId> nodes() const;
};

/// Says whether a backend can run an epilogue step in one kernel with what comes before it.
class FusionRules {
 public:
  virtual ~FusionRules() = default;
  /// `so_far` is a launch that this object accepted before, or a bare head. Its inputs and outputs
  /// are not filled in yet.
  virtual bool can_append(const core::Graph& graph, const Launch& so_far,
                          const EpilogueStep& step) const = 0;
};
/// The rules of the reference backend, and of estimates and drawings that are for no device in
/// particular. The rules of a real device are Backend::fusion().
const FusionRules& generic_fusion(Fusion fusion);

/// The longest launch that starts with `head`: steps are appended as long as the result so far has
/// one reader, or the two of a gate, which no other launch has taken in, is no graph output, and
/// the rules accept.
/// `taken` (by node; may be empty) is not 0 for nodes of other launches.
/// Complexity: linear in the length of the launch.
Launch grow_launch(const core::Graph& graph, core::NodeId head, const FusionRules& rules,
                   std::span<const std::uint32_t> taken = {});

/// True if the node costs nothing at inference wherever it stands: a constant expression, or a view
/// of row-major data (see runtime/launches/view.h). A concat may cost nothing too, as plans know.
bool is_free(const core::Graph& graph, core::NodeId node);

struct LaunchPlan {
  std::vector<Launch> launches;      ///< In an order in which they can run.
  std::vector<core::NodeId> folded;  ///< Constant expressions, computed once when loading.
  std::vector<core::NodeId> views;   ///< Free nodes that are not constant.
};

/// Covers the graph greedily, heads in topological order, each with the longest epilogue, all
/// tensors row-major. plan_execution (runtime/launches/execution_plan.h) does the same with
/// layouts. Deterministic. Complexity: linear in nodes and edges.
LaunchPlan plan_launches(const core::Graph& graph, const FusionRules& rules);
/// The same for some of the nodes, in the order of the graph. What it says of them is true of the
/// whole graph if nodes that may share a launch are all among them (changed_launches()).
LaunchPlan plan_launches(const core::Graph& graph, const FusionRules& rules,
                         std::span<const core::NodeId> nodes);

}  // namespace soapstone::runtime
