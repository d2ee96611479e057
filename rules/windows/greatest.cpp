#include "rules/windows/greatest.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/registry.h"
#include "rules/windows/convolution_text.h"

namespace soapstone::rules {
namespace {

using core::Dims;
using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

constexpr std::size_t kMostBranches = 16;
constexpr std::int64_t kLongestWindow = 32;
/// The first dimension of places of an image.
constexpr std::size_t kPlaces = 2;

constexpr std::string_view kGreatestDescription =
    "Of what is at least 0 the greatest is the same among zeros.";

/// A convolution, what is done to its result, and the greatest of that over all places.
struct Branch {
  Convolution conv;
  TensorId weight, bias;
  std::string function = {};             ///< `relu({})`
  std::vector<std::string> behind = {};  ///< The calls behind it; the last one takes the greatest.
  TensorId result;
  std::size_t axis = 0;     ///< Of the windows, of those of places.
  std::int64_t places = 0;  ///< Along that.
};

Dims dims_of(const Graph& graph, TensorId id) {
  return core::concrete(graph.tensor(id).type.shape).value_or(Dims{});
}

std::int64_t product_of(const Dims& dims) { return core::element_count(dims); }

/// The call of a node with one operand, which stands where the braces are.
std::string call_of(const Graph& graph, const Node& node) {
  std::string attributes;
  for (const auto& [name, value] : node.attributes.values())
    attributes += fmt::format("{}{}={}", attributes.empty() ? "; " : ", ", name,
                              core::to_string(value, graph.symbols()));
  return fmt::format("{}({{}}{})", node.op->name, attributes);
}

/// Whether the node's results are a function of one element each that is nowhere below 0.
bool is_non_negative(const Graph& graph, NodeId id) {
  const ops::Semantics semantics = ops::semantics_of(graph, id);
  const ops::ExprNode& body = *semantics.stages.back().body;
  return semantics.stages.size() == 1 && body.kind == ops::ExprKind::kApply &&
         ops::properties(body.function).non_negative && body.arguments.size() == 1 &&
         body.arguments[0]->kind == ops::ExprKind::kRead;
}

/// Whether it takes the greatest of elements.
bool is_greatest(const Graph& graph, NodeId id) {
  const ops::Semantics semantics = ops::semantics_of(graph, id);
  return semantics.stages.size() == 1 && semantics.stages[0].body->kind == ops::ExprKind::kMax;
}

class GreatestPlanner {
 public:
  explicit GreatestPlanner(const Graph& graph) : graph_(graph) {}

  std::vector<RewritePlan> run() {
    std::map<std::pair<TensorId, std::string>, std::vector<Branch>> alike;  // by image, function
    for (const NodeId id : graph_.order())
      if (auto branch = branch_at(id))
        alike[{branch->conv.image, branch->function}].push_back(*std::move(branch));
    std::vector<RewritePlan> plans;
    for (auto& [ignored, branches] : alike) {
      if (!take_axis(branches) || branches.size() > kMostBranches) continue;
      PlanStep step{.results = {},
                    .texts = {text(branches)},
                    .description = kGreatestDescription,
                    .floats = FloatBehavior::kReassociates};
      for (const Branch& branch : branches) step.results.push_back(branch.result);
      plans.push_back({{std::move(step)}});
    }
    return plans;
  }

