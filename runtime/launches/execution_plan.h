// Everything that running a graph on a backend comes to: launches, the layouts of what they read
// and write, and the conversions between them. Executor and cost model both use this one plan, so
// what is timed is what runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/launches/backend.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::runtime {

/// A launch of its own that copies a tensor into another layout; all later readers share it.
struct Conversion {
  core::TensorId tensor;
  Layout from, to;
};

/// A node without a launch: its results are pieces of its input, or (concat) its inputs are written
/// side by side where its result lies.
struct View {
  core::NodeId node;
  Layout layout;  ///< The one in which its inputs lie.
};

struct RewriteStep {
  enum class Kind : std::uint8_t { kLaunch, kConversion, kView };
  Kind kind;
  std::uint32_t number;  ///< Into the list of that kind.
};

struct ExecutionPlan {
  std::vector<Launch> launches;
  std::vector<LaunchLayouts> layouts;  ///< Parallel to `launches`.
  std::vector<Conversion> conversions;
  std::vector<View> views;
  std::vector<RewriteStep> steps;    ///< All three in the order in which they run.
  std::vector<core::NodeId> folded;  ///< Constant expressions, computed once when loading.
};

/// Deterministic, makes no text, compiles nothing.
/// Complexity: linear in nodes and edges; some 100 ns a node.
ExecutionPlan plan_execution(const core::Graph& graph, const Backend& backend, Fusion fusion);
/// The same with the launches that the backend covers the graph with, or none if it does not.
ExecutionPlan plan_execution(const core::Graph& graph, const Backend& backend, Fusion fusion,
                             std::optional<std::vector<Launch>> launches);

/// All that the time of a launch depends on, in text: operators, attributes, types, which inputs
/// are constants (and their value, if it is one number), which are the same tensor, layouts. Equal
/// for equal launches of any graph; the key of the cost database. Without `layouts`: all row-major.
std::string launch_signature(const core::Graph& graph, const Launch& launch,
                             const LaunchLayouts& layouts = {});
std::string conversion_signature(const core::TensorType& type, Layout from, Layout to);

/// Hashes of the same facts, for tables in memory. The same in every run; no text is made.
std::uint64_t launch_hash(const core::Graph& graph, const Launch& launch,
                          const LaunchLayouts& layouts = {});
std::uint64_t conversion_hash(const core::TensorType& type, Layout from, Layout to);

}  // namespace soapstone::runtime
