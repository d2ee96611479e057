// Changes of the structure: operands, operators, results, constants, sizes, conditions; and the
// walk over all attributes of both sides.
#include "verifier/mutation/mutation_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/literal_text.h"
#include "ops/definition/registry.h"

namespace soapstone::verifier {
namespace {

using Edits = std::vector<MutationEdit>;
using SidePtr = DraftSide RuleDraft::*;

struct NamedSide {
  SidePtr side;
  const char* name;
};
constexpr std::array<NamedSide, 2> kSides = {
    {{&RuleDraft::target, "target"}, {&RuleDraft::source, "source"}}};

/// The attributes that say how an operator is applied, not which numbers it computes with.
std::vector<core::AttributeRole> structure_of(const core::OpSchema& op) {
  using enum core::AttributeRole;
  constexpr std::array kNumbers = {kReal, kPositiveReal, kVariant, kFlag, kCountsPad};
  std::vector<core::AttributeRole> roles;
  for (const core::AttributeSchema& attribute : op.attributes)
    if (std::ranges::find(kNumbers, attribute.role) == kNumbers.end())
      roles.push_back(attribute.role);
  std::ranges::sort(roles);
  return roles;
}

/// Whether a person may take the operators for each other: both compute, and are applied alike.
/// Attributes of one that the other lacks are dropped.
bool are_siblings(const ops::OpDefinition& a, const ops::OpDefinition& b) {
  constexpr auto kComputes = core::Movement::kNone;
  return a.op_class == b.op_class && a.movement == kComputes && b.movement == kComputes &&
         a.min_inputs == b.min_inputs && a.operand_role(0) == b.operand_role(0) &&
         structure_of(a) == structure_of(b);
}

std::vector<const ops::OpDefinition*> siblings_of(const core::OpSchema& op) {
  std::vector<const ops::OpDefinition*> siblings;
  const ops::OpDefinition* own = ops::registry().definition(op.name);
  for (const auto& other : ops::registry().all())
    if (own != nullptr && other.get() != own && are_siblings(*own, *other))
      siblings.push_back(other.get());
  return siblings;
}

std::string value_name(const DraftSide& side, DraftValue value) {
  if (value.node == DraftValue::kAbsent) return "_";
  const std::string& name =
      value.node == DraftValue::kLeaf
          ? side.leaves[value.index].name
          : side.nodes[static_cast<std::size_t>(value.node)].results[value.index];
  if (!name.empty()) return name;
  return value.node == DraftValue::kLeaf ? fmt::format("leaf {}", value.index)
                                         : fmt::format("node {}", value.node);
}

/// For each node of each side.
template <class Visit>
void for_each_node(const RuleDraft& draft, Visit visit) {
  for (const auto& [side, name] : kSides)
    for (std::size_t n = 0; n < (draft.*side).nodes.size(); ++n)
      visit(side, name, n, (draft.*side).nodes[n]);
}

void swap_inputs(const RuleDraft& draft, bool joins, Edits& edits) {
  for_each_node(draft, [&](SidePtr side, const char* where, std::size_t n, const DraftNode& node) {
    if ((node.op->movement == core::Movement::kJoin) != joins) return;
    for (std::size_t a = 0; a < node.inputs.size(); ++a)
      for (std::size_t b = std::max<std::size_t>(a + 1, a == 0 && node.op->commutative ? 2 : 0);
           b < node.inputs.size(); ++b) {
        if (node.inputs[a] == node.inputs[b]) continue;
        edits.push_back(
            {fmt::format("{}: {}: inputs {} and {} exchanged", where, node.op->name, a, b),
             [=](RuleDraft& d) {
               auto& inputs = (d.*side).nodes[n].inputs;
               std::swap(inputs[a], inputs[b]);
             }});
      }
  });
}

/// Values that a node may read: all leaves and the results of the nodes before it.
std::vector<DraftValue> values_before(const DraftSide& side, std::size_t n) {
  std::vector<DraftValue> values;
  for (std::uint32_t k = 0; k < side.leaves.size(); ++k) values.push_back({DraftValue::kLeaf, k});
  for (std::size_t m = 0; m < n; ++m)
    for (std::uint32_t k = 0; k < side.nodes[m].results.size(); ++k)
      values.push_back({static_cast<std::int32_t>(m), k});
  return values;
}

void rewire(const RuleDraft& draft, Edits& edits) {
  for_each_node(draft, [&](SidePtr side, const char* where, std::size_t n, const DraftNode& node) {
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      for (DraftValue other : values_before(draft.*side, n)) {
        if (other == node.inputs[k] || node.inputs[k].node == DraftValue::kAbsent) continue;
        edits.push_back({fmt::format("{}: {}: input {} is {}", where, node.op->name, k,
                                     value_name(draft.*side, other)),
                         [=](RuleDraft& d) { (d.*side).nodes[n].inputs[k] = other; }});
      }
  });
}

void swap_rule_inputs(const RuleDraft& draft, Edits& edits) {
  const auto count = static_cast<std::uint32_t>(draft.constant_inputs.size());
  for (std::uint32_t a = 0; a < count; ++a)
    for (std::uint32_t b = a + 1; b < count; ++b)
      edits.push_back({fmt::format("target: {} and {} exchanged", draft.target.leaves[a].name,
                                   draft.target.leaves[b].name),
                       [=](RuleDraft& d) {
                         const DraftValue x{DraftValue::kLeaf, a}, y{DraftValue::kLeaf, b};
                         const DraftValue none{};
                         // An operand that is absent already must stay so: it is moved out of the
                         // way.
                         const DraftValue aside{DraftValue::kAbsent - 1, 0};
                         d.target.replace_uses(none, aside);
                         d.target.replace_uses(x, none);
                         d.target.replace_uses(y, x);
                         d.target.replace_uses(none, y);
                         d.target.replace_uses(aside, none);
                       }});
}

void exchange_results(const RuleDraft& draft, Edits& edits) {
  const auto& outputs = draft.target.outputs;
  for (std::size_t a = 0; a < outputs.size(); ++a)
    for (std::size_t b = a + 1; b < outputs.size(); ++b)
      edits.push_back({fmt::format("target: results {} and {} exchanged", a, b),
                       [=](RuleDraft& d) { std::swap(d.target.outputs[a], d.target.outputs[b]); }});
  for_each_node(draft, [&](SidePtr side, const char* where, std::size_t n, const DraftNode& node) {
    for (std::uint32_t k = 1; k < node.results.size(); ++k)
      edits.push_back(
          {fmt::format("{}: {}: result {} is read for {}", where, node.op->name, k - 1, k),
           [=](RuleDraft& d) {
             const auto id = static_cast<std::int32_t>(n);
             (d.*side).replace_uses({id, k}, {id, k - 1});
           }});
  });
}

void drop_operator(const RuleDraft& draft, Edits& edits) {
  for_each_node(draft, [&](SidePtr side, const char* where, std::size_t n, const DraftNode& node) {
    if (node.results.size() != 1) return;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const DraftValue through = node.inputs[k];
      if (through.node == DraftValue::kAbsent) continue;
      edits.push_back(
          {fmt::format("{}: {} dropped, input {} in its place", where, node.op->name, k),
           [=](RuleDraft& d) {
             (d.*side).replace_uses({static_cast<std::int32_t>(n), 0}, through);
           }});
    }
    // An optional operand may be forgotten as well.
    if (node.inputs.size() > node.op->min_inputs && node.op->movement != core::Movement::kJoin)
      edits.push_back({fmt::format("{}: {}: last input left out", where, node.op->name),
                       [=](RuleDraft& d) { (d.*side).nodes[n].inputs.pop_back(); }});
  });
}

void sibling_operator(const RuleDraft& draft, Edits& edits) {
  for_each_node(draft, [&](SidePtr side, const char* where, std::size_t n, const DraftNode& node) {
    for (const ops::OpDefinition* other : siblings_of(*node.op)) {
      if (node.inputs.size() < other->min_inputs) continue;
      core::Attributes kept;
      for (const auto& [key, value] : node.attributes.values())
        if (other->find_attribute(key)) kept.set(key, value);
      auto attributes = ops::complete_attributes(*other, kept);
      if (!attributes) continue;
      edits.push_back({fmt::format("{}: {} for {}", where, other->name, node.op->name),
                       [=, all = *std::move(attributes)](RuleDraft& d) {
                         DraftNode& changed = (d.*side).nodes[n];
                         changed.op = other;
                         changed.attributes = all;
                         if (changed.inputs.size() > other->max_inputs)
                           changed.inputs.resize(other->max_inputs);
                       }});
    }
  });
}

void change_attributes(MutationKind kind, const RuleDraft& draft, Edits& edits) {
  for_each_node(draft, [&](SidePtr side, const char* where, std::size_t n, const DraftNode& node) {
    for (const auto& [name, value] : node.attributes.values()) {
      const core::AttributeSchema* schema = node.op->find_attribute(name);
      if (schema == nullptr) continue;
      const bool pads_to_zero =
          kind == MutationKind::kConvention && schema->role == core::AttributeRole::kPad;
      if (kind_of_attribute(schema->role) != kind && !pads_to_zero) continue;
      for (core::AttributeValue& other : other_values(kind, node, *schema)) {
        std::string what = fmt::format("{}: {}: {} {} -> {}", where, node.op->name, name,
                                       core::to_string(value, draft.symbols()),
                                       core::to_string(other, draft.symbols()));
        edits.push_back({std::move(what), [=, key = name, value = std::move(other)](RuleDraft& d) {
                           (d.*side).nodes[n].attributes.set(key, value);
                         }});
      }
    }
  });
}

core::LiteralPtr next_literal(const core::Literal& literal, double step) {
  std::vector<std::string> texts;
  for (double v : literal.to_doubles()) texts.push_back(fmt::format("{}", v + step));
  auto made = core::literal_from_values(literal.data_type(), literal.dims(), texts);
  return made ? std::make_shared<const core::Literal>(*std::move(made)) : nullptr;
}

void change_literals(const RuleDraft& draft, Edits& edits) {
  for (const auto& [side, where] : kSides)
    for (std::size_t k = 0; k < (draft.*side).leaves.size(); ++k) {
      const core::LiteralPtr& value = (draft.*side).leaves[k].value;
      for (double step : {1.0, -1.0}) {
        core::LiteralPtr other = value ? next_literal(*value, step) : nullptr;
        if (!other) continue;
        edits.push_back({fmt::format("{}: constant {:+} ", where, step),
                         [=, s = side](RuleDraft& d) { (d.*s).leaves[k].value = other; }});
      }
    }
}

void change_element_type(DraftSide& side, core::DataType own, core::DataType other) {
  for (core::Tensor& leaf : side.leaves) {
    if (leaf.type.data_type != own) continue;
    if (leaf.value) {
      std::vector<std::string> texts;
      for (double v : leaf.value->to_doubles()) texts.push_back(fmt::format("{}", v));
      auto made = core::literal_from_values(other, leaf.value->dims(), texts);
      if (!made) continue;
      leaf.value = std::make_shared<const core::Literal>(*std::move(made));
    }
    leaf.type.data_type = other;
  }
  for (DraftNode& node : side.nodes) {
    const core::AttributeSchema* to = node.op->find_role(core::AttributeRole::kElementType);
    const core::AttributeValue* value = to != nullptr ? node.attributes.find(to->name) : nullptr;
    const auto* text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
    if (text != nullptr && *text == core::to_string(own))
      node.attributes.set(to->name, std::string(core::to_string(other)));
  }
}

/// Both sides see the same input, so its shape changes on both.
void change_input_sizes(const RuleDraft& draft, Edits& edits) {
  const auto add = [&](std::size_t k, std::size_t axis, const core::Size& size) {
    const core::Tensor& leaf = draft.source.leaves[k];
    edits.push_back({fmt::format("input {}: size {} -> {}", leaf.name,
                                 leaf.type.shape[axis].to_string(draft.symbols()),
                                 size.to_string(draft.symbols())),
                     [=](RuleDraft& d) {
                       d.source.leaves[k].type.shape[axis] = size;
                       d.target.leaves[k].type.shape[axis] = size;
                     }});
  };
  for (std::size_t k = 0; k < draft.constant_inputs.size(); ++k) {
    const core::Shape& shape = draft.source.leaves[k].type.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      add(k, axis, shape[axis] + 1);
      if (shape[axis] != core::Size(1)) add(k, axis, 1);
      for (std::size_t other = 0; other < shape.size(); ++other)
        if (shape[other] != shape[axis]) add(k, axis, shape[other]);
    }
  }
}

