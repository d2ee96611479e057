// One walk over a graph in topological order decides launches, views and layouts together: whether
// a node is a view depends on how its input lies, and that on the launches before it.
#include "core/base/check.h"
#include "ops/definition/by_role.h"
#include "runtime/launches/execution_plan.h"
#include "runtime/launches/view.h"

namespace soapstone::runtime {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

class Planner {
 public:
  /// Without a backend everything is row-major.
  Planner(const Graph& graph, const FusionRules& rules, const Backend* backend)
      : graph_(graph), rules_(rules), backend_(backend), grown_by_(graph.node_bound()),
        stored_(graph.tensor_bound(), Layout::kRowMajor), converted_(graph.tensor_bound()),
        has_buffer_(graph.tensor_bound()), is_there_(graph.tensor_bound()) {}

  ExecutionPlan run() {
    visit_all(graph_.order());
    for (TensorId output : graph_.outputs()) convert(output, Layout::kRowMajor);
    return std::move(plan_);
  }

  /// Plans some nodes, without a backend: everything is row-major, and nothing is converted.
  ExecutionPlan run(std::span<const NodeId> nodes) {
    visit_all(nodes);
    return std::move(plan_);
  }

  /// The same with given launches. Between them come the views that their inputs are.
  ExecutionPlan run(std::vector<Launch> launches) {
    for (NodeId id : graph_.order())
      if (graph_.is_constant_expression(id)) plan_.folded.push_back(id);
    std::vector<LaunchLayouts> arranged;
    if (backend_) arranged = backend_->arrange(graph_, launches);
    for (std::size_t k = 0; k < launches.size(); ++k) {
      for (TensorId input : launches[k].inputs) reach(input);
      const bool is_node = launches[k].epilogue.empty() && launches[k].others.empty();
      if (!is_node || !arranged.empty() || !visit_join(launches[k].head))
        emit(std::move(launches[k]), arranged.empty() ? nullptr : &arranged[k]);
    }
    for (TensorId output : graph_.outputs()) {
      reach(output);
      convert(output, Layout::kRowMajor);
    }
    return std::move(plan_);
  }

 private:
  /// Adds steps for the views that lead to a tensor from what is there already. A node that is no
  /// view of its input as that lies becomes a launch.
  void reach(TensorId tensor) {
    const NodeId producer = graph_.tensor(tensor).producer;
    if (is_there_[tensor.index()] || !producer.valid() || graph_.is_constant_expression(tensor))
      return;
    for (TensorId input : graph_.node(producer).inputs)
      if (input.valid()) reach(input);
    if (!visit_view(producer)) emit(grow_launch(graph_, producer, generic_fusion(Fusion::kNone)));
  }

  void visit_all(std::span<const NodeId> nodes) {
    plan_.launches.reserve(nodes.size());
    plan_.layouts.reserve(nodes.size());
    plan_.steps.reserve(nodes.size());
    for (const NodeId id : nodes) visit(id);
  }

  void visit(NodeId id) {
    if (graph_.is_constant_expression(id)) {
      plan_.folded.push_back(id);
    } else if (grown_by_[id.index()] != 0) {
      Launch& launch = growing_[grown_by_[id.index()] - 1];
      if (launch.last_node() == id) emit(std::move(launch));
    } else if (!visit_view(id) && !visit_join(id)) {
      Launch launch = grow_launch(graph_, id, rules_, grown_by_);
      if (launch.epilogue.empty()) return emit(std::move(launch));
      growing_.push_back(std::move(launch));
      for (const NodeId node : growing_.back().nodes())
        grown_by_[node.index()] = static_cast<std::uint32_t>(growing_.size());
    }
  }

  /// A view of the input as it is stored, or else of a row-major copy if the node is a view of
  /// that whatever the sizes (reshape): any kernel for it would have to make the same copy.
  bool visit_view(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.inputs.empty() || !node.inputs[0].valid()) return false;
    Layout layout = stored_[node.inputs[0].index()];
    if (!is_view(graph_, id, layout)) {
      if (layout == Layout::kRowMajor || node.op->movement != core::Movement::kReshape)
        return false;
      layout = Layout::kRowMajor;
      convert(node.inputs[0], layout);
    }
    add_step(RewriteStep::Kind::kView, plan_.views.size());
    plan_.views.push_back({id, layout});
    for (TensorId output : node.outputs) store(output, layout);
    return true;
  }

