// The text of rules for blocks.
#include "transforms/pack/wide_operator.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "transforms/base/source_text.h"
#include "transforms/pack/blocks.h"

namespace soapstone::transforms {
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

std::string reshape_line(const std::string& name, const std::string& from, const Texts& shape) {
  return fmt::format("    {} = reshape({}; shape=[{}])\n", name, from, list_of(shape));
}
std::string split(const Texts& names, const std::string& from, std::size_t axis,
                  const Texts& sizes) {
  return fmt::format("    {} = split({}; axis={}, sizes=[{}])\n", list_of(names), from, axis,
                     list_of(sizes));
}
std::string concat(const std::string& name, const Texts& parts, std::size_t axis) {
  return fmt::format("    {} = concat({}; axis={})\n", name, list_of(parts), axis);
}

/// A row as the text of rules: sizes, and how it becomes one tensor and is made of one.
class RowText {
 public:
  RowText(const Graph& graph, const SizeTexts& sizes, const Row& row)
      : graph_(graph), sizes_(sizes), row_(row) {}

  /// Of one group. Those of several are numbers: from a product of two sizes a match cannot tell
  /// either.
  std::string width(std::size_t i) const {
    const std::int64_t length = graph_.tensor(row_.tensors[i]).type.shape[row_.axis].constant();
    return row_.groups == 1 ? sizes_.size(length) : std::to_string(length / row_.groups);
  }
  std::string length(std::size_t i) const { return of_all_groups(width(i)); }
  Texts shape(std::size_t i) const {
    Texts shape = sizes_.shape(row_.tensors[i]);
    shape[row_.axis] = length(i);
    return shape;
  }
  std::string declared(std::size_t i) const { return sizes_.declared(row_.tensors[i], shape(i)); }
  Texts widths() const {
    Texts all;
    for (std::size_t i = 0; i < row_.tensors.size(); ++i) all.push_back(width(i));
    return all;
  }
  std::string whole_length() const {
    const std::string sum = SizeTexts::sum(widths());
    return of_all_groups(row_.groups > 1 && row_.tensors.size() > 1 ? "(" + sum + ")" : sum);
  }
  Texts whole_shape() const { return with(shape(0), whole_length()); }
  std::string declared_whole() const { return sizes_.declared(row_.tensors[0], whole_shape()); }

  /// Lines that make these names the tensors of a row.
  std::string parted(const std::string& whole, const Texts& names) const {
    if (row_.groups == 1) return split(names, whole, row_.axis, widths());
    const Texts parts = numbered(whole + "g", names.size());
    std::string lines =
        reshape_line(whole + "g", whole, in_groups(shape(0), SizeTexts::sum(widths())));
    lines += split(parts, whole + "g", row_.axis + 1, widths());
    for (std::size_t i = 0; i < names.size(); ++i)
      lines += reshape_line(names[i], parts[i], shape(i));
    return lines;
  }

  /// Lines that make the whole of these names, of tensors with this shape but for groups that are
  /// so wide.
  std::string joined(const std::string& whole, const Texts& names, const Texts& shape,
                     const Texts& widths) const {
    if (row_.groups == 1) return concat(whole, names, row_.axis);
    const Texts parts = numbered(whole + "g", names.size());
    std::string lines;
    for (std::size_t i = 0; i < names.size(); ++i)
      lines += reshape_line(parts[i], names[i], in_groups(shape, widths[i]));
    lines += concat(whole + "g", parts, row_.axis + 1);
    const std::string sum = of_all_groups("(" + SizeTexts::sum(widths) + ")");
    return lines + reshape_line(whole, whole + "g", with(shape, sum));
  }

 private:
  std::string of_all_groups(const std::string& width) const {
    return row_.groups == 1 ? width : fmt::format("{}*{}", row_.groups, width);
  }
  Texts with(Texts shape, const std::string& length) const {
    shape[row_.axis] = length;
    return shape;
  }
  /// With a dimension for the groups in front of the axis.
  Texts in_groups(const Texts& shape, const std::string& width) const {
    Texts grouped = with(shape, width);
    grouped.insert(grouped.begin() + static_cast<std::ptrdiff_t>(row_.axis),
                   std::to_string(row_.groups));
    return grouped;
  }

