#include "transforms/receptive/greatest.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/registry.h"
#include "transforms/receptive/convolution_text.h"

namespace soapstone::transforms {
namespace {

using core::Dims;
using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

constexpr std::size_t kMostBranches = 16;
constexpr std::int64_t kLongestWindow = 32;

constexpr std::string_view kGreatestDescription =
    "Where a shorter window has no place, the first place counts once more.";

/// A convolution, what is done to its result, and the greatest of that over all places.
struct Branch {
  Convolution conv;
  TensorId weight, bias;
  std::string function = {};             ///< `relu({})`; empty: none.
  bool is_non_negative = false;          ///< The function.
  std::vector<std::string> behind = {};  ///< The calls behind it; the last one takes the greatest.
  TensorId result;
  std::size_t axis = 0;     ///< Of the windows, of those of places.
  std::int64_t places = 0;  ///< Along that.
};

std::int64_t product_of(const Dims& dims) { return core::element_count(dims); }

/// Whether the node's results are a function of one element each that is nowhere below 0.
bool is_non_negative(const Graph& graph, NodeId id) {
  const ops::Semantics semantics = ops::semantics_of(graph, id);
  if (semantics.stages.size() != 1) return false;
  const ops::ExprNode& body = *semantics.stages[0].body;
  return body.kind == ops::ExprKind::kApply && ops::properties(body.function).non_negative &&
         body.arguments.size() == 1 && body.arguments[0]->kind == ops::ExprKind::kRead;
}

/// Whether it takes the greatest of elements.
bool is_greatest(const Graph& graph, NodeId id) {
  const ops::Semantics semantics = ops::semantics_of(graph, id);
  return semantics.stages.size() == 1 && semantics.stages[0].body->kind == ops::ExprKind::kMax;
}

/// The rule for branches of one image.
class GreatestText {
 public:
  GreatestText(const Graph& graph, const std::vector<Branch>& branches)
      : graph_(graph), branches_(branches), first_(branches[0]),
        places_(kPlaces + branches[0].axis), rank_(kPlaces + branches[0].conv.end.size()) {
    for (const Branch& branch : branches) {
      longest_ = std::max(longest_, branch.conv.window.size(branch.axis));
      most_ = std::max(most_, branch.places);
    }
  }

  std::string text() {
    declare("x", first_.conv.image);
    for (std::size_t k = 0; k < branches_.size(); ++k) {
      add_source(k);
      add_weights(k);
      add_mask(k);
    }
    join("w", 0);
    join("b", 0);
    join("m", 1);
    target_ += convolved(whole(), has_function() ? "c" : "f", "x", "w", "b");
    if (has_function()) target_ += called("f", first_.function, "c");
    target_ += masked();
    target_ += fmt::format("    g = reduce_max(z; axes=[{}], keep_dims=1)\n", places_);
    split();
    return window_rule("greatest", head_, source_, target_);
  }

 private:
  bool has_function() const { return !first_.function.empty(); }

  /// The convolution with the longest window that has as many places as the shortest.
  Convolution whole() const {
    Convolution conv = first_.conv;
    conv.window.high[first_.axis] = longest_ - 1;
    conv.end[first_.axis] = most_ - dims_of(graph_, conv.image)[places_];
    return conv;
  }

  void declare(const std::string& name, TensorId id) { head_ += declared(graph_, name, id); }

  void add_source(std::size_t k) {
    const Branch& branch = branches_[k];
    declare(numbered("a", k), branch.weight);
    if (branch.bias.valid()) declare(numbered("b", k), branch.bias);
    std::string last = numbered("c", k);
    source_ += convolved(branch.conv, last, "x", numbered("a", k),
                         branch.bias.valid() ? numbered("b", k) : "");
    if (has_function()) {
      source_ += called(numbered("f", k), branch.function, last);
      last = numbered("f", k);
    }
    for (std::size_t i = 0; i < branch.behind.size(); ++i) {
      const bool is_last = i + 1 == branch.behind.size();
      const std::string next = is_last ? numbered("y", k) : fmt::format("r{}_{}", k, i);
      source_ += called(next, branch.behind[i], last);
      last = next;
    }
  }

  /// The kernel in the longest window, and a bias.
  void add_weights(std::size_t k) {
    const Branch& branch = branches_[k];
    pad("w", k, numbered("a", k), longest_ - branch.conv.window.size(branch.axis));
    if (!branch.bias.valid())
      target_ += fmt::format("    b{} = full(; shape=[{}], value=0.0)\n", k, branch.conv.results);
  }

  /// 1 where the window has a place.
  void add_mask(std::size_t k) {
    Dims shape(rank_, 1);
    shape[1] = branches_[k].conv.results;
    shape[places_] = branches_[k].places;
    target_ += fmt::format("    o{} = full(; shape=[{}], value=1.0)\n", k, list(shape));
    pad("m", k, numbered("o", k), most_ - branches_[k].places);
  }

  /// With that many zeros behind the last place.
  void pad(const char* name, std::size_t k, const std::string& from, std::int64_t count) {
    Dims pads(2 * rank_, 0);
    pads[rank_ + places_] = count;
    target_ += fmt::format("    {} = pad({}; pads=[{}], value=0.0)\n", numbered(name, k), from,
                           list(pads));
  }

  void join(const char* name, int axis) {
    std::vector<std::string> all;
    for (std::size_t k = 0; k < branches_.size(); ++k) all.push_back(numbered(name, k));
    target_ += concatenated(name, all, axis);
  }

