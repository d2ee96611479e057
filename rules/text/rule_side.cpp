// See rule_side.h.
#include "rules/text/rule_side.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/definition/registry.h"

namespace soapstone::rules {

using core::NameSyntax;
using core::Polynomial;
using core::Status;
using core::TokenStream;

namespace {

bool is_symbol(const Polynomial& p) {
  return p.symbols().size() == 1 && p == Polynomial(p.symbols()[0]);
}

/// A word in place of a real attribute is a symbol, which a graph could not have. In the target it
/// may be a sum of products.
Result<core::Attributes> attributes_of(const core::NodeSyntax& node, const core::OpSchema& op,
                                       bool computes) {
  core::NodeSyntax plain = node;
  core::Attributes symbolic;
  for (core::AttributeSyntax& given : plain.attributes) {
    const core::AttributeSchema* schema = op.find_attribute(given.name);
    const auto* p = std::get_if<Polynomial>(&given.value);
    if (!schema || schema->kind() != core::AttributeKind::kReal || !p || p->is_constant()) continue;
    if (!computes && !is_symbol(*p))
      return TokenStream::error_at(given.at,
                                   "a real attribute is a number or a symbol alone in the source; "
                                   "only the target computes with it");
    symbolic.set(given.name, *p);
    given.value = 1.0;
  }
  SOAPSTONE_ASSIGN_OR_RETURN(auto attributes, core::resolve_attributes(plain, op));
  for (const auto& [name, value] : symbolic.values()) attributes.set(name, value);
  return attributes;
}

}  // namespace

Status RuleSide::define(const NameSyntax& name, TensorId id) {
  if (tensors_.emplace(name.name, id).second) return core::Done{};
  core::Error error = TokenStream::error_at(name.at, "`" + name.name + "` is defined twice");
  error.hint = "each tensor of a side has a name of its own";
  return error;
}

Result<TensorId> RuleSide::use(const NameSyntax& name) {
  const auto known = tensors_.find(name.name);
  if (known == tensors_.end()) {
    core::Error error =
        TokenStream::error_at(name.at, "`" + name.name + "` is not defined on this side");
    error.hint = "inputs are declared before `source`; what the source computes the target must "
                 "compute again";
    return error;
  }
  mark_read(known->second);
  return known->second;
}

/// A sum, product, … of more than two is one from the left: ((a + b) + c) + d. Makes all of it but
/// the last step, which it returns.
core::Result<core::NodeSyntax> RuleSide::add_chain(const core::NodeSyntax& node) {
  const core::OpSchema* op = ops::registry().find(node.op);
  core::NodeSyntax last = node;
  if (op == nullptr || !op->commutative || op->max_inputs != 2) return last;
  while (last.operands.size() > 2) {
    core::NodeSyntax first = last;
    first.operands.resize(2);
    const std::string name = fmt::format("{}_{}", node.results[0].name.name,
                                         node.operands.size() - last.operands.size() + 2);
    first.results[0].name.name = name;
    SOAPSTONE_RETURN_IF_ERROR(add_node(first));
    results_.erase(name);
    last.operands.erase(last.operands.begin());
    last.operands[0]->name = name;
  }
  return last;
}

Status RuleSide::add_node(const core::NodeSyntax& written) {
  SOAPSTONE_ASSIGN_OR_RETURN(const core::NodeSyntax node, add_chain(written));
  const auto resolved = core::resolve_op(node, ops::registry());
  if (!resolved) {
    core::Error error = resolved.error();
    if (!ops::registry().find(node.op)) error.hint = "docs/operators.md lists the operators";
    return error;
  }
  const core::OpSchema* op = *resolved;
  if (op->is_opaque())
    return TokenStream::error_at(node.at, "a rule cannot say anything about opaque nodes");
  SOAPSTONE_ASSIGN_OR_RETURN(auto attributes, attributes_of(node, *op, computes_));
  std::vector<TensorId> operands;
  for (const auto& operand : node.operands) {
    operands.push_back(TensorId::none());
    if (operand) {
      SOAPSTONE_ASSIGN_OR_RETURN(operands.back(), use(*operand));
      operands_.insert(operand->name);
    }
  }
  // An optional input that is left out at the end is no input.
  while (operands.size() > op->min_inputs && !operands.back().valid()) operands.pop_back();
  const core::TensorType unknown{core::DataType::kFloat32, {}, false};
  const auto ids =
      builder.add_node(*op, std::move(attributes), std::move(operands),
                       std::vector<core::TensorType>(node.results.size(), unknown), node.name);
  operators_.push_back(node.at);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const NameSyntax& name = node.results[k].name;
    builder.set_name(ids[k], name.name);
    results_.emplace(name.name, name.at);
    SOAPSTONE_RETURN_IF_ERROR(define(name, ids[k]));
  }
  return core::Done{};
}

Status RuleSide::add_alias(const NameSyntax& name, const NameSyntax& value) {
  SOAPSTONE_ASSIGN_OR_RETURN(const TensorId id, use(value));
  results_.emplace(name.name, name.at);
  return define(name, id);
}

std::vector<NameSyntax> RuleSide::results() const {
  std::vector<NameSyntax> names;
  for (const auto& [name, at] : results_) names.push_back({name, at});
  std::ranges::sort(names, {}, [](const NameSyntax& name) { return name.at.offset; });
  return names;
}

void RuleSide::mark_read(TensorId id) {
  if (read_.size() <= id.index()) read_.resize(id.index() + 1);
  read_[id.index()] = true;
}

bool RuleSide::is_of_use(TensorId id) const {
  const core::Tensor& tensor = builder.tensor(id);
  if (is_read(id) || !tensor.producer.valid()) return is_read(id);
  return std::ranges::any_of(builder.node(tensor.producer).outputs,
                             [&](TensorId sibling) { return is_read(sibling); });
}

}  // namespace soapstone::rules
