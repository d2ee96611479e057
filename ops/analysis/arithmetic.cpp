// Compares the comprehension of each operator, applied to two scalars, with those of the four
// operations.
#include "ops/analysis/arithmetic.h"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/definition/registry.h"

namespace soapstone::ops {
namespace {

using core::DataType;

std::string text_of(const Semantics& semantics) { return to_string(semantics, {}); }

/// The comprehension that combines two scalars.
std::string text_of(const std::function<Expr(Expr, Expr)>& combine) {
  SemanticsBuilder builder(2);
  builder.output({},
                 [&](const std::vector<Polynomial>&) { return combine(read(0, {}), read(1, {})); });
  return text_of(std::move(builder).finish());
}

/// None: the operator does not take two scalars.
std::optional<std::string> text_on_scalars(const OpDefinition& op) {
  if (op.op_class != OpClass::kElementwise || op.min_inputs != 2 || op.max_inputs != 2 ||
      !op.attributes.empty())
    return std::nullopt;
  const core::Attributes none;
  const std::vector<core::TensorType> operands(2, {DataType::kFloat32, {}, true});
  InferContext context(none, operands, op.name);
  const std::vector<core::TensorType> results = op.infer(context);
  if (context.failed()) return std::nullopt;
  return text_of(op.semantics({none, operands, results}));
}

std::unordered_map<const core::OpSchema*, Arithmetic> make_table() {
  const std::array<std::pair<Arithmetic, std::string>, 4> operations = {{
      {Arithmetic::kSum, text_of([](Expr a, Expr b) { return std::move(a) + std::move(b); })},
      {Arithmetic::kDifference,
       text_of([](Expr a, Expr b) { return std::move(a) - std::move(b); })},
      {Arithmetic::kProduct, text_of([](Expr a, Expr b) { return std::move(a) * std::move(b); })},
      {Arithmetic::kQuotient,
       text_of([](Expr a, Expr b) { return std::move(a) * inverse(std::move(b)); })},
  }};
  std::unordered_map<const core::OpSchema*, Arithmetic> table;
  for (const auto& op : registry().all()) {
    const std::optional<std::string> text = text_on_scalars(*op);
    for (const auto& [operation, expected] : operations)
      if (text == expected) table.emplace(op.get(), operation);
  }
  return table;
}

}  // namespace

Arithmetic arithmetic_of(const core::OpSchema& op) {
  static const std::unordered_map<const core::OpSchema*, Arithmetic> kTable = make_table();
  const auto found = kTable.find(&op);
  return found == kTable.end() ? Arithmetic::kNone : found->second;
}

}  // namespace soapstone::ops