  /// Elsewhere 0 if that cannot be the greatest, or what the first place has.
  std::string masked() const {
    if (first_.is_non_negative) return multiplied("z", "f", "m");
    Dims all(rank_, 1);
    all[places_] = most_;
    return fmt::format("    h = full(; shape=[{}], value=0.5)\n    has = less(h, m)\n", list(all)) +
           cut_out("e", "f", {std::to_string(places_), "0", "1", "1"}) +
           "    z = where(has, f, e)\n";
  }

  void split() {
    std::vector<std::string> parts;
    Dims sizes;
    std::string shaped;
    for (std::size_t k = 0; k < branches_.size(); ++k) {
      parts.push_back(numbered("p", k));
      sizes.push_back(branches_[k].conv.results);
      shaped +=
          reshaped(numbered("y", k), parts.back(), list(dims_of(graph_, branches_[k].result)));
    }
    target_ += fmt::format("    {} = split(g; axis=1, sizes=[{}])\n{}", fmt::join(parts, ", "),
                           list(sizes), shaped);
  }

  static std::string called(const std::string& name, const std::string& call,
                            const std::string& operand) {
    return fmt::format("    {} = {}\n", name, fmt::format(fmt::runtime(call), operand));
  }

  const Graph& graph_;
  const std::vector<Branch>& branches_;
  const Branch& first_;
  std::size_t places_, rank_;
  std::int64_t longest_ = 0, most_ = 0;
  std::string head_, source_, target_;
};

class GreatestPlanner {
 public:
  explicit GreatestPlanner(const Graph& graph) : graph_(graph) {}

  std::vector<RewriteSequence> run() {
    std::map<std::pair<TensorId, std::string>, std::vector<Branch>> alike;  // by image, function
    for (const NodeId id : graph_.order())
      if (auto branch = branch_at(id))
        alike[{branch->conv.image, branch->function}].push_back(*std::move(branch));
    std::vector<RewriteSequence> plans;
    for (auto& [ignored, branches] : alike) {
      if (!take_axis(branches) || branches.size() > kMostBranches) continue;
      RewriteStep step{.results = {},
                       .texts = {GreatestText(graph_, branches).text()},
                       .description = kGreatestDescription,
                       .floats = FloatBehavior::kReassociates};
      for (const Branch& branch : branches) step.results.push_back(branch.result);
      plans.push_back({{std::move(step)}});
    }
    return plans;
  }

 private:
  std::optional<Branch> branch_at(NodeId id) const {
    const auto conv = convolution_at(graph_, id);
    if (!conv || conv->group != 1 || dims_of(graph_, conv->image).empty()) return std::nullopt;
    for (std::size_t d = 0; d < conv->end.size(); ++d)
      if (conv->strides[d] != 1 || conv->window.low[d] != 0 ||
          conv->end[d] != -conv->window.high[d])
        return std::nullopt;
    const Node& node = graph_.node(id);
    Branch branch{.conv = *conv,
                  .weight = node.inputs[1],
                  .bias = conv->has_bias ? node.inputs[2] : TensorId::none(),
                  .result = conv->result};
    const Dims channels = dims_of(graph_, conv->result);
    const std::int64_t greatest = channels[0] * channels[1];
    bool is_first = true;
    for (; is_inner(graph_, branch.result); is_first = false) {
      const NodeId next = graph_.consumers(branch.result)[0];
      const Node& reader = graph_.node(next);
      const auto* const op = ops::definition_of(reader);
      if (op == nullptr || reader.inputs.size() != 1 || reader.outputs.size() != 1 ||
          dims_of(graph_, reader.outputs[0]).empty())
        return std::nullopt;
      branch.result = reader.outputs[0];
      if (is_first && op->op_class == ops::OpClass::kElementwise) {
        branch.function = call_around(graph_, reader);
        branch.is_non_negative = is_non_negative(graph_, next);
        continue;
      }
      branch.behind.push_back(call_around(graph_, reader));
      if (is_greatest(graph_, next))
        return product_of(dims_of(graph_, branch.result)) == greatest ? std::optional(branch)
                                                                      : std::nullopt;
      if (reader.op->movement != core::Movement::kReshape) return std::nullopt;
    }
    return std::nullopt;
  }

  /// Finds the one dimension along which windows have unlike lengths. False: there is no such, or
  /// there are places along others.
  bool take_axis(std::vector<Branch>& branches) const {
    if (branches.size() < 2) return false;
    std::optional<std::size_t> axis;
    const Window& first = branches[0].conv.window;
    for (const Branch& branch : branches)
      for (std::size_t d = 0; d < first.high.size(); ++d) {
        if (branch.conv.window.step[d] != 1) return false;
        if (branch.conv.window.high[d] == first.high[d]) continue;
        if (axis && *axis != d) return false;
        axis = d;
      }
    if (!axis) return false;
    for (Branch& branch : branches) {
      const Dims result = dims_of(graph_, branch.conv.result);
      branch.axis = *axis;
      branch.places = result[kPlaces + *axis];
      if (product_of(result) != result[0] * result[1] * branch.places ||
          branch.conv.window.size(*axis) > kLongestWindow)
        return false;
    }
    return true;
  }

  const Graph& graph_;
};

}  // namespace

std::vector<RewriteSequence> find_greatest_windows(const Graph& graph) {
  return GreatestPlanner(graph).run();
}

}  // namespace soapstone::transforms
