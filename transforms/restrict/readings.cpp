#include "transforms/restrict/readings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ops/definition/registry.h"
#include "transforms/restrict/alike_readings.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

constexpr std::string_view kReadingDescription =
    "Of what is only read in one way, what it is computed from is read so.";

/// Goes from the results to the inputs, as long as all that read a tensor read it alike.
class ReadingPlanner {
 public:
  explicit ReadingPlanner(const Graph& graph) : graph_(graph) {}

  std::vector<RewriteSequence> run() {
    const auto order = graph_.order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const Node& node = graph_.node(*id);
      const bool is_complete =
          std::ranges::all_of(node.inputs, [](TensorId input) { return input.valid(); });
      if (!graph_.is_constant_expression(*id) && is_complete && node.outputs.size() == 1 &&
          has_known_sizes(graph_, node))
        visit(*id, node);
    }
    std::map<std::size_t, RewriteSequence> plans;
    std::set<std::size_t> has_product, gains;
    for (Step& step : steps_) {
      const std::size_t part = root(step.part);
      step.step.ends = has_product.erase(part) > 0;
      if (step.is_product) has_product.insert(part);
      if (step.is_product) gains.insert(part);
      plans[part].steps.push_back(std::move(step.step));
    }
    std::vector<RewriteSequence> found;
    for (auto& [part, plan] : plans)
      if (gains.contains(part)) found.push_back(std::move(plan));
    return found;
  }

 private:
  struct Step {
    std::size_t part;
    bool is_product;
    RewriteStep step;
  };

  void visit(NodeId id, const Node& node) {
    const TensorId result = node.outputs[0];
    const auto readings = readings_.find(result);
    if (readings != readings_.end() && is_read_alike(result, readings->second) &&
        take(id, node, readings->second))
      return;
    if (auto reading = reading_of(graph_, node)) {
      reading->node = id;
      reading->part = parent_.size();
      parent_.push_back(parent_.size());
      reading_.insert(id);
      for (std::size_t k = 1; k < node.inputs.size(); ++k) read_whole_.insert(node.inputs[k]);
      readings_[node.inputs[0]].push_back(*std::move(reading));
    }
  }

  bool is_read_alike(TensorId id, const std::vector<Reading>& readings) const {
    const auto is_other = [&](NodeId reader) { return !reading_.contains(reader); };
    const auto is_alike = [&](const Reading& reading) { return are_alike(reading, readings[0]); };
    return !graph_.is_output(id) && !read_whole_.contains(id) &&
           std::ranges::none_of(graph_.consumers(id), is_other) &&
           std::ranges::all_of(readings, is_alike);
  }

  bool take(NodeId id, const Node& node, std::vector<Reading> readings) {
    // New nodes have larger numbers.
    std::ranges::stable_sort(readings, {}, [&](const Reading& reading) {
      return reading.node.valid() ? reading.node.index() : graph_.node_bound();
    });
    auto read = read_operator(graph_, node, readings);
    if (!read) return false;
    for (const Reading& reading : readings) parent_[root(reading.part)] = root(readings[0].part);
    const std::size_t part = root(readings[0].part);
    steps_.push_back({part, ops::definition_of(node)->op_class == ops::OpClass::kContraction,
                      RewriteStep{.results = {},
                                  .readers_of = {node.outputs[0]},
                                  .texts = std::move(read->texts),
                                  .description = kReadingDescription,
                                  .floats = readings[0].reduces ? FloatBehavior::kReassociates
                                                                : FloatBehavior::kExact}});
    reading_.insert(id);
    Reading made = readings[0];
    made.keeps_rank = true;
    made.node = NodeId::none();
    made.part = part;
    std::map<TensorId, Axes> seen;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const TensorId input = node.inputs[k];
      const auto [known, is_new] = seen.emplace(input, read->axes[k]);
      made.axes = read->axes[k];
      if (made.axes.empty() || known->second != made.axes)
        read_whole_.insert(input);
      else if (is_new)
        readings_[input].push_back(made);
    }
    return true;
  }

  std::size_t root(std::size_t part) const {
    while (parent_[part] != part) part = parent_[part];
    return part;
  }

  const Graph& graph_;
  std::map<TensorId, std::vector<Reading>> readings_;
  std::set<NodeId> reading_;         ///< Nodes that read so, or are taken.
  std::set<TensorId> read_whole_;    ///< By one of these, nevertheless.
  std::vector<std::size_t> parent_;  ///< By part: itself, or one it was joined with.
  std::vector<Step> steps_;
};

}  // namespace

std::vector<RewriteSequence> find_readings(const Graph& graph) {
  return ReadingPlanner(graph).run();
}

}  // namespace soapstone::transforms
