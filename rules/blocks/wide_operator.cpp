// The text of rules for blocks.
#include "rules/blocks/wide_operator.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "rules/blocks/blocks.h"
#include "rules/rule/source_text.h"

namespace soapstone::rules {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;
using core::Polynomial;
using Kind = WideOperand::Kind;
/// `NAME1, NAME2, …`
Texts numbered(const std::string& name, std::size_t count) {
  Texts names;
  for (std::size_t k = 1; k <= count; ++k) names.push_back(fmt::format("{}{}", name, k));
  return names;
}

std::string rule(const Node& node, const std::string& head, const std::string& source,
                 const std::string& target) {
  return fmt::format("rule {}{}\n{}  placed\n  source\n{}  target\n{}", kBlocksPrefix,
                     node.op->name, head, source, target);
}

class WideOperator {
 public:
  WideOperator(const Graph& graph, const Row& results, const WideForm& form, bool any_sizes)
      : graph_(graph), results_(results), form_(form), sizes_(graph, any_sizes), node_(sibling(0)) {
  }

  std::string text() {
    const std::size_t count = results_.tensors.size();
    std::vector<Texts> read(count);  // by sibling
    Texts wide;
    for (std::size_t k = 0; k < form_.operands.size(); ++k)
      wide.push_back(add(form_.operands[k], std::string(1, static_cast<char>('a' + k)), read));
    const Texts results = numbered("y", count);
    for (std::size_t i = 0; i < count; ++i)
      source_ += fmt::format("    {} = {}\n", results[i], call(sibling(i), read[i], false));
    if (count == 1) {
      target_ += fmt::format("    y1 = {}\n", call(node_, wide, true));
      return rule(node_, head_, source_, target_);
    }
    target_ += fmt::format("    y = {}\n", call(node_, wide, true));
    target_ += fmt::format("    {} = split(y; axis={}, sizes=[{}])\n", list_of(results),
                           results_.axis, list_of(sizes_.along(results_.tensors, results_.axis)));
    return rule(node_, head_, source_, target_);
  }

 private:
  const Node& sibling(std::size_t i) const {
    return graph_.node(graph_.tensor(results_.tensors[i]).producer);
  }

  /// Declares an operand, and what each sibling reads of it; its name for the wide operator.
  std::string add(const WideOperand& operand, const std::string& name, std::vector<Texts>& read) {
    const auto read_by_all = [&](const auto& what) {
      for (std::size_t i = 0; i < read.size(); ++i) read[i].push_back(what(i));
    };
    if (operand.kind == Kind::kMissing) {
      read_by_all([](std::size_t) { return "_"; });
      return "_";
    }
    if (operand.kind == Kind::kShared) {
      const TensorId id = operand.row.tensors[0];
      head_ += fmt::format("  {}: {}\n", name, sizes_.declared(id));
      read_by_all([&](std::size_t) { return name; });
      return name;
    }
    const Texts blocks = numbered(name, operand.row.tensors.size());
    read_by_all([&](std::size_t i) {
      return blocks[operand.kind == Kind::kSummed ? operand.blocks[i] : i];
    });
    if (operand.is_whole) {
      head_ += fmt::format("  {}: {}\n", name,
                           sizes_.declared_whole(operand.row.tensors, operand.row.axis));
      source_ += fmt::format("    {} = split({}; axis={}, sizes=[{}])\n", list_of(blocks), name,
                             operand.row.axis,
                             list_of(sizes_.along(operand.row.tensors, operand.row.axis)));
      return name;
    }
    Texts parts;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const TensorId id = operand.row.tensors[i];
      head_ += fmt::format("  {}: {}\n", blocks[i], sizes_.declared(id));
      parts.push_back(part(operand, blocks[i], i));
    }
    if (parts.size() == 1) return parts[0];
    target_ +=
        fmt::format("    {} = concat({}; axis={})\n", name, list_of(parts), operand.row.axis);
    return name;
  }

