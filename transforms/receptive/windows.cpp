#include "transforms/receptive/windows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/registry.h"
#include "transforms/receptive/convolution_text.h"
#include "transforms/receptive/greatest.h"
#include "transforms/receptive/pairs.h"
#include "transforms/receptive/shifts.h"

namespace soapstone::transforms {
namespace {

using core::Dims;
using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Elements of a window that is worth to be tried.
constexpr std::int64_t kLargestWindow = 128;
/// Convolutions in a plan.
constexpr std::size_t kMostConvolutions = 32;

constexpr std::string_view kWindowsDescription =
    "A convolution is one with a larger window that has zeros where the smaller one has nothing.";

/// The smallest window with places for all elements of theirs. None: it is too large.
std::optional<Window> common_window(const std::vector<Convolution>& all) {
  Window common = all.front().window;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < common.low.size(); ++d) {
    std::int64_t step = 0;
    for (const Convolution& conv : all) {
      const Window& window = conv.window;
      if (window.low[d] != window.high[d]) step = std::gcd(step, window.step[d]);
      step = std::gcd(step, window.low[d] - common.low[d]);
    }
    for (const Convolution& conv : all) {
      common.low[d] = std::min(common.low[d], conv.window.low[d]);
      common.high[d] = std::max(common.high[d], conv.window.high[d]);
    }
    common.step[d] = std::max<std::int64_t>(step, 1);
    elements *= common.size(d);
    if (elements > kLargestWindow) return std::nullopt;
  }
  return common;
}

class WindowPlanner {
 public:
  explicit WindowPlanner(const Graph& graph) : graph_(graph) {
    for (const NodeId id : graph.order())
      if (const auto conv = convolution_at(graph, id)) convolutions_.emplace(conv->result, *conv);
  }

  std::vector<RewriteSequence> run() {
    for (const NodeId id : graph_.order()) plan_sum(id);
    std::set<TensorId> images;
    for (const NodeId id : graph_.order())
      for (const TensorId input : graph_.node(id).inputs)
        if (input.valid() && images.insert(input).second) plan_image(input);
    return std::move(plans_);
  }

 private:
  static void add_step(RewriteSequence& plan, std::vector<TensorId> results, std::string text,
                       FloatBehavior floats) {
    plan.steps.push_back({.results = std::move(results),
                          .texts = {std::move(text)},
                          .description = kWindowsDescription,
                          .floats = floats});
  }

  /// Gives all one window. False: there is none.
  static bool align(std::vector<Convolution>& all, RewriteSequence& plan) {
    const auto common = common_window(all);
    if (!common) return false;
    for (Convolution& conv : all) {
      if (conv.window == *common) continue;
      add_step(plan, {conv.result}, with_window(conv, *common), FloatBehavior::kReassociates);
      conv.window = *common;
    }
    return true;
  }

  /// Gives all as many groups as one has that has the fewest. False: its groups do not divide those
  /// of the others.
  static bool join_groups(std::vector<Convolution>& all, RewriteSequence& plan) {
    const std::int64_t least = std::ranges::min(all, {}, &Convolution::group).group;
    for (Convolution& conv : all) {
      if (conv.group == least) continue;
      if (conv.group % least != 0) return false;
      add_step(plan, {conv.result}, in_groups(conv, least), FloatBehavior::kReassociates);
      conv.operands *= conv.group / least;
      conv.group = least;
    }
    return true;
  }

  /// Those of one image become one, whose result is taken apart.
  void plan_image(TensorId image) {
    std::map<std::pair<Dims, std::string>, std::vector<Convolution>> alike;
    for (const NodeId id : graph_.consumers(image)) {
      const Node& node = graph_.node(id);
      const auto conv = convolutions_.find(node.outputs[0]);
      if (conv == convolutions_.end() || node.inputs[0] != image || conv->second.group != 1)
        continue;
      core::Shape shape = graph_.tensor(conv->first).type.shape;
      shape[1] = 1;
      alike[{conv->second.strides, core::to_string(shape, graph_.symbols())}].push_back(
          conv->second);
    }
    for (auto& [ignored, all] : alike) {
      if (all.size() < 2 || all.size() > kMostConvolutions) continue;
      RewriteSequence plan;
      if (!align(all, plan) || plan.steps.empty()) continue;  // equal windows: rules do it
      std::vector<TensorId> results;
      const std::string behind = common_reader(all, results);
      add_step(plan, std::move(results), joined_convolutions(all, behind),
               FloatBehavior::kReassociates);
      plans_.push_back(std::move(plan));
    }
  }

  /// What is done to each result alone, and what comes of it. Empty: nothing, or not the same.
  std::string common_reader(const std::vector<Convolution>& all,
                            std::vector<TensorId>& results) const {
    std::set<std::string> calls;
    for (const Convolution& conv : all) {
      results.push_back(conv.result);
      calls.insert(reader_of(conv.result));
    }
    if (calls.size() != 1 || calls.begin()->empty()) return "";
    for (TensorId& id : results) id = graph_.node(graph_.consumers(id)[0]).outputs[0];
    return *calls.begin();
  }
  std::string reader_of(TensorId id) const {
    if (!is_inner(graph_, id)) return "";
    const Node& node = graph_.node(graph_.consumers(id)[0]);
    const auto* const op = ops::definition_of(node);
    if (op == nullptr || op->op_class != ops::OpClass::kElementwise || node.inputs.size() != 1)
      return "";
    return call_around(graph_, node);
  }

