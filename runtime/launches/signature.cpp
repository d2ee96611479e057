// The names of launches, by which they are found in the cost database (text) and in memory (hash).
// Tensors are numbered in the order of Launch::inputs, so that ids and names of the graph do not
// matter.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::runtime {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

Layout layout_at(const std::vector<Layout>& layouts, std::size_t i) {
  return i < layouts.size() ? layouts[i] : Layout::kRowMajor;
}

constexpr std::size_t kChain = ~std::size_t{0};  // a result within the launch
constexpr std::size_t kLeftOut = ~std::size_t{1};

/// True if nodes may read any node before them, not only the one before.
bool has_any_shape(const Launch& launch) { return !launch.others.empty(); }

/// Calls `at_input` with where each input of each node of the launch comes from: its number among
/// the launch's inputs or, in a launch of any shape, behind them that of a result. `results` are
/// those of all nodes.
template <class NodeFunction, class InputFunction>
std::vector<TensorId> walk(const Graph& graph, const Launch& launch, NodeFunction at_node,
                           InputFunction at_input) {
  std::vector<TensorId> results;
  const auto visit = [&](NodeId id) {
    const Node& node = graph.node(id);
    at_node(node);
    for (TensorId input : node.inputs) {
      std::size_t number = input.valid() ? kChain : kLeftOut;
      for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
        if (launch.inputs[i] == input) number = i;
      }
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i] == input) number = launch.inputs.size() + i;
      }
      at_input(node, number);
    }
    if (has_any_shape(launch))
      results.insert(results.end(), node.outputs.begin(), node.outputs.end());
  };
  for (const NodeId id : launch.nodes()) visit(id);
  return results;
}

/// The number by which walk() knows a result.
std::size_t number_of(TensorId result, const std::vector<TensorId>& results) {
  return static_cast<std::size_t>(std::ranges::find(results, result) - results.begin());
}

/// A constant of one element, whose value may decide which kernel runs (x^2 is no x^1.7); or null.
const core::Literal* number_at(const Graph& graph, TensorId id) {
  const core::Literal* value = graph.tensor(id).value.get();
  return value && value->bytes().size() == core::size_bytes(value->data_type()) ? value : nullptr;
}

std::string constant_text(const Graph& graph, TensorId id) {
  if (!graph.is_constant_expression(id)) return "";
  const core::Literal* number = number_at(graph, id);
  return number ? fmt::format("constant {} ", number->to_doubles()[0]) : "constant ";
}

std::string type_text(const core::TensorType& type, Layout layout) {
  const core::SymbolTable no_names;
  std::string text = fmt::format("{}{}", core::to_string(type.data_type),
                                 type.shape_known ? core::to_string(type.shape, no_names) : "[?]");
  return layout == Layout::kRowMajor ? text : text + " channels-last";
}

std::uint64_t type_hash(const core::TensorType& type, Layout layout) {
  std::uint64_t hash = core::hash_combine(static_cast<std::uint64_t>(type.data_type),
                                          static_cast<std::uint64_t>(layout));
  for (const core::Size& size : type.shape)
    hash = core::hash_combine(hash, size.is_constant() ? static_cast<std::uint64_t>(size.constant())
                                                       : size.hash());
  return core::hash_combine(hash, type.shape.size());
}

/// `conv(%0, %1; group=1, strides=[1, 1])`
std::string node_text(const Node& node, const std::vector<std::string>& operands) {
  const core::SymbolTable no_names;
  std::string text = node.op->name + "(";
  std::string_view separator;
  for (const std::string& operand : operands) {
    text += fmt::format("{}{}", separator, operand);
    separator = ", ";
  }
  separator = "; ";
  for (const auto& [name, value] : node.attributes.values()) {
    text += fmt::format("{}{}={}", separator, name, core::to_string(value, no_names));
    separator = ", ";
  }
  return text + ")";
}

}  // namespace

std::string launch_signature(const Graph& graph, const Launch& launch,
                             const LaunchLayouts& layouts) {
  std::string text;
  std::vector<std::string> operands;
  const auto input_name = [](std::size_t number) {
    if (number == kChain) return std::string("%");
    return number == kLeftOut ? std::string("_") : fmt::format("%{}", number);
  };
  const std::vector<TensorId> results = walk(
      graph, launch, [&](const Node&) { operands.clear(); },
      [&](const Node& node, std::size_t number) {
        operands.push_back(input_name(number));
        if (operands.size() < node.inputs.size()) return;
        text += text.empty() ? node_text(node, operands) : " -> " + node_text(node, operands);
      });
  if (text.empty()) text = node_text(graph.node(launch.head), {});
  for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
    const TensorId input = launch.inputs[i];
    text += fmt::format(" | %{}: {}{}", i, constant_text(graph, input),
                        type_text(graph.tensor(input).type, layout_at(layouts.inputs, i)));
  }
  for (std::size_t i = 0; i < launch.outputs.size(); ++i) {
    const std::string which =
        results.empty()
            ? ""
            : fmt::format(" %{}", launch.inputs.size() + number_of(launch.outputs[i], results));
    text +=
        fmt::format(" | result{}: {}", which,
                    type_text(graph.tensor(launch.outputs[i]).type, layout_at(layouts.outputs, i)));
  }
  return text;
}

std::string conversion_signature(const core::TensorType& type, Layout from, Layout to) {
  return fmt::format("convert | %0: {} | result: {}", type_text(type, from), type_text(type, to));
}

std::uint64_t launch_hash(const Graph& graph, const Launch& launch, const LaunchLayouts& layouts) {
  std::uint64_t hash = launch.inputs.size();
  const std::vector<TensorId> results = walk(
      graph, launch, [&](const Node& node) { hash = core::hash_combine(hash, node.local_hash); },
      [&](const Node&, std::size_t number) { hash = core::hash_combine(hash, number); });
  for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
    const TensorId input = launch.inputs[i];
    hash =
        core::hash_combine(hash, type_hash(graph.tensor(input).type, layout_at(layouts.inputs, i)) +
                                     (graph.is_constant_expression(input) ? 1 : 0));
    if (const core::Literal* number = number_at(graph, input))
      hash = core::hash_combine(hash, number->hash());
  }
  for (std::size_t i = 0; i < launch.outputs.size(); ++i) {
    hash = core::hash_combine(hash, static_cast<std::uint64_t>(layout_at(layouts.outputs, i)));
    if (!results.empty()) hash = core::hash_combine(hash, number_of(launch.outputs[i], results));
  }
  return hash;
}

std::uint64_t conversion_hash(const core::TensorType& type, Layout from, Layout to) {
  return core::hash_combine(type_hash(type, from), static_cast<std::uint64_t>(to) + 2);
}

}  // namespace soapstone::runtime
