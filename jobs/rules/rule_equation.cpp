// See rule_equation.h.
#include "jobs/rules/rule_equation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "core/text/text.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

class Side {
 public:
  explicit Side(const Graph& graph) : graph_(graph) {}

  std::string text() const {
    std::vector<std::string> results;
    for (TensorId id : graph_.outputs()) results.push_back(term(id));
    if (results.size() == 1) return results[0];
    // All parts of one split are written as the split.
    if (const Node* whole = split_into(graph_.outputs())) return call(*whole);
    return fmt::format("({})", fmt::join(results, ", "));
  }

 private:
  const Node* split_into(std::span<const TensorId> results) const {
    const core::NodeId producer = graph_.tensor(results[0]).producer;
    if (!producer.valid()) return nullptr;
    const Node& node = graph_.node(producer);
    return std::ranges::equal(node.outputs, results) ? &node : nullptr;
  }

  std::string term(TensorId id) const {
    const core::Tensor& tensor = graph_.tensor(id);
    if (tensor.value) {
      if (tensor.value->count() == 1) return fmt::format("{:g}", tensor.value->to_doubles()[0]);
      return tensor.name;
    }
    if (!tensor.producer.valid()) return tensor.name;
    const Node& node = graph_.node(tensor.producer);
    if (node.outputs.size() == 1) return call(node);
    return fmt::format("{}[{}]", call(node), tensor.output_index);
  }

  std::string call(const Node& node) const {
    std::vector<std::string> arguments;
    for (TensorId id : node.inputs) arguments.push_back(id.valid() ? term(id) : "_");
    std::vector<std::string> attributes;
    for (const auto& [name, value] : node.attributes.values()) {
      const auto* schema = node.op->find_attribute(name);
      if (schema && schema->default_value == value) continue;
      attributes.push_back(fmt::format("{}={}", name, core::to_string(value, graph_.symbols())));
    }
    const char* separator = arguments.empty() || attributes.empty() ? "" : "; ";
    return fmt::format("{}({}{}{})", node.op->name, fmt::join(arguments, ", "), separator,
                       fmt::join(attributes, ", "));
  }

  const Graph& graph_;
};

}  // namespace

std::string equation_text(const rules::Rule& rule) {
  return fmt::format("{} = {}", Side(rule.source).text(), Side(rule.target).text());
}

}  // namespace soapstone::jobs