/// Laws of real numbers for integers and for other floating types. Casts to the type follow.
void change_element_types(const RuleDraft& draft, Edits& edits) {
  using core::DataType;
  constexpr std::array kTypes = {DataType::kInt64, DataType::kInt32, DataType::kFloat32,
                                 DataType::kFloat16, DataType::kFloat64};
  std::vector<DataType> present;
  for (std::size_t k = 0; k < draft.constant_inputs.size(); ++k) {
    const DataType own = draft.source.leaves[k].type.data_type;
    if (own != DataType::kBool && std::ranges::find(present, own) == present.end())
      present.push_back(own);
  }
  for (const DataType own : present)
    for (const DataType other : kTypes) {
      if (own == other) continue;
      edits.push_back({fmt::format("{} -> {}", core::to_string(own), core::to_string(other)),
                       [=](RuleDraft& d) {
                         change_element_type(d.source, own, other);
                         change_element_type(d.target, own, other);
                       }});
    }
}

void drop_conditions(const RuleDraft& draft, Edits& edits) {
  for (std::size_t k = 0; k < draft.where.size(); ++k)
    edits.push_back({fmt::format("condition {} dropped", k), [=](RuleDraft& d) {
                       d.where.erase(d.where.begin() + static_cast<std::ptrdiff_t>(k));
                     }});
}

}  // namespace

std::vector<MutationEdit> edits_of(MutationKind kind, const RuleDraft& draft) {
  Edits edits;
  switch (kind) {
  case MutationKind::kSwapInputs:
  case MutationKind::kConcatOrder:
    swap_inputs(draft, kind == MutationKind::kConcatOrder, edits);
    break;
  case MutationKind::kRewire:
    rewire(draft, edits);
    break;
  case MutationKind::kSwapRuleInputs:
    swap_rule_inputs(draft, edits);
    break;
  case MutationKind::kExchangeResults:
    exchange_results(draft, edits);
    break;
  case MutationKind::kDropOperator:
    drop_operator(draft, edits);
    break;
  case MutationKind::kSiblingOperator:
    sibling_operator(draft, edits);
    break;
  case MutationKind::kInputSize:
    change_input_sizes(draft, edits);
    break;
  case MutationKind::kCondition:
    drop_conditions(draft, edits);
    break;
  case MutationKind::kElements:
    change_element_types(draft, edits);
    break;
  case MutationKind::kConstant:
    change_literals(draft, edits);
    change_attributes(kind, draft, edits);
    break;
  default:
    change_attributes(kind, draft, edits);
  }
  return edits;
}

}  // namespace soapstone::verifier