  /// A concat whose inputs are neighbors in the result costs nothing if what makes them can write
  /// them there: each is the result of a launch and no part of another concat.
  bool visit_join(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op->movement != core::Movement::kJoin) return false;
    const std::size_t axis = ops::axis_by_role(node);
    const TensorId result = node.outputs[0];
    if (!is_outermost(graph_.tensor(result).type, Layout::kRowMajor, axis)) return false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId input = node.inputs[i];
      if (!has_buffer_[input.index()] || stored_[input.index()] != Layout::kRowMajor) return false;
      for (std::size_t k = 0; k < i; ++k) {
        if (node.inputs[k] == input) return false;
      }
    }
    for (TensorId input : node.inputs) has_buffer_[input.index()] = false;
    add_step(RewriteStep::Kind::kView, plan_.views.size());
    plan_.views.push_back({id, Layout::kRowMajor});
    store(result, Layout::kRowMajor);
    has_buffer_[result.index()] = true;
    return true;
  }

  /// `arranged`: how it lies; null: as the backend says now.
  void emit(Launch launch, const LaunchLayouts* arranged = nullptr) {
    LaunchLayouts layouts;
    if (backend_) {
      layouts.inputs.assign(launch.inputs.size(), Layout::kRowMajor);
      layouts.outputs.assign(launch.outputs.size(), Layout::kRowMajor);
      arriving_.clear();
      for (TensorId input : launch.inputs) arriving_.push_back(stored_[input.index()]);
      if (arranged)
        layouts = *arranged;
      else
        backend_->choose_layouts(graph_, launch, arriving_, layouts);
      for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
        layouts.inputs[i] = canonical(graph_.tensor(launch.inputs[i]).type, layouts.inputs[i]);
        convert(launch.inputs[i], layouts.inputs[i]);
      }
      for (std::size_t i = 0; i < launch.outputs.size(); ++i) {
        store(launch.outputs[i], layouts.outputs[i]);
        layouts.outputs[i] = stored_[launch.outputs[i].index()];
      }
    }
    for (TensorId output : launch.outputs) has_buffer_[output.index()] = true;
    add_step(RewriteStep::Kind::kLaunch, plan_.launches.size());
    plan_.launches.push_back(std::move(launch));
    plan_.layouts.push_back(std::move(layouts));
  }

  void store(TensorId tensor, Layout layout) {
    is_there_[tensor.index()] = true;
    stored_[tensor.index()] = canonical(graph_.tensor(tensor).type, layout);
  }

  void convert(TensorId tensor, Layout to) {
    const Layout from = stored_[tensor.index()];
    if (from == to || converted_[tensor.index()] || graph_.is_constant_expression(tensor)) return;
    converted_[tensor.index()] = true;
    add_step(RewriteStep::Kind::kConversion, plan_.conversions.size());
    plan_.conversions.push_back({tensor, from, to});
  }

  void add_step(RewriteStep::Kind kind, std::size_t number) {
    plan_.steps.push_back({kind, static_cast<std::uint32_t>(number)});
  }

  const Graph& graph_;
  const FusionRules& rules_;
  const Backend* backend_;
  ExecutionPlan plan_;
  std::vector<Launch> growing_;          // taken in so far by a head, not at their last node yet
  std::vector<std::uint32_t> grown_by_;  // per node: number in growing_ plus 1
  std::vector<Layout> stored_;           // per tensor: as its producer left it
  std::vector<bool> converted_;          // per tensor: exists in the other layout too
  std::vector<bool> has_buffer_;         // per tensor: may become a part of a concat's result
  std::vector<bool> is_there_;           // per tensor: stored by a step, or a view of such
  std::vector<Layout> arriving_;         // of emit(), kept for its memory
};

}  // namespace

ExecutionPlan plan_execution(const Graph& graph, const Backend& backend, Fusion fusion) {
  return plan_execution(graph, backend, fusion, backend.cover(graph, fusion));
}

ExecutionPlan plan_execution(const Graph& graph, const Backend& backend, Fusion fusion,
                             std::optional<std::vector<Launch>> launches) {
  Planner planner(graph, backend.fusion(fusion), &backend);
  return launches ? planner.run(*std::move(launches)) : planner.run();
}

LaunchPlan plan_launches(const Graph& graph, const FusionRules& rules) {
  return plan_launches(graph, rules, graph.order());
}

LaunchPlan plan_launches(const Graph& graph, const FusionRules& rules,
                         std::span<const NodeId> nodes) {
  ExecutionPlan plan = Planner(graph, rules, nullptr).run(nodes);
  LaunchPlan result{std::move(plan.launches), std::move(plan.folded), {}};
  for (const View& view : plan.views) result.views.push_back(view.node);
  return result;
}

}  // namespace soapstone::runtime