  /// One block as it stands in the whole; its name.
  std::string part(const WideOperand& operand, const std::string& block, std::size_t i) {
    const Texts shape = sizes_.shape(operand.row.tensors[i]);
    const std::string name = block + "p";
    if (operand.kind == Kind::kRepeated) {
      Texts repeated = shape;
      repeated[operand.row.axis] = sizes_.size(results_.tensors[i], results_.axis);
      target_ += fmt::format("    {} = expand({}; shape=[{}])\n", name, block, list_of(repeated));
      return name;
    }
    if (operand.kind != Kind::kWeights) return block;
    const WideOperand& data = summed();
    Texts before = sizes_.along(data.row.tensors, data.row.axis);
    Texts after(before.begin() + offset(data.blocks[i] + 1), before.end());
    before.resize(data.blocks[i]);
    Texts pads(2 * shape.size(), "0");
    pads[operand.summed_axis] = SizeTexts::sum(before);
    pads[shape.size() + operand.summed_axis] = SizeTexts::sum(after);
    target_ += fmt::format("    {} = pad({}; pads=[{}])\n", name, block, list_of(pads));
    return name;
  }
  const WideOperand& summed() const {
    return *std::ranges::find(form_.operands, Kind::kSummed, &WideOperand::kind);
  }
  static std::ptrdiff_t offset(std::size_t k) { return static_cast<std::ptrdiff_t>(k); }

  /// The operator of a sibling, or of all.
  std::string call(const Node& node, Texts operands, bool of_all) const {
    while (!operands.empty() && operands.back() == "_") operands.pop_back();
    Texts attributes;
    for (const core::AttributeSchema& schema : node.op->attributes) {
      const core::AttributeValue* const value = node.attributes.find(schema.name);
      if (value != nullptr)
        attributes.push_back(fmt::format("{}={}", schema.name, attribute(schema, *value, of_all)));
    }
    return fmt::format("{}({}{}{})", node.op->name, list_of(operands),
                       attributes.empty() ? "" : "; ", list_of(attributes));
  }

  std::string attribute(const core::AttributeSchema& schema, const core::AttributeValue& value,
                        bool of_all) const {
    if (schema.role == AttributeRole::kShape) {
      Texts shape;
      for (const Polynomial& n : std::get<std::vector<Polynomial>>(value))
        shape.push_back(sizes_.size(n.constant()));
      if (of_all)
        shape[results_.axis] = SizeTexts::sum(sizes_.along(results_.tensors, results_.axis));
      return fmt::format("[{}]", list_of(shape));
    }
    if (schema.role == AttributeRole::kGroup && of_all && form_.adds_groups) {
      std::int64_t groups = 0;
      for (std::size_t i = 0; i < results_.tensors.size(); ++i)
        groups += sibling(i).attributes.get_int(schema.name);
      return std::to_string(groups);
    }
    return core::to_string(value, graph_.symbols());
  }

  const Graph& graph_;
  const Row& results_;
  const WideForm& form_;
  SizeTexts sizes_;
  const Node& node_;
  std::string head_, source_, target_;
};

}  // namespace

std::string wide_operator(const Graph& graph, const Row& results, const WideForm& form,
                          bool any_sizes) {
  return WideOperator(graph, results, form, any_sizes).text();
}

std::string wide_join(const Graph& graph, const Node& join, const std::vector<RowOfJoin>& rows,
                      bool any_sizes) {
  const SizeTexts sizes(graph, any_sizes);
  const std::size_t axis = ops::axis_by_role(join);
  std::string head, source;
  Texts parts, wholes;
  auto row = rows.begin();
  for (std::size_t k = 0; k < join.inputs.size();) {
    const std::string name = fmt::format("u{}", k);
    wholes.push_back(name);
    if (row == rows.end() || row->first != k) {
      head += fmt::format("  {}: {}\n", name, sizes.declared(join.inputs[k]));
      parts.push_back(name);
      ++k;
      continue;
    }
    Row blocks{{}, axis};
    for (; k < row->end(); ++k) blocks.tensors.push_back(join.inputs[k]);
    const Texts names = numbered(name + "p", blocks.tensors.size());
    head += fmt::format("  {}: {}\n", name, sizes.declared_whole(blocks.tensors, blocks.axis));
    source += fmt::format("    {} = split({}; axis={}, sizes=[{}])\n", list_of(names), name, axis,
                          list_of(sizes.along(blocks.tensors, blocks.axis)));
    parts.insert(parts.end(), names.begin(), names.end());
    ++row;
  }
  source += fmt::format("    y = concat({}; axis={})\n", list_of(parts), axis);
  const std::string target =
      wholes.size() == 1 ? fmt::format("    y = {}\n", wholes[0])
                         : fmt::format("    y = concat({}; axis={})\n", list_of(wholes), axis);
  return rule(join, head, source, target);
}

}  // namespace soapstone::rules