 private:
  bool is_inner(TensorId id) const {
    return graph_.consumers(id).size() == 1 && !graph_.is_output(id);
  }

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
    while (is_inner(branch.result)) {
      const NodeId next = graph_.consumers(branch.result)[0];
      const Node& reader = graph_.node(next);
      const auto* const op = ops::definition_of(reader);
      if (op == nullptr || reader.inputs.size() != 1 || reader.outputs.size() != 1 ||
          dims_of(graph_, reader.outputs[0]).empty())
        return std::nullopt;
      branch.result = reader.outputs[0];
      if (branch.function.empty()) {
        if (!is_non_negative(graph_, next)) return std::nullopt;
        branch.function = call_of(graph_, reader);
        continue;
      }
      branch.behind.push_back(call_of(graph_, reader));
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

  std::string text(const std::vector<Branch>& branches) const {
    const Convolution& first = branches[0].conv;
    const std::size_t axis = branches[0].axis, rank = first.end.size() + kPlaces;
    std::int64_t longest = 0, places = 0, channels = 0;
    for (const Branch& branch : branches) {
      longest = std::max(longest, branch.conv.window.size(axis));
      places = std::max(places, branch.places);
      channels += branch.conv.results;
    }
    std::string head = declared("x", first.image), source, target, ends;
    std::vector<std::string> weights, biases, masks, parts, sizes;
    for (std::size_t k = 0; k < branches.size(); ++k) {
      const Branch& branch = branches[k];
      const std::string w = fmt::format("w{}", k), b = fmt::format("b{}", k);
      head += declared(w, branch.weight);
      if (branch.bias.valid()) head += declared(b, branch.bias);
      source += conv_line(fmt::format("c{}", k), w, branch.bias.valid() ? b : "",
                          Dims(2 * first.end.size(), 0));
      source += line(fmt::format("f{}", k), branch.function, fmt::format("c{}", k));
      std::string last = fmt::format("f{}", k);
      for (std::size_t i = 0; i < branch.behind.size(); ++i) {
        const std::string next =
            i + 1 == branch.behind.size() ? fmt::format("y{}", k) : fmt::format("r{}_{}", k, i);
        source += line(next, branch.behind[i], last);
        last = next;
      }
      target +=
          padded(fmt::format("v{}", k), w, rank, axis, longest - branch.conv.window.size(axis));
      weights.push_back(fmt::format("v{}", k));
      biases.push_back(b);
      if (!branch.bias.valid())
        target += fmt::format("    {} = full(; shape=[{}], value=0.0)\n", b, branch.conv.results);
      Dims ones(rank, 1);
      ones[1] = branch.conv.results;
      ones[kPlaces + axis] = branch.places;
      target += fmt::format("    o{} = full(; shape=[{}], value=1.0)\n", k, fmt::join(ones, ", "));
      target +=
          padded(fmt::format("m{}", k), fmt::format("o{}", k), rank, axis, places - branch.places);
      masks.push_back(fmt::format("m{}", k));
      parts.push_back(fmt::format("p{}", k));
      sizes.push_back(std::to_string(branch.conv.results));
      ends += fmt::format("    y{0} = reshape(p{0}; shape=[{1}])\n", k,
                          fmt::join(dims_of(graph_, branch.result), ", "));
    }
    for (const auto& [name, all, along] :
         {std::tuple{"w", weights, 0}, {"b", biases, 0}, {"m", masks, 1}})
      target += fmt::format("    {} = concat({}; axis={})\n", name, fmt::join(all, ", "), along);
    Dims pads(2 * first.end.size(), 0);
    pads[first.end.size() + axis] =
        places - (dims_of(graph_, first.image)[kPlaces + axis] - longest + 1);
    target += conv_line("c", "w", "b", pads) + line("f", branches[0].function, "c");
    target += "    z = mul(f, m)\n";
    target += fmt::format("    g = reduce_max(z; axes=[{}], keep_dims=1)\n", kPlaces + axis);
    target += fmt::format("    {} = split(g; axis=1, sizes=[{}])\n", fmt::join(parts, ", "),
                          fmt::join(sizes, ", "));
    return fmt::format("rule window_of_greatest\n{}  placed\n  source\n{}  target\n{}{}", head,
                       source, target, ends);
  }

  std::string declared(const std::string& name, TensorId id) const {
    return fmt::format("  {}: [{}]\n", name, fmt::join(dims_of(graph_, id), ", "));
  }
  static std::string line(const std::string& name, const std::string& call,
                          const std::string& operand) {
    return fmt::format("    {} = {}\n", name, fmt::format(fmt::runtime(call), operand));
  }
  static std::string conv_line(const std::string& name, const std::string& w, const std::string& b,
                               const Dims& pads) {
    const Dims ones(pads.size() / 2, 1);
    return fmt::format("    {} = conv(x, {}{}; strides=[{}], pads=[{}], dilations=[{}], group=1)\n",
                       name, w, b.empty() ? "" : ", " + b, fmt::join(ones, ", "),
                       fmt::join(pads, ", "), fmt::join(ones, ", "));
  }
  /// With that many zeros behind the last place.
  static std::string padded(const std::string& name, const std::string& from, std::size_t rank,
                            std::size_t axis, std::int64_t count) {
    Dims pads(2 * rank, 0);
    pads[rank + kPlaces + axis] = count;
    return fmt::format("    {} = pad({}; pads=[{}], value=0.0)\n", name, from,
                       fmt::join(pads, ", "));
  }

  const Graph& graph_;
};

}  // namespace

std::vector<RewritePlan> find_greatest_windows(const Graph& graph) {
  return GreatestPlanner(graph).run();
}

}  // namespace soapstone::rules
