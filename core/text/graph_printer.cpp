// Writes a graph as text: inputs, constants in the order of their first use, nodes, outputs.
// Every tensor gets a name that no other has; those that have one keep it if it is the first.
#include <set>

#include "core/text/literal_text.h"
#include "core/text/statements.h"
#include "core/text/text.h"

namespace soapstone::core {
namespace {

class GraphPrinter {
 public:
  GraphPrinter(const Graph& graph, const PrintOptions& options)
      : graph_(graph), options_(options), names_(graph.tensor_bound()) {}

  std::string run() {
    order_tensors();
    choose_names();
    std::string body;
    for (TensorId id : graph_.inputs()) body += line(name(id) + ": " + type(id));
    for (TensorId id : constants_) body += line(constant(id));
    for (NodeId id : graph_.order()) body += line(node(id));
    std::string outputs;
    for (TensorId id : graph_.outputs()) outputs += (outputs.empty() ? " " : ", ") + name(id);
    body += line("return" + outputs);
    const std::string title = graph_.name().empty() ? "" : " " + quote_name(graph_.name());
    return "graph" + title + "\n" + symbols() + body;
  }

 private:
  static std::string line(const std::string& text) { return "  " + text + "\n"; }

  const std::string& name(TensorId id) const { return names_[id.index()]; }

  /// Lists constants, and all tensors in the order in which the text mentions them.
  void order_tensors() {
    std::vector<bool> seen(graph_.tensor_bound());
    const auto use = [&](TensorId id) {
      if (!id.valid() || !graph_.tensor(id).value || seen[id.index()]) return;
      seen[id.index()] = true;
      constants_.push_back(id);
    };
    for (NodeId id : graph_.order()) {
      for (TensorId input : graph_.node(id).inputs) use(input);
    }
    for (TensorId output : graph_.outputs()) use(output);
    tensors_.assign(graph_.inputs().begin(), graph_.inputs().end());
    tensors_.insert(tensors_.end(), constants_.begin(), constants_.end());
    for (NodeId id : graph_.order()) {
      const auto& outputs = graph_.node(id).outputs;
      tensors_.insert(tensors_.end(), outputs.begin(), outputs.end());
    }
  }

  void choose_names() {
    std::set<std::string, std::less<>> taken;
    std::vector<TensorId> unnamed;
    for (TensorId id : tensors_) {
      const std::string& wanted = graph_.tensor(id).name;
      if (wanted.empty() || !taken.insert(wanted).second) {
        unnamed.push_back(id);
      } else {
        names_[id.index()] = quote_name(wanted);
      }
    }
    std::size_t next = 0;
    for (TensorId id : unnamed) {
      std::string fresh;
      do {
        fresh = "t" + std::to_string(next++);
      } while (!taken.insert(fresh).second);
      names_[id.index()] = fresh;
    }
  }

  std::string type(TensorId id) {
    const TensorType& type = graph_.tensor(id).type;
    const std::string data_type(to_string(type.data_type));
    if (!type.shape_known) return data_type + "[?]";
    for (const Size& size : type.shape) note_symbols(size);
    return data_type + to_string(type.shape, graph_.symbols());
  }

  std::string constant(TensorId id) {
    const Literal& value = *graph_.tensor(id).value;
    std::string text = name(id) + ": " + type(id) + " = ";
    if (value.count() <= options_.inline_constants_up_to) {
      if (const auto values = literal_values(value)) {
        std::string list;
        for (const std::string& element : *values) list += (list.empty() ? "" : ", ") + element;
        return text + "{" + list + "}";
      }
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    text += "constant 0x";
    for (int shift = 60; shift >= 0; shift -= 4) text += kHex[(value.hash() >> shift) & 15];
    return text;
  }

  std::string node(NodeId id) {
    const Node& node = graph_.node(id);
    // A type that the reader of the text cannot infer is part of the text.
    bool inferable = !node.op->is_opaque();
    std::vector<std::string> operands;
    for (TensorId input : node.inputs) {
      inferable = inferable && (!input.valid() || graph_.tensor(input).type.shape_known);
      operands.push_back(input.valid() ? name(input) : "_");
    }
    std::string results, comment;
    for (TensorId output : node.outputs) {
      if (!results.empty()) results += ", ";
      results += name(output);
      if (!inferable) {
        results += ": " + type(output);
      } else if (options_.show_types) {
        comment += (comment.empty() ? "  # " : ", ") + type_comment(output);
      }
    }
    for (const auto& [key, value] : node.attributes.values()) {
      const AttributeSchema* schema = node.op->find_attribute(key);
      if (!schema || schema->default_value != value) note_symbols(value);
    }
    std::string text =
        results + " = " + node_text(*node.op, node.attributes, operands, graph_.symbols());
    if (!node.name.empty()) text += " @" + quote_name(node.name);
    return text + comment;
  }

  std::string type_comment(TensorId id) const {
    const TensorType& type = graph_.tensor(id).type;
    return std::string(to_string(type.data_type)) +
           (type.shape_known ? to_string(type.shape, graph_.symbols()) : "[?]");
  }

  /// Symbols in the order in which a reader of the text meets them.
  void note_symbols(const Polynomial& value) {
    for (const auto& term : value.terms()) {
      for (Symbol symbol : term.monomial) met_.intern(graph_.symbols().name(symbol));
    }
  }
  void note_symbols(const AttributeValue& value) {
    if (const auto* number = std::get_if<Polynomial>(&value)) note_symbols(*number);
    if (const auto* list = std::get_if<std::vector<Polynomial>>(&value)) {
      for (const Polynomial& number : *list) note_symbols(number);
    }
  }

  /// Their numbers order the terms of sizes, so reading must give each the number it has here.
  std::string symbols() const {
    if (met_ == graph_.symbols()) return {};
    std::string list;
    for (std::uint32_t i = 0; i < graph_.symbols().size(); ++i) {
      list += (i ? ", " : " ") + quote_symbol(graph_.symbols().name(Symbol{i}));
    }
    return line("symbols" + list);
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::vector<TensorId> constants_, tensors_;
  std::vector<std::string> names_;  // by tensor, as written
  SymbolTable met_;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  return GraphPrinter(graph, options).run();
}

}  // namespace soapstone::core
