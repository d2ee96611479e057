// Puts the stages of an operator together, and prints them as equations that a person can check
// against the literature.
#include <fmt/format.h>

#include "core/base/check.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops {
namespace {

/// Writes expressions; parentheses only where an operand binds less tightly than its place.
class Printer {
 public:
  Printer(const Semantics& semantics, const core::SymbolTable& names)
      : semantics_(semantics), names_(names) {}

  std::string tensor(std::uint32_t number) const {
    if (number < semantics_.input_count) return fmt::format("in{}", number);
    return fmt::format("t{}", number - semantics_.input_count);
  }

  std::string polynomial(const Polynomial& p) const { return p.to_string(names_); }

  std::string list(const std::vector<Polynomial>& items) const {
    std::string text;
    for (const Polynomial& p : items) text += (text.empty() ? "" : ", ") + polynomial(p);
    return "[" + text + "]";
  }

  std::string expression(const Expr& e, int place = 0) const {
    const ExprNode& node = *e;
    switch (node.kind) {
    case ExprKind::kNumber:
      return fraction(node.number);
    case ExprKind::kIndexValue:
      return "value(" + polynomial(node.index[0]) + ")";
    case ExprKind::kRead:
      return tensor(node.tensor) + list(node.index);
    case ExprKind::kReadFlat:
      return tensor(node.tensor) + ".flat" + list(node.index);
    case ExprKind::kAdd:
      return wrapped(joined(node.arguments, " + ", 1), place > 1);
    case ExprKind::kMul:
      return wrapped(joined(node.arguments, "·", 2), place > 2);
    case ExprKind::kInverse:
      return wrapped("1/" + expression(node.arguments[0], 3), place > 2);
    case ExprKind::kApply:
      return fmt::format("{}({})", properties(node.function).name, joined(node.arguments, ", ", 0));
    case ExprKind::kGuard:
      return fmt::format("({} if {} else 0)", expression(node.arguments[0]),
                         conditions(node.constraints));
    case ExprKind::kSum:
      return wrapped(fmt::format("Σ{{{}}} {}", range(node.binders, node.constraints),
                                 expression(node.arguments[0], 2)),
                     place > 1);
    case ExprKind::kMax:
      return maximum(node);
    }
    CHECK(false, "unreachable");
  }

 private:
  static std::string wrapped(const std::string& text, bool needed) {
    return needed ? "(" + text + ")" : text;
  }

  static std::string fraction(Rational r) {
    if (r.denominator == 0) return r.numerator == 0 ? "nan" : r.numerator < 0 ? "-inf" : "inf";
    if (r.denominator == 1) return fmt::format("{}", r.numerator);
    return fmt::format("({}/{})", r.numerator, r.denominator);
  }

  std::string joined(const std::vector<Expr>& items, std::string_view between, int place) const {
    std::string text;
    for (std::size_t k = 0; k < items.size(); ++k)
      text += fmt::format("{}{}", k == 0 ? "" : between, expression(items[k], place));
    return text;
  }

  std::string conditions(const std::vector<Constraint>& constraints) const {
    std::string text;
    for (const Constraint& c : constraints)
      text += fmt::format("{}{} {} 0", text.empty() ? "" : ", ", polynomial(c.expression),
                          c.kind == Constraint::Kind::kZero ? "=" : "≥");
    return text;
  }

  std::string range(const std::vector<Binder>& binders,
                    const std::vector<Constraint>& constraints) const {
    std::string text;
    for (const Binder& b : binders)
      text += fmt::format("{}{} ≤ {} < {}", text.empty() ? "" : ", ", polynomial(b.low),
                          polynomial(b.variable), polynomial(b.high));
    return constraints.empty() ? text : text + " | " + conditions(constraints);
  }

  std::string maximum(const ExprNode& node) const {
    std::string text;
    for (const Alternative& a : node.alternatives) {
      if (!text.empty()) text += "; ";
      const std::string where = range(a.binders, a.constraints);
      text +=
          where.empty() ? expression(a.body) : fmt::format("{{{}}} {}", where, expression(a.body));
    }
    return "max(" + text + ")";
  }

  const Semantics& semantics_;
  const core::SymbolTable& names_;
};

}  // namespace

SemanticsBuilder::SemanticsBuilder(std::uint32_t input_count) {
  semantics_.input_count = input_count;
}

Symbol SemanticsBuilder::fresh() { return Symbol::index(next_index_++); }

std::vector<Symbol> SemanticsBuilder::fresh(std::size_t count) {
  std::vector<Symbol> symbols(count);
  for (Symbol& s : symbols) s = fresh();
  return symbols;
}

Expr SemanticsBuilder::sum_over(const Polynomial& size,
                                const std::function<Expr(Polynomial)>& body) {
  const Symbol v = fresh();
  return sum({{v, Polynomial(0), size}}, body(Polynomial(v)));
}

Expr SemanticsBuilder::max_over(const Polynomial& size,
                                const std::function<Expr(Polynomial)>& body) {
  const Symbol v = fresh();
  return maximum({{{{v, Polynomial(0), size}}, {}, body(Polynomial(v))}});
}

std::uint32_t
SemanticsBuilder::stage(Shape shape,
                        const std::function<Expr(const std::vector<Polynomial>&)>& body) {
  Stage stage;
  stage.index = fresh(shape.size());
  stage.shape = std::move(shape);
  stage.body = body(std::vector<Polynomial>(stage.index.begin(), stage.index.end()));
  semantics_.stages.push_back(std::move(stage));
  return semantics_.input_count + static_cast<std::uint32_t>(semantics_.stages.size()) - 1;
}

void SemanticsBuilder::output(Shape shape,
                              const std::function<Expr(const std::vector<Polynomial>&)>& body) {
  const std::uint32_t number = stage(std::move(shape), body);
  semantics_.outputs.push_back(number);
}

void SemanticsBuilder::require(std::string what, Shape shape,
                               const std::function<Expr(const std::vector<Polynomial>&)>& value,
                               Polynomial low, Polynomial high) {
  Requirement requirement;
  requirement.index = fresh(shape.size());
  requirement.shape = std::move(shape);
  requirement.value =
      value(std::vector<Polynomial>(requirement.index.begin(), requirement.index.end()));
  requirement.low = std::move(low);
  requirement.high = std::move(high);
  requirement.what = std::move(what);
  semantics_.requirements.push_back(std::move(requirement));
}

Semantics SemanticsBuilder::finish() && {
  CHECK(!semantics_.outputs.empty(), "an operator needs an output");
  return std::move(semantics_);
}

std::string to_string(const Semantics& semantics, const core::SymbolTable& names) {
  const Printer printer(semantics, names);
  std::string text;
  for (std::size_t k = 0; k < semantics.stages.size(); ++k) {
    const Stage& stage = semantics.stages[k];
    const auto number = semantics.input_count + static_cast<std::uint32_t>(k);
    bool is_output = false;
    for (std::uint32_t out : semantics.outputs) is_output |= out == number;
    text += fmt::format("{}{}{} : {} = {}\n", is_output ? "out " : "", printer.tensor(number),
                        printer.list({stage.index.begin(), stage.index.end()}),
                        core::to_string(stage.shape, names), printer.expression(stage.body));
  }
  for (const Requirement& r : semantics.requirements)
    text += fmt::format("require {} ≤ {} < {} for {} in {}\n", printer.polynomial(r.low),
                        printer.expression(r.value), printer.polynomial(r.high),
                        printer.list({r.index.begin(), r.index.end()}),
                        core::to_string(r.shape, names));
  return text;
}

}  // namespace soapstone::ops
