// Writes one rule instance such that it is read back the same. Rules that were not read from text
// may have tensors without names; these get some.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/syntax/lexer.h"
#include "core/text/literal_text.h"
#include "core/text/statements.h"
#include "rules/rule/constraints.h"
#include "rules/text/evidence.h"

namespace soapstone::rules {
namespace {

using core::Polynomial;
using core::Symbol;

class RulePrinter {
 public:
  explicit RulePrinter(const Rule& rule)
      : rule_(rule), source_names_(rule.source.tensor_bound()),
        target_names_(rule.target.tensor_bound()) {}

  std::string run() {
    choose_names();
    std::string body = inputs() + constants(rule_.source, source_names_);
    body += constants(rule_.target, target_names_) + where() + choices() + results() +
            (rule_.is_placed ? line("placed") : "");
    body += line("source") + nodes(rule_.source, source_names_);
    body += line("target") + nodes(rule_.target, target_names_) + aliases();
    const std::string comment = rule_.description.empty() ? "" : "# " + rule_.description + "\n";
    const std::string text = "rule " + core::quote_name(rule_.name) + "\n" + symbols() + body;
    const std::string evidence =
        to_string(EvidenceLine{rule_.evidence, rule_.floats, rule_.types, rule_.edges}, text);
    return comment + text + (evidence.empty() ? "" : line(evidence));
  }

 private:
  using Names = std::vector<std::string>;

  static std::string line(const std::string& text) { return "  " + text + "\n"; }

  // Names. Results have one name on both sides; no other name is on both but the inputs'.

  void choose_names() {
    for (std::size_t k = 0; k < rule_.source.inputs().size(); ++k) {
      const TensorId id = rule_.source.inputs()[k];
      const std::string name = fresh(rule_.source.tensor(id).name, "x");
      source_names_[id.index()] = target_names_[rule_.target.inputs()[k].index()] = name;
    }
    name_constants(rule_.source, source_names_);
    name_constants(rule_.target, target_names_);
    for (TensorId id : rule_.source.outputs())
      if (source_names_[id.index()].empty())
        source_names_[id.index()] = fresh(rule_.source.tensor(id).name, "y");
    name_results(rule_.source, source_names_);
    // A target result that is no input takes its name from the source; so does only one result.
    for (std::size_t k = 0; k < rule_.target.outputs().size(); ++k) {
      std::string& name = target_names_[rule_.target.outputs()[k].index()];
      if (name.empty()) name = source_names_[rule_.source.outputs()[k].index()];
    }
    name_results(rule_.target, target_names_);
  }

  std::string fresh(const std::string& wanted, const std::string& stem) {
    if (!wanted.empty() && taken_.insert(wanted).second) return core::quote_name(wanted);
    for (std::size_t k = 0;; ++k) {
      std::string name = stem + std::to_string(k);
      if (taken_.insert(name).second) return name;
    }
  }

  void name_constants(const Graph& side, Names& names) {
    for (NodeId id : side.order())
      for (TensorId input : side.node(id).inputs) name_constant(side, names, input);
    for (TensorId output : side.outputs()) name_constant(side, names, output);
  }

  /// A constant that the source has already is declared once.
  void name_constant(const Graph& side, Names& names, TensorId id) {
    if (!id.valid() || !side.tensor(id).value || !names[id.index()].empty()) return;
    const auto known = std::ranges::find_if(
        literals_, [&](const auto& entry) { return *entry.first == *side.tensor(id).value; });
    if (known != literals_.end()) {
      names[id.index()] = known->second;
      return;
    }
    names[id.index()] = fresh(side.tensor(id).name, "c");
    literals_.emplace_back(side.tensor(id).value, names[id.index()]);
  }

  void name_results(const Graph& side, Names& names) {
    for (NodeId id : side.order())
      for (TensorId output : side.node(id).outputs)
        if (names[output.index()].empty())
          names[output.index()] = fresh(side.tensor(output).name, "t");
  }

  // Statements.

  std::string inputs() {
    std::string text;
    for (std::size_t k = 0; k < rule_.source.inputs().size(); ++k) {
      const TensorId id = rule_.source.inputs()[k];
      const core::TensorType& type = rule_.source.tensor(id).type;
      for (const core::Size& size : type.shape) note(size);
      const bool any = type.data_type == core::DataType::kFloat32;
      text += line(source_names_[id.index()] + ": " +
                   (any ? "" : std::string(core::to_string(type.data_type))) +
                   core::to_string(type.shape, table()) +
                   (rule_.constant_inputs[k] ? " constant" : ""));
    }
    return text;
  }