  const Graph& graph_;
  const SizeTexts& sizes_;
  const Row& row_;
};

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
    for (std::size_t i = 0; i < count; ++i) source_ += line(results[i], i, read[i]);
    if (count == 1) {
      target_ += line("y1", std::nullopt, wide);
      return rule(node_, head_, source_, target_);
    }
    target_ += line("y", std::nullopt, wide);
    target_ += RowText(graph_, sizes_, results_).parted("y", results);
    return rule(node_, head_, source_, target_);
  }

  std::string in_steps(std::size_t i) {
    const RowText operand(graph_, sizes_, form_.operands[0].row);
    const std::string head = fmt::format("  a: {}\n", operand.declared(i));
    return rule(node_, head, fmt::format("    y = {}\n", call(i, {"a"})), line("y", i, {"a"}));
  }

 private:
  /// What that sibling computes, or all; a reshape of groups by way of a shape that parts them.
  std::string line(const std::string& result, std::optional<std::size_t> i,
                   const Texts& operands) const {
    if (form_.channels_of_group == 1)
      return fmt::format("    {} = {}\n", result, call(i, operands));
    const Row& operand = form_.operands[0].row;
    const Texts behind = sizes_.shape(operand.tensors[0]);
    const RowText row(graph_, sizes_, results_);
    Texts shape = i ? row.shape(*i) : row.whole_shape();
    shape.resize(results_.axis + 1);
    shape.push_back(std::to_string(form_.channels_of_group));
    shape.insert(shape.end(), behind.begin() + offset(operand.axis + 1), behind.end());
    const std::string apart = result + "m";
    return reshape_line(apart, operands[0], shape) +
           fmt::format("    {} = {}\n", result, call(i, {apart}));
  }

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
    const RowText row(graph_, sizes_, operand.row);
    if (operand.is_whole) {
      head_ += fmt::format("  {}: {}\n", name, row.declared_whole());
      source_ += row.parted(name, blocks);
      return name;
    }
    Texts parts;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      head_ += fmt::format("  {}: {}\n", blocks[i], row.declared(i));
      parts.push_back(part(operand, row, blocks[i], i));
    }
    if (parts.size() == 1) return parts[0];
    Texts shape = row.shape(0);
    if (operand.kind == Kind::kWeights)
      shape[operand.summed_axis] = RowText(graph_, sizes_, summed().row).whole_length();
    const Row& wide = operand.kind == Kind::kRepeated ? results_ : operand.row;
    target_ += row.joined(name, parts, shape, RowText(graph_, sizes_, wide).widths());
    return name;
  }

  /// One block as it stands in the whole; its name.
  std::string part(const WideOperand& operand, const RowText& row, const std::string& block,
                   std::size_t i) {
    Texts shape = row.shape(i);
    const std::string name = block + "p";
    if (operand.kind == Kind::kRepeated) {
      shape[operand.row.axis] = RowText(graph_, sizes_, results_).length(i);
      target_ += fmt::format("    {} = expand({}; shape=[{}])\n", name, block, list_of(shape));
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

  /// The operator of that sibling, or of all.
  std::string call(std::optional<std::size_t> i, Texts operands) const {
    const Node& node = sibling(i.value_or(0));
    while (!operands.empty() && operands.back() == "_") operands.pop_back();
    Texts attributes;
    for (const core::AttributeSchema& schema : node.op->attributes) {
      const core::AttributeValue* const value = node.attributes.find(schema.name);
      if (value != nullptr)
        attributes.push_back(fmt::format("{}={}", schema.name, attribute(schema, *value, i)));
    }
    return fmt::format("{}({}{}{})", node.op->name, list_of(operands),
                       attributes.empty() ? "" : "; ", list_of(attributes));
  }

  std::string attribute(const core::AttributeSchema& schema, const core::AttributeValue& value,
                        std::optional<std::size_t> i) const {
    const RowText row(graph_, sizes_, results_);
    if (schema.role == AttributeRole::kShape) {
      Texts shape;
      for (const Polynomial& n : std::get<std::vector<Polynomial>>(value))
        shape.push_back(sizes_.size(n.constant()));
      shape[results_.axis] = i ? row.length(*i) : row.whole_length();
      return fmt::format("[{}]", list_of(shape));
    }
    if (schema.role == AttributeRole::kGroup && !i && form_.adds_groups) {
      std::int64_t groups = 0;
      for (std::size_t k = 0; k < results_.tensors.size(); ++k)
        groups += sibling(k).attributes.get_int(schema.name);
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

std::string reshape_in_steps(const Graph& graph, const Row& results, const WideForm& form,
                             std::size_t sibling) {
  return WideOperator(graph, results, form, false).in_steps(sibling);
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
    const RowText text(graph, sizes, blocks);
    head += fmt::format("  {}: {}\n", name, text.declared_whole());
    source += text.parted(name, names);
    parts.insert(parts.end(), names.begin(), names.end());
    ++row;
  }
  source += concat("y", parts, axis);
  return rule(join, head, source,
              wholes.size() == 1 ? fmt::format("    y = {}\n", wholes[0])
                                 : concat("y", wholes, axis));
}

}  // namespace soapstone::transforms
