// Everything is written as text, so that what a rule is and whether its types fit is decided in one
// place, the parser of rules.
#include "transforms/pack/lifted_operator.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "ops/definition/op_definition.h"
#include "ops/parts/einsum_equation.h"
#include "transforms/base/source_text.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::AttributeValue;
using core::Movement;
using core::Polynomial;
using ops::OpClass;

class LiftedOperator {
 public:
  explicit LiftedOperator(const Lifting& lifting)
      : lifting_(lifting), node_(lifting.node),
        op_(static_cast<const ops::OpDefinition&>(*node_.op)),
        count_(std::to_string(lifting.count)) {}

  bool sizes_are_known() const {
    const auto known = [&](core::TensorId id) {
      return !id.valid() || std::ranges::all_of(type(id).shape, [](const Polynomial& n) {
        return n.is_constant();
      });
    };
    return std::ranges::all_of(node_.inputs, known) && std::ranges::all_of(node_.outputs, known);
  }

  std::optional<std::string> on_batch() {
    const auto before = attributes(false), after = attributes(true);
    if (!after || !has_place_for_items()) return std::nullopt;
    Texts operands;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) operands.push_back(lift_operand(k));
    source_ += fmt::format("    each i in 1..{}  y{{i}} = {}({}{})\n", count_, op_.name,
                           fmt::join(item_operands_, ", "), *before);
    target_ += fmt::format("    y = {}({}{})\n", op_.name, fmt::join(operands, ", "), *after);
    target_ += parted();
    return text();
  }

  /// Whether it has factors and offsets along its axis of which each sibling has its own.
  bool has_features_of_items() const {
    for (std::size_t k = 1; k < node_.inputs.size(); ++k)
      if (node_.inputs[k].valid() && op_.operand_role(k) == core::OperandRole::kFeatures &&
          lifting_.sources[k] != Source::kShared)
        return true;
    return false;
  }

  /// A norm whose factors and offsets differ, which are applied behind a norm without any.
  std::optional<std::string> norm_on_batch() {
    const bool lifts_data = lifting_.sources[0] != Source::kShared;
    const auto before = attributes(false), after = attributes(lifts_data);
    if (!after) return std::nullopt;
    const std::string data = lift_operand(0);
    Texts steps;
    for (std::size_t k = 1; k < node_.inputs.size(); ++k) steps.push_back(lift_operand(k));
    source_ += fmt::format("    each i in 1..{}  y{{i}} = {}({}{})\n", count_, op_.name,
                           fmt::join(item_operands_, ", "), *before);
    target_ += fmt::format("    one = full(; shape=[{}], value=1.0)\n    n = {}({}, one{})\n",
                           list(shape(node_.inputs[1])), op_.name, data, *after);
    const bool has_offset = steps.size() > 1 && steps[1] != "_";
    target_ += fmt::format("    {} = mul(n, {})\n", has_offset ? "m" : "y", steps[0]);
    if (has_offset) target_ += fmt::format("    y = add(m, {})\n", steps[1]);
    target_ += parted();
    return text();
  }

  std::optional<std::string> joined_in_groups() {
    const std::size_t axis = ops::axis_by_role(node_);
    Texts parts, whole;  // operands before and after
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      parts.push_back(fmt::format("u{}", k));
      head_ += fmt::format("  u{}: {}\n", k, declared(node_.inputs[k], any_shape(node_.inputs[k])));
    }
    std::size_t next = 0;
    for (const Run& run : lifting_.runs) {
      whole.insert(whole.end(), parts.begin() + offset(next), parts.begin() + offset(run.first));
      const Texts members(parts.begin() + offset(run.first), parts.begin() + offset(run.end()));
      whole.push_back(fmt::format("r{}", run.first));
      target_ += fmt::format("    {} = {}({}; axis={})\n", whole.back(), op_.name,
                             fmt::join(members, ", "), axis);
      next = run.end();
    }
    whole.insert(whole.end(), parts.begin() + offset(next), parts.end());
    source_ += fmt::format("    y = {}({}; axis={})\n", op_.name, fmt::join(parts, ", "), axis);
    target_ += fmt::format("    y = {}({}; axis={})\n", op_.name, fmt::join(whole, ", "), axis);
    return text();
  }

  std::optional<std::string> joined() {
    const std::size_t axis = ops::axis_by_role(node_);
    const Run& run = lifting_.runs.front();
    const Texts item = any_shape(node_.inputs[run.first]);
    const std::string count = std::to_string(run.count);
    Texts parts, lined_up;
    for (std::size_t k = 0; k < run.period; ++k) {
      const std::string name(1, letter(k));
      take_items(name, count, node_.inputs[run.first], item);
      target_ += fmt::format("    {0}s = reshape({0}; shape=[{1}])\n", name,
                             list(behind({count, "1"}, item)));
      lined_up.push_back(name + "s");
    }
    for (std::size_t i = 1; i <= run.count; ++i)
      for (std::size_t k = 0; k < run.period; ++k)
        parts.push_back(fmt::format("{}r{}", letter(k), i));
    source_ += fmt::format("    y = {}({}; axis={})\n", op_.name, fmt::join(parts, ", "), axis);
    std::string all = lined_up[0];
    if (run.period > 1) {
      all = "all";
      target_ += fmt::format("    all = concat({}; axis=1)\n", fmt::join(lined_up, ", "));
    }
    Texts result = item;
    result[axis] = fmt::format("{}*{}", run.count * run.period, item[axis]);
    if (axis > 0) {
      Texts order;
      for (std::size_t d = 2; d < item.size() + 2; ++d) {
        if (d == axis + 2) order.insert(order.end(), {"0", "1"});
        order.push_back(std::to_string(d));
      }
      target_ += fmt::format("    t = transpose({}; perm=[{}])\n", all, list(order));
      all = "t";
    }
    target_ += fmt::format("    y = reshape({}; shape=[{}])\n", all, list(result));
    return text();
  }

  /// Labels of the sum are those of its dimensions; an operand has none where it is repeated.
  std::optional<std::string> summed_products() {
    const Texts result = behind({count_}, shape(node_.outputs[0]));
    const std::string labels = std::string("abcdefghijklmnopqrstuvw").substr(0, result.size());
    Texts operands, equation;
    std::string rest = labels.substr(1);
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      const std::string name(1, letter(k));
      const Texts given =
          lifting_.sources[k] == Source::kShared ? shape(node_.inputs[k]) : lifted_shape(k, count_);
      if (given.size() > result.size()) return std::nullopt;
      head_ += fmt::format("  {}: {}\n", name, declared(node_.inputs[k], given));
      Texts kept;
      std::string own;
      for (std::size_t d = 0; d < given.size(); ++d) {
        const std::size_t place = result.size() - given.size() + d;
        if (given[d] != result[place]) continue;
        kept.push_back(given[d]);
        own += labels[place];
      }
      operands.push_back(name + "k");
      equation.push_back(own);
      std::erase_if(rest, [&](char label) { return own.find(label) != std::string::npos; });
      target_ += fmt::format("    {}k = reshape({}; shape=[{}])\n", name, name, list(kept));
    }
    if (!rest.empty()) return std::nullopt;
    const std::string text = fmt::format("{}->{}", fmt::join(equation, ","), labels.substr(1));
    const std::array ranks{equation[0].size(), equation[1].size()};
    source_ +=
        fmt::format("    t = {}(a, b)\n    y = reduce_sum(t; axes=[0], keep_dims=0)\n", op_.name);
    target_ += fmt::format("    y = einsum({}; equation=\"{}\")\n", list(operands),
                           ops::EinsumEquation::from_onnx(text, ranks)->to_string());
    return fmt::format("rule batch_of_products\n{}  placed\n  source\n{}  target\n{}", head_,
                       source_, target_);
  }

  std::optional<std::string> summed() {
    const Texts shape = any_shape(node_.inputs[0]);
    take_items(0, shape);
    Texts terms, others;
    for (const bool is_item : lifting_.items) {
      if (!is_item) {
        others.push_back(fmt::format("o{}", others.size() + 1));
        head_ += fmt::format("  {}: {}\n", others.back(), declared(node_.inputs[0], shape));
      }
      terms.push_back(is_item ? fmt::format("ar{}", terms.size() - others.size() + 1)
                              : others.back());
    }
    if (terms.empty()) terms.push_back(fmt::format("ar{{1..{}}}", count_));
    source_ += fmt::format("    y = {}({})\n", op_.name, list(terms));
    target_ +=
        fmt::format("    {} = reduce_sum(a; axes=[0], keep_dims=0)\n", others.empty() ? "y" : "s");
    if (!others.empty()) target_ += fmt::format("    y = {}({}, s)\n", op_.name, list(others));
    return text();
  }

 private:
  const core::TensorType& type(core::TensorId id) const { return lifting_.graph.tensor(id).type; }
  std::string size(const Polynomial& n) const {
    const std::int64_t value = n.constant();
    return value == 1 || !lifting_.any_sizes ? std::to_string(value) : fmt::format("d{}", value);
  }
  Texts shape(core::TensorId id) const {
    Texts sizes;
    for (const Polynomial& n : type(id).shape) sizes.push_back(size(n));
    return sizes;
  }
  /// The same where a size of 1 is a size like any other.
  Texts any_shape(core::TensorId id) const {
    Texts sizes = shape(id);
    if (lifting_.any_sizes) std::ranges::replace(sizes, "1", "d1");
    return sizes;
  }
  static std::string list(const Texts& sizes) { return fmt::format("{}", fmt::join(sizes, ", ")); }
  static Texts behind(Texts first, const Texts& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  }

  /// `f32[…]` for elements of no floating type.
  std::string declared(core::TensorId id, const Texts& sizes) const {
    const core::DataType of = type(id).data_type;
    return fmt::format("{}[{}]", core::is_floating(of) ? "" : core::to_string(of), list(sizes));
  }

  /// Operands of lower rank than the result are aligned with its last dimensions.
  bool broadcasts() const {
    return op_.op_class == OpClass::kElementwise || op_.movement == Movement::kRepeat ||
           op_.has_operand(core::OperandRole::kLeftMatrix);
  }
  /// Images have their channels at a fixed place. The axis of a selection is one of its data, which
  /// have none for items if they are shared.
  bool has_place_for_items() const {
    using enum core::OperandRole;
    return !op_.has_operand(kImage) && !op_.has_operand(kChannels) &&
           (op_.movement != Movement::kSelect || lifting_.sources[0] != Source::kShared);
  }
  std::size_t missing_dimensions(std::size_t k) const {
    const std::size_t rank = shape(node_.inputs[k]).size(),
                      of_result = shape(node_.outputs[0]).size();
    const bool is_step = k > 0 && has_features_of_items();
    return (broadcasts() || is_step) && rank < of_result ? of_result - rank : 0;
  }

  /// The shape of an operand of the lifted operator, with that size in place of the items.
  Texts lifted_shape(std::size_t k, const std::string& items) const {
    Texts sizes{items};
    sizes.resize(1 + missing_dimensions(k), "1");
    return behind(std::move(sizes), shape(node_.inputs[k]));
  }

  /// Declares an operand of which each sibling reads an item.
  void take_items(std::size_t k, const Texts& item) {
    take_items(std::string(1, letter(k)), count_, node_.inputs[k], item);
  }
  void take_items(const std::string& name, const std::string& count, core::TensorId id,
                  const Texts& item) {
    head_ += fmt::format("  {}: {}\n", name, declared(id, behind({count}, item)));
    source_ += fmt::format("    {0}{{1..{1}}} = split({0}; axis=0, sizes=[{{{1} times 1}}])\n",
                           name, count);
    source_ += fmt::format("    each i in 1..{1}  {0}r{{i}} = reshape({0}{{i}}; shape=[{2}])\n",
                           name, count, list(item));
  }

  /// Declares an operand; its name for the lifted operator.
  std::string lift_operand(std::size_t k) {
    const std::string name(1, letter(k));
    const Source source = lifting_.sources[k];
    if (source == Source::kMissing) {
      item_operands_.emplace_back("_");
      return "_";
    }
    if (source == Source::kSeparate) {
      head_ += fmt::format("  each i in 1..{1}  {0}{{i}}: {2}\n", name, count_,
                           declared(node_.inputs[k], shape(node_.inputs[k])));
      item_operands_.push_back(name + "{i}");
      target_ += fmt::format("    each i in 1..{1}  {0}u{{i}} = reshape({0}{{i}}; shape=[{2}])\n",
                             name, count_, list(lifted_shape(k, "1")));
      target_ += fmt::format("    {0}s = concat({0}u{{1..{1}}}; axis=0)\n", name, count_);
      return name + "s";
    }
    if (source == Source::kShared) {
      head_ += fmt::format("  {}: {}\n", name, declared(node_.inputs[k], shape(node_.inputs[k])));
      item_operands_.push_back(name);
      return name;
    }
    take_items(k, shape(node_.inputs[k]));
    item_operands_.push_back(name + "r{i}");
    if (missing_dimensions(k) == 0) return name;
    target_ +=
        fmt::format("    {0}s = reshape({0}; shape=[{1}])\n", name, list(lifted_shape(k, count_)));
    return name + "s";
  }

  /// Lines that take the items of the result.
  std::string parted() const {
    return fmt::format("    t{{1..{0}}} = split(y; axis=0, sizes=[{{{0} times 1}}])\n"
                       "    each i in 1..{0}  y{{i}} = reshape(t{{i}}; shape=[{1}])\n",
                       count_, list(shape(node_.outputs[0])));
  }

  /// Of the siblings, or of the lifted operator. None: an attribute says something of each
  /// dimension that has no form for one more.
  std::optional<std::string> attributes(bool lifted) const {
    Texts texts;
    for (const core::AttributeSchema& schema : op_.attributes) {
      const AttributeValue* const value = node_.attributes.find(schema.name);
      if (value == nullptr) continue;
      auto text = attribute(schema.role, *value, lifted);
      if (!text) return std::nullopt;
      texts.push_back(fmt::format("{}={}", schema.name, *text));
    }
    return texts.empty() ? "" : fmt::format("; {}", fmt::join(texts, ", "));
  }

  std::optional<std::string> attribute(AttributeRole role, const AttributeValue& value,
                                       bool lifted) const {
    const auto moved = [&](const Polynomial& d) { return std::to_string(d.constant() + lifted); };
    const auto moved_list = [&](const std::vector<Polynomial>& dimensions) {
      Texts texts;
      for (const Polynomial& d : dimensions) texts.push_back(moved(d));
      return texts;
    };
    switch (role) {
    case AttributeRole::kAxis:
      return moved(std::get<Polynomial>(value));
    case AttributeRole::kAxes:
      return fmt::format("[{}]", list(moved_list(std::get<std::vector<Polynomial>>(value))));
    case AttributeRole::kPermutation: {
      Texts order = moved_list(std::get<std::vector<Polynomial>>(value));
      if (lifted) order = behind({"0"}, order);
      return fmt::format("[{}]", list(order));
    }
    case AttributeRole::kShape: {
      Texts sizes;
      for (const Polynomial& n : std::get<std::vector<Polynomial>>(value)) sizes.push_back(size(n));
      return fmt::format("[{}]", list(lifted ? behind({count_}, sizes) : sizes));
    }
    case AttributeRole::kEquation:
      return fmt::format("\"{}\"", equation(std::get<std::string>(value), lifted));
    case AttributeRole::kBorder:
    case AttributeRole::kGap:
    case AttributeRole::kRatio:
    case AttributeRole::kStride:
    case AttributeRole::kDilation:
    case AttributeRole::kPad:
    case AttributeRole::kWindow:
      return std::nullopt;
    default:
      return core::to_string(value, lifting_.graph.symbols());
    }
  }

  /// With a label for the items of each operand that has them.
  std::string equation(const std::string& text, bool lifted) const {
    auto labels = *ops::EinsumEquation::parse(text);
    std::vector<std::size_t> ranks;
    for (std::size_t k = 0; k < labels.operands.size(); ++k) {
      if (lifted && lifting_.sources[k] != Source::kShared) labels.operands[k].insert(0, "Z");
      ranks.push_back(labels.operands[k].size());
    }
    if (lifted) labels.result.insert(0, "Z");
    return ops::EinsumEquation::from_onnx(labels.to_string(), ranks)->to_string();
  }

  static std::ptrdiff_t offset(std::size_t k) { return static_cast<std::ptrdiff_t>(k); }
  static char letter(std::size_t operand) { return static_cast<char>('a' + operand); }

  std::string text() const {
    return fmt::format("rule batch_of_{}\n{}  placed\n  source\n{}  target\n{}", op_.name, head_,
                       source_, target_);
  }

  const Lifting& lifting_;
  const core::Node& node_;
  const ops::OpDefinition& op_;
  std::string count_;
  std::string head_, source_, target_;
  Texts item_operands_;
};

