// Compares the comprehension of each operator, applied to two scalars, with those of the four
// operations.
#include "ops/analysis/arithmetic.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "ops/definition/registry.h"

namespace soapstone::ops {
namespace {

using core::DataType;

std::string text_of(const Semantics& semantics) { return to_string(semantics, {}); }

/// The comprehension that makes one of so many scalars.
std::string text_of(std::size_t operands, const std::function<Expr()>& result) {
  SemanticsBuilder builder(operands);
  builder.output({}, [&](const std::vector<Polynomial>&) { return result(); });
  return text_of(std::move(builder).finish());
}
/// And that combines two.
std::string text_of(const std::function<Expr(Expr, Expr)>& combine) {
  return text_of(2, [&] { return combine(read(0, {}), read(1, {})); });
}

/// None: the operator does not take so many scalars.
std::optional<std::string> text_on_scalars(const OpDefinition& op, std::size_t count) {
  const auto is_count = [&](auto inputs) { return static_cast<std::size_t>(inputs) == count; };
  if (op.op_class != OpClass::kElementwise || !is_count(op.min_inputs) ||
      !is_count(op.max_inputs) || !op.attributes.empty())
    return std::nullopt;
  const core::Attributes none;
  const std::vector<core::TensorType> operands(count, {DataType::kFloat32, {}, true});
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
    const std::optional<std::string> text = text_on_scalars(*op, 2);
    for (const auto& [operation, expected] : operations)
      if (text == expected) table.emplace(op.get(), operation);
  }
  return table;
}

const core::OpSchema* find_inverse() {
  const std::string expected = text_of(1, [] { return inverse(read(0, {})); });
  for (const auto& op : registry().all())
    if (text_on_scalars(*op, 1) == expected) return op.get();
  return nullptr;
}

}  // namespace

Arithmetic arithmetic_of(const core::OpSchema& op) {
  static const std::unordered_map<const core::OpSchema*, Arithmetic> kTable = make_table();
  const auto found = kTable.find(&op);
  return found == kTable.end() ? Arithmetic::kNone : found->second;
}

const std::string& operator_for(Arithmetic operation) {
  const auto& all = registry().all();
  const auto found =
      std::ranges::find_if(all, [&](const auto& op) { return arithmetic_of(*op) == operation; });
  CHECK(found != all.end(), "each of the four has an operator");
  return (*found)->name;
}

bool is_inverse(const core::OpSchema& op) {
  static const core::OpSchema* const kInverse = find_inverse();
  return &op == kInverse;
}

}  // namespace soapstone::ops
