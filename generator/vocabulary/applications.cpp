// Asks the operators' shape rules on symbolic sizes. An operator is applied only where its result
// has a size for all sizes of the inputs: no equation is left, and no derived size.
#include "generator/vocabulary/applications.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/vocabulary/derived_attributes.h"
#include "ops/definition/registry.h"

namespace soapstone::generator {
namespace {

using core::Polynomial;
using core::TensorType;

Polynomial at(const Polynomial& size, const World& world) {
  return size.evaluate([&](core::Symbol s) { return world.sizes[s.id]; });
}

TensorType at(const TensorType& type, const World& world) {
  return {type.data_type, core::to_shape(world.dims(type.shape))};
}

std::string text_of(const core::OpSchema& op, const core::Attributes& attributes,
                    const core::SymbolTable& symbols) {
  std::string text = op.name;
  for (const auto& [name, value] : attributes.values())
    text += fmt::format(";{}={}", name, core::to_string(value, symbols));
  return text;
}

/// The order of field elements is that of small integers; a fraction such as 0.01 is none.
bool is_exact(const ops::Expr& e) {
  constexpr std::int64_t kLargest = 100;
  if (e->kind == ops::ExprKind::kNumber && e->number.denominator > kLargest) return false;
  if (e->kind == ops::ExprKind::kApply) {
    switch (e->function) {
    case ops::Function::kRelu:
    case ops::Function::kAbs:
    case ops::Function::kSelect:
    case ops::Function::kLess:
    case ops::Function::kLessOrEqual:
    case ops::Function::kEqual:
    case ops::Function::kIsZero:
      break;
    default:
      return false;
    }
  }
  return std::ranges::all_of(e->arguments, is_exact) &&
         std::ranges::all_of(e->alternatives,
                             [](const ops::Alternative& a) { return is_exact(a.body); });
}

/// Whether the expression or a part of it is so.
bool has_part(const ops::Expr& e, bool (*is)(const ops::ExprNode&)) {
  return is(*e) ||
         std::ranges::any_of(e->arguments, [&](const auto& part) { return has_part(part, is); }) ||
         std::ranges::any_of(e->alternatives,
                             [&](const auto& part) { return has_part(part.body, is); });
}

bool reads(const ops::ExprNode& e) {
  return e.kind == ops::ExprKind::kRead || e.kind == ops::ExprKind::kReadFlat;
}
bool orders(const ops::ExprNode& e) {
  return e.kind == ops::ExprKind::kApply || e.kind == ops::ExprKind::kMax;
}
/// The mean of a number of elements is a sum like others.
bool divides_by_elements(const ops::ExprNode& e) {
  return e.kind == ops::ExprKind::kInverse && has_part(e.arguments[0], reads);
}

/// Sums of indices are no indices; they are only moved.
bool takes_indices(const ops::OpDefinition& op) {
  return op.op_class == ops::OpClass::kMovement || op.op_class == ops::OpClass::kView;
}

/// The meaning of one output alone, if the others are stages of their own.
ops::Semantics restricted_to(ops::Semantics semantics, std::uint32_t output) {
  if (semantics.outputs.size() > 1 && semantics.stages.size() == semantics.outputs.size()) {
    ops::Stage stage = semantics.stages[semantics.outputs[output] - semantics.input_count];
    semantics.stages = {std::move(stage)};
    semantics.outputs = {semantics.input_count};
  }
  CHECK(semantics.outputs.size() == 1, "results of one operator depend on each other");
  return semantics;
}

}  // namespace

ApplicationTable::ApplicationTable(Vocabulary vocabulary, const Universe& universe)
    : vocabulary_(std::move(vocabulary)), symbols_(universe.symbols), worlds_(universe.worlds) {
  for (const OperatorInstance& i : vocabulary_.operators)
    largest_arity_ = std::max(largest_arity_, i.arity);
  for (const InputGroup& group : universe.groups) {
    intern(group.type);
    if (std::ranges::find(shapes_, group.type.shape) == shapes_.end())
      shapes_.push_back(group.type.shape);
  }
  shapes_.insert(shapes_.end(), universe.shapes.begin(), universe.shapes.end());
  for (const ConstantInput& constant : universe.constants) intern(constant.type);
}

std::string ApplicationTable::key_of(const TensorType& type) const {
  return fmt::format("{}{}", core::to_string(type.data_type),
                     core::to_string(type.shape, symbols_));
}

TypeIndex ApplicationTable::id_of(const TensorType& type) const {
  const auto place = type_ids_.find(key_of(type));
  CHECK(place != type_ids_.end(), "no term has this type");
  return place->second;
}

TypeIndex ApplicationTable::intern(const TensorType& type) {
  const auto [place, is_new] =
      type_ids_.emplace(key_of(type), static_cast<TypeIndex>(types_.size()));
  if (!is_new) return place->second;
  CHECK(types_.size() < 0xffff, "too many types");
  ValueType entry{type, {}, {}};
  for (const World& world : worlds_) {
    entry.dims.push_back(world.dims(type.shape));
    entry.elements.push_back(static_cast<std::uint32_t>(core::element_count(entry.dims.back())));
  }
  types_.push_back(std::make_unique<const ValueType>(std::move(entry)));
  return place->second;
}

std::span<const ApplicationId> ApplicationTable::find(std::span<const TypeIndex> operands) const {
  const auto place = by_operands_.find(std::vector<TypeIndex>(operands.begin(), operands.end()));
  CHECK(place != by_operands_.end(), "types were not prepared");
  return place->second;
}

std::span<const ApplicationId> ApplicationTable::prepare(std::span<const TypeIndex> operands) {
  const auto [place, is_new] = by_operands_.try_emplace({operands.begin(), operands.end()});
  if (!is_new) return place->second;
  std::vector<const TensorType*> types;
  for (TypeIndex id : operands) types.push_back(&types_[id]->type);
  for (const OperatorInstance& instance : vocabulary_.operators) {
    if (instance.arity != operands.size()) continue;
    // A commutative operator is applied to different types in one order only.
    if (instance.op->commutative && operands[0] < operands[1]) continue;
    for (const core::Attributes& attributes : complete_for(vocabulary_, instance, types, shapes_))
      apply(instance, attributes, operands, place->second);
  }
  return place->second;
}

void ApplicationTable::apply(const OperatorInstance& instance, const core::Attributes& attributes,
                             std::span<const TypeIndex> operands,
                             std::vector<ApplicationId>& found) {
  auto complete = ops::complete_attributes(*instance.op, attributes);
  if (!complete) return;
  std::vector<TensorType> types;
  for (TypeIndex id : operands) types.push_back(types_[id]->type);
  const ops::OpDefinition* definition = ops::registry().definition(instance.op->name);
  if (!takes_indices(*definition) && std::ranges::any_of(types, [](const TensorType& type) {
        return type.data_type == core::DataType::kInt64;
      }))
    return;
  ops::InferContext context(*complete, types, instance.op->name);
  const std::vector<TensorType> results = definition->infer(context);
  if (context.failed() || !context.derived().empty()) return;
  for (const ops::SizeConstraint& c : context.constraints()) {
    if (c.kind == ops::SizeConstraint::Kind::kZero) return;
    for (const World& world : worlds_)
      if (*at(c.expression, world).as_constant() < 0) return;
  }
  const auto operation = static_cast<std::uint32_t>(operations_.size());
  const std::string text = text_of(*instance.op, *complete, symbols_);
  const std::uint32_t number = operations_.emplace(text, operation).first->second;
  for (std::size_t k = 0; k < results.size(); ++k) {
    for (const World& world : worlds_)
      if (core::element_count(world.dims(results[k].shape)) == 0) return;
    auto application = std::make_unique<Application>();
    application->op = instance.op;
    application->attributes = *complete;
    application->operands.assign(operands.begin(), operands.end());
    application->result = intern(results[k]);
    application->output_index = static_cast<std::uint32_t>(k);
    application->output_count = static_cast<std::uint32_t>(results.size());
    application->operation = number;
    application->commutative = instance.op->commutative && operands[0] == operands[1];
    compile(*application, results);
    found.push_back(static_cast<ApplicationId>(applications_.size()));
    applications_.push_back(std::move(application));
  }
}

void ApplicationTable::compile(Application& application,
                               std::span<const TensorType> results) const {
  const ops::OpDefinition* definition = ops::registry().definition(application.op->name);
  for (const World& world : worlds_) {
    const core::Attributes attributes = world.attributes(application.attributes);
    std::vector<TensorType> inputs, outputs;
    std::vector<core::Dims> dims;
    for (TypeIndex id : application.operands) {
      inputs.push_back(at(types_[id]->type, world));
      dims.push_back(world.dims(types_[id]->type.shape));
    }
    for (const TensorType& type : results) outputs.push_back(at(type, world));
    const ops::Semantics semantics = restricted_to(
        definition->semantics({attributes, inputs, outputs}), application.output_index);
    for (const ops::Stage& stage : semantics.stages) {
      application.exact &= is_exact(stage.body);
      application.orders |= has_part(stage.body, orders);
      application.divides |= has_part(stage.body, divides_by_elements);
    }
    application.field.emplace_back(semantics, dims, kFunctionKey);
    application.real.emplace_back(semantics, dims);
  }
}

}  // namespace soapstone::generator
