// A plan as it is written and read: for every node the axes that cut its loops, for every weight
// how it lies, and what the planner says of it. Knows names, not ids; nodes that are cut alike
// share one entry.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "parallel/planning/mesh_planner.h"
#include "parallel/training/optimizer.h"

namespace soapstone::parallel {

/// The axes of a plan's mesh, innermost first.
inline constexpr std::array<std::string_view, 3> kAxisNames = {"model", "any", "batch"};
/// When a node exchanges something, as NodeExchange::Pass has it.
inline constexpr std::array<std::string_view, 3> kExchangePasses = {"forward", "backward", "sum"};
/// Names of loops, by their role.
inline constexpr std::array<std::string_view, 5> kLoopRoles = {"sample", "attribute", "parameter",
                                                               "reduction", "joined"};

struct PlanAxis {
  std::string name;
  std::int64_t size = 1;
  std::int64_t stride = 1;  ///< Devices d and d + stride are neighbors along it.
  /// Of what is cut along it, what each position gets, out of their sum. Empty: all as much.
  std::vector<std::int64_t> shares = {};
  bool operator==(const PlanAxis&) const = default;
};

/// How a node is cut: which axes cut which loop. Loops have the names that loop_names() gives.
struct NodeCuts {
  std::map<std::string, std::vector<std::string>> loops;
  auto operator<=>(const NodeCuts&) const = default;
};

/// A collective that a node needs.
struct PlannedExchange {
  std::string pass;        ///< `forward`, `backward`, or `sum` of a gradient, once a step.
  std::int64_t input = 0;  ///< Of the node.
  std::string collective;  ///< As to_string() has it.
  std::string axis;
  double bytes = 0;  ///< What each device has, or comes to have.
  double us = 0;     ///< Alone; of a weight in buckets with others it is a share of less.
  auto operator<=>(const PlannedExchange&) const = default;
};

struct PlannedNode {
  std::string name;
  std::int64_t stage = 0;
  std::size_t cuts = 0;       ///< Index into PlanDocument::cuts.
  std::size_t estimate = 0;   ///< Index into PlanDocument::estimates.
  std::size_t exchanges = 0;  ///< Index into PlanDocument::exchanges.
  bool operator==(const PlannedNode&) const = default;
};

struct PlannedWeight {
  std::string name;
  /// Dimension, or digit of one (digit_name()), to axes.
  std::map<std::string, std::vector<std::string>> dims;
  bool operator==(const PlannedWeight&) const = default;
};

/// A step as the plan's own programs foretell it: ranks computed on the machine that the plan is
/// for, and its links say how long exchanges take.
struct RehearsedStep {
  double step_us = 0;
  double peak_bytes = 0;  ///< Of the fullest rank.
  bool operator==(const RehearsedStep&) const = default;
};

struct PlanDocument {
  static constexpr int kVersion = 5;
  std::uint64_t model_hash = 0, topology_hash = 0;
  std::string topology;
  std::string strategy;
  std::int64_t devices = 0;
  bool is_training = false;
  Optimizer optimizer = Optimizer::kSgd;  ///< In training.
  bool cuts_states = false;               ///< As MeshPlan has it.
  MeshShape shape;
  std::vector<PlanAxis> axes;
  std::vector<NodeCuts> cuts;
  std::vector<NodeEstimate> estimates;
  std::vector<std::vector<PlannedExchange>> exchanges;  ///< The different ones of nodes.
  std::vector<PlannedNode> nodes;                       ///< In the order of execution.
  std::vector<PlannedWeight> weights;
  StepTime time;
  double lower_bound_us = 0;
  double bucket_bytes = 0;  ///< Of weights that are exchanged together, on a device.
  double estimated_share = 1;
  std::optional<RehearsedStep> rehearsed;

  /// The best that is known: of the programs if they were rehearsed, else of the model.
  double foretold_us() const { return rehearsed ? rehearsed->step_us : time.total_us; }
  double foretold_bytes() const { return rehearsed ? rehearsed->peak_bytes : time.peak_bytes; }
  bool operator==(const PlanDocument&) const = default;
};

/// A name for each loop of a node, for people: `sample`, `parameter`, `reduction`, with a number
/// where there are several of one role.
std::vector<std::string> loop_names(const ops::PartitionSpace& space);

/// Names for all nodes: their own where those are there and differ, else `operator#position`.
std::vector<std::string> node_names(const core::Graph& graph);

/// The tensor's own name, or one that says which it is.
std::string weight_name(const core::Graph& graph, core::TensorId id);

PlanDocument document_of(const core::Graph& graph, const std::vector<bool>& is_weight,
                         const Topology& topology, const MeshPlanOutcome& outcome);

/// With a digest of its contents.
std::string plan_to_json(const PlanDocument& document);
/// 16 hexadecimal digits that differ, as far as a hash can tell, where plans differ.
std::string plan_digest(const PlanDocument& document);
/// Errors: kInvalidInput with the place in the document: a key is missing or unknown, a figure is
/// none, the plan contradicts itself, or its contents are not those that the digest is of.
core::Result<PlanDocument> plan_from_json(std::string_view text);

/// Errors: kInvalidInput if the nodes are not those of a pipeline of so many stages and chunks.
core::Status check_stages(const PlanDocument& document);
/// Errors: kInvalidInput if the plan is of another topology.
core::Status check_belongs(const PlanDocument& document, const Topology& topology);
/// `is_weight` by tensor. Errors: kInvalidInput if the plan is of another model, or cuts what the
/// model does not have.
core::Status check_belongs(const PlanDocument& document, const core::Graph& graph,
                           const std::vector<bool>& is_weight);
/// Both.
core::Status check_belongs(const PlanDocument& document, const core::Graph& graph,
                           const std::vector<bool>& is_weight, const Topology& topology);

}  // namespace soapstone::parallel