/// Operands have one letter each, and some letters are taken.
constexpr std::size_t kMostOperands = 10;

}  // namespace

bool can_be_lifted(const core::Graph& graph, const core::Node& node) {
  Lifting lifting{.graph = graph, .node = node, .sources = {}};
  for (const core::TensorId input : node.inputs)
    lifting.sources.push_back(input.valid() ? Source::kItems : Source::kMissing);
  return lifted_operator(lifting).has_value();
}

std::optional<std::string> lifted_operator(const Lifting& lifting) {
  LiftedOperator op(lifting);
  if (lifting.node.inputs.size() > kMostOperands || !op.sizes_are_known()) return std::nullopt;
  return op.has_features_of_items() ? op.norm_on_batch() : op.on_batch();
}

bool is_lifted_in_steps(const Lifting& lifting) {
  return LiftedOperator(lifting).has_features_of_items();
}

std::optional<std::string> joined_in_groups(const Lifting& lifting) {
  LiftedOperator op(lifting);
  return op.sizes_are_known() ? op.joined_in_groups() : std::nullopt;
}

std::optional<std::string> joined_items(const Lifting& lifting) {
  LiftedOperator op(lifting);
  return op.sizes_are_known() ? op.joined() : std::nullopt;
}

std::optional<std::string> summed_products(const Lifting& lifting) {
  LiftedOperator op(lifting);
  return op.sizes_are_known() ? op.summed_products() : std::nullopt;
}

std::optional<std::string> summed_items(const Lifting& lifting) {
  LiftedOperator op(lifting);
  return op.sizes_are_known() ? op.summed() : std::nullopt;
}

}  // namespace soapstone::transforms