  std::string constants(const Graph& side, const Names& names) {
    std::string text;
    for (TensorId id : constants_of(side)) {
      const core::Literal& value = *side.tensor(id).value;
      if (!declared_.insert(names[id.index()]).second) continue;
      std::string elements;
      for (const std::string& e : core::literal_values(value).value_or(std::vector<std::string>()))
        elements += (elements.empty() ? "" : ", ") + e;
      const bool f32 = value.data_type() == core::DataType::kFloat32;
      text += line(names[id.index()] + ": " +
                   (f32 ? "" : std::string(core::to_string(value.data_type()))) +
                   core::to_string(value.dims()) + " = {" + elements + "}");
    }
    return text;
  }

  static std::vector<TensorId> constants_of(const Graph& side) {
    std::vector<TensorId> ids;
    const auto add = [&](TensorId id) {
      if (id.valid() && side.tensor(id).value && std::ranges::find(ids, id) == ids.end())
        ids.push_back(id);
    };
    for (NodeId node : side.order()) std::ranges::for_each(side.node(node).inputs, add);
    std::ranges::for_each(side.outputs(), add);
    return ids;
  }

  std::string where() {
    std::string text;
    for (const ops::SizeConstraint& c : rule_.guard) {
      if (c.label != kStatedLabel) continue;
      note(c.expression);
      text += line("where " + to_string(c, table()));
    }
    return text;
  }

  std::string choices() {
    std::string text;
    for (const ChosenSize& chosen : chosen_sizes(rule_.guard)) {
      note(Polynomial(chosen.symbol));
      note(chosen.low);
      note(chosen.high);
      text += line("choose " + core::quote_symbol(table().name(chosen.symbol)) + " in " +
                   chosen.low.to_string(table()) + " .. " + chosen.high.to_string(table()));
    }
    return text;
  }

  /// A result that a node reads as well would be taken for a name used twice.
  std::string results() const {
    const auto is_read = [](const Graph& side, TensorId id) {
      return std::ranges::any_of(side.order(), [&](NodeId node) {
        return std::ranges::find(side.node(node).inputs, id) != side.node(node).inputs.end();
      });
    };
    std::string list;
    bool needed = false;
    for (std::size_t k = 0; k < rule_.source.outputs().size(); ++k) {
      const TensorId source = rule_.source.outputs()[k], target = rule_.target.outputs()[k];
      list += (list.empty() ? "" : ", ") + source_names_[source.index()];
      const bool by_name = target_names_[target.index()] == source_names_[source.index()] &&
                           is_read(rule_.target, target);
      needed = needed || is_read(rule_.source, source) || by_name;
    }
    return needed ? line("results " + list) : "";
  }

  std::string nodes(const Graph& side, const Names& names) {
    std::string text;
    for (NodeId id : side.order()) {
      const core::Node& node = side.node(id);
      std::vector<std::string> operands;
      for (TensorId input : node.inputs)
        operands.push_back(input.valid() ? names[input.index()] : "_");
      std::string results;
      for (TensorId output : node.outputs)
        results += (results.empty() ? "" : ", ") + names[output.index()];
      for (const auto& [key, value] : node.attributes.values()) {
        const core::AttributeSchema* schema = node.op->find_attribute(key);
        if (!schema || schema->default_value != value) note(value);
      }
      text += "  " +
              line(results + " = " + core::node_text(*node.op, node.attributes, operands, table()));
    }
    return text;
  }

  /// Results of the target that are inputs, constants or another result.
  std::string aliases() const {
    std::string text;
    for (std::size_t k = 0; k < rule_.target.outputs().size(); ++k) {
      const std::string& result = source_names_[rule_.source.outputs()[k].index()];
      const std::string& value = target_names_[rule_.target.outputs()[k].index()];
      if (result != value) text += fmt::format("  {}", line(fmt::format("{} = {}", result, value)));
    }
    return text;
  }

  // Symbols, in the order in which a reader of the text meets them.

  const core::SymbolTable& table() const { return rule_.source.symbols(); }

  void note(const Polynomial& p) {
    for (const auto& term : p.terms())
      for (Symbol s : term.monomial) met_.intern(table().name(s));
  }
  void note(const core::AttributeValue& value) {
    if (const auto* p = std::get_if<Polynomial>(&value)) note(*p);
    if (const auto* list = std::get_if<std::vector<Polynomial>>(&value))
      for (const Polynomial& element : *list) note(element);
  }

  /// Needed where reading would number the symbols differently.
  std::string symbols() const {
    std::string list;
    bool same = true;
    const std::size_t count = table().size() - rule_.derived.size();
    for (std::uint32_t s = 0; s < count; ++s) {
      const std::string& name = table().name(Symbol{s});
      list += (list.empty() ? "" : ", ") + core::quote_symbol(name);
      same = same && s < met_.size() && met_.name(Symbol{s}) == name;
    }
    return same ? "" : line("symbols " + list);
  }

  const Rule& rule_;
  Names source_names_, target_names_;
  std::set<std::string> taken_, declared_;
  std::vector<std::pair<core::LiteralPtr, std::string>> literals_;
  core::SymbolTable met_;
};

}  // namespace

std::string print(const Rule& rule) { return RulePrinter(rule).run(); }

}  // namespace soapstone::rules