  bool is_sum(NodeId id) const {
    if (!id.valid()) return false;
    const Node& node = graph_.node(id);
    const auto& result = graph_.tensor(node.outputs[0]).type;
    return ops::arithmetic_of(*node.op) == ops::Arithmetic::kSum && node.inputs.size() == 2 &&
           std::ranges::all_of(node.inputs,
                               [&](TensorId t) { return graph_.tensor(t).type == result; });
  }

  /// The additions below, operands first.
  void collect(NodeId id, Sum& sum) const {
    const Node& node = graph_.node(id);
    for (const TensorId operand : node.inputs) {
      const NodeId before = graph_.tensor(operand).producer;
      const auto conv = convolutions_.find(operand);
      if (is_sum(before) && is_inner(graph_, operand) && node.inputs[0] != node.inputs[1])
        collect(before, sum);
      else if (conv != convolutions_.end() && is_inner(graph_, operand) &&
               node.inputs[0] != node.inputs[1])
        sum.convolutions.push_back(conv->second);
      else
        sum.others.push_back(operand);
    }
    sum.additions.push_back({node.inputs[0], node.inputs[1], node.outputs[0]});
  }

  /// The convolutions of a sum become one.
  void plan_sum(NodeId last) {
    if (!is_sum(last)) return;
    const TensorId result = graph_.node(last).outputs[0];
    if (is_inner(graph_, result) && is_sum(graph_.consumers(result)[0])) return;
    Sum sum;
    collect(last, sum);
    if (sum.convolutions.size() > kMostConvolutions) return;
    plan_sum(result, sum);
    const std::size_t all = sum.convolutions.size();
    leave_out_what_is_larger(sum);
    if (sum.convolutions.size() < all) plan_sum(result, std::move(sum));
  }

  /// Leaves the convolutions that add nothing to the work of one of them; the others' results are
  /// added as they are.
  static void leave_out_what_is_larger(Sum& sum) {
    if (sum.convolutions.size() < 2) return;
    const auto extent = [](const Convolution& conv) {
      std::int64_t elements = 1;
      for (std::size_t d = 0; d < conv.strides.size(); ++d) elements *= conv.window.size(d);
      return std::pair(-conv.group, elements);
    };
    const Convolution largest = *std::ranges::max_element(sum.convolutions, {}, extent);
    std::erase_if(sum.convolutions, [&](const Convolution& conv) {
      const bool fits = conv.group % largest.group == 0 && conv.strides == largest.strides &&
                        conv.image == largest.image &&
                        common_window({largest, conv}) == largest.window;
      if (!fits) sum.others.push_back(conv.result);
      return !fits;
    });
  }

  void plan_sum(TensorId result, Sum sum) {
    const auto& all = sum.convolutions;
    if (all.size() < 2) return;
    const auto fits = [&](const Convolution& conv) { return conv.strides == all[0].strides; };
    RewriteSequence plan;
    if (!std::ranges::all_of(all, fits) || !join_groups(sum.convolutions, plan) ||
        !align(sum.convolutions, plan))
      return;
    const bool has_one_image = std::ranges::all_of(
        all, [&](const Convolution& conv) { return conv.image == all[0].image; });
    if (all[0].group > 1 && !has_one_image) return plan_pairs(result, sum, std::move(plan));
    auto text = summed_convolutions(sum);
    if (!text) return;
    add_step(plan, {result}, *std::move(text), FloatBehavior::kReassociates);
    plans_.push_back(std::move(plan));
  }

  /// Depthwise convolutions, each of the result of another one of one image: as two of them, where
  /// the results of each channel stand side by side.
  void plan_pairs(TensorId result, const Sum& sum, RewriteSequence plan) {
    if (!std::ranges::all_of(sum.convolutions, may_be_paired)) return;
    std::vector<Convolution> first;
    std::set<std::string> behind;
    std::set<TensorId> images;
    for (const Convolution& conv : sum.convolutions) {
      TensorId before = conv.image;
      if (!is_inner(graph_, before)) return;
      std::string between;
      if (!convolutions_.contains(before)) {
        const NodeId producer = graph_.tensor(before).producer;
        if (!producer.valid() || graph_.node(producer).inputs.empty()) return;
        before = graph_.node(producer).inputs[0];
        between = reader_of(before);
        if (between.empty()) return;
      }
      const auto known = convolutions_.find(before);
      if (known == convolutions_.end() || !may_be_paired(known->second) ||
          known->second.group != conv.group)
        return;
      first.push_back(known->second);
      behind.insert(between);
      images.insert(known->second.image);
    }
    if (behind.size() != 1 || images.size() != 1 || !align(first, plan)) return;
    add_step(plan, {result}, paired_convolutions(first, *behind.begin(), sum),
             FloatBehavior::kReassociates);
    plans_.push_back(std::move(plan));
  }

  const Graph& graph_;
  std::map<TensorId, Convolution> convolutions_;  // by result
  std::vector<RewriteSequence> plans_;
};

}  // namespace

std::vector<RewriteSequence> find_windows(const Graph& graph) {
  auto plans = WindowPlanner(graph).run();
  std::ranges::move(find_greatest_windows(graph), std::back_inserter(plans));
  std::ranges::move(find_shifted_sums(graph), std::back_inserter(plans));
  std::ranges::move(find_shifted_joins(graph), std::back_inserter(plans));
  return plans;
}

}  // namespace soapstone::transforms
