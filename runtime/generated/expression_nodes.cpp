// The statements for each kind of node of a comprehension; see expression_text.h.
#include <numeric>

#include <fmt/format.h>

#include "runtime/generated/element_types.h"
#include "runtime/generated/expression_text.h"

namespace soapstone::runtime::generated {

using ops::Function;
using ops::evaluation::Domain;
using ops::evaluation::NodeKind;

Value ExpressionText::compute(const TreeNode& node, const Substitution& at) {
  switch (node.kind) {
  case NodeKind::kNumber: {
    const Scalar type = type_of(region_, node);
    return {number_text(node.number, type), type};
  }
  case NodeKind::kIndexValue:
    return {fmt::format("Integer({})", space_.text(substituted(node.position, at))),
            Scalar::kInteger};
  case NodeKind::kRead:
    return element(node.tensor, substituted(node.position, at));
  case NodeKind::kAdd:
    return joined(node, at, " + ");
  case NodeKind::kMul:
    return joined(node, at, " * ");
  case NodeKind::kInverse: {
    const Scalar type = type_of(region_, node);
    const Value value = compute(node.children[0], at);
    return declare(type, fmt::format("{} / {}", number_text({1, 1}, type), converted(value, type)));
  }
  case NodeKind::kApply:
    return compute_apply(node, at);
  case NodeKind::kGuard:
    return compute_guard(node, at);
  case NodeKind::kSum:
  case NodeKind::kMax:
    return compute_reduction(node, at);
  case NodeKind::kLookup:
    return compute_lookup(node, at);
  }
  return {};
}

/// Numbers are written in the type of the whole.
Value ExpressionText::joined(const TreeNode& node, const Substitution& at, const char* symbol) {
  const Scalar type = type_of(region_, node);
  std::string text;
  for (const TreeNode& child : node.children) {
    const std::string operand = child.kind == NodeKind::kNumber
                                    ? number_text(child.number, type)
                                    : converted(compute(child, at), type);
    text += (text.empty() ? "" : symbol) + operand;
  }
  return declare(type, text);
}

/// A power with a small whole exponent is a product: calling the function takes registers for it.
/// None: another function, or another exponent.
std::optional<Value> ExpressionText::compute_power(const TreeNode& node, const Substitution& at) {
  constexpr std::int64_t kLargestExponent = 4;
  if (node.function != Function::kPow || node.children[1].kind != NodeKind::kNumber)
    return std::nullopt;
  const ops::Rational& exponent = node.children[1].number;
  const Scalar type = type_of(region_, node);
  if (type == Scalar::kInteger || exponent.denominator != 1 || exponent.numerator < 1 ||
      exponent.numerator > kLargestExponent)
    return std::nullopt;
  const std::string base = converted(compute(node.children[0], at), type);
  std::string product = base;
  for (std::int64_t k = 1; k < exponent.numerator; ++k) product += " * " + base;
  return declare(type, product);
}

Value ExpressionText::compute_apply(const TreeNode& node, const Substitution& at) {
  if (const auto power = compute_power(node, at)) return *power;
  if (keeps_columns_ && is_in_columns() && is_costly(node.function))
    return kept_column(column_key(node, at), type_of(region_, node),
                       [&] { return compute_function(node, at); });
  if (holds_ && is_in_columns() && is_costly(node.function))
    return held_column(column_key(node, at), type_of(region_, node),
                       [&] { return compute_function(node, at); });
  return compute_function(node, at);
}

Value ExpressionText::compute_function(const TreeNode& node, const Substitution& at) {
  std::vector<Value> values;
  for (const TreeNode& child : node.children) values.push_back(compute(child, at));
  const Scalar type = type_of(region_, node);
  if (node.function == Function::kSelect)
    return declare(type, fmt::format("{} != 0 ? {} : {}", values[0].text,
                                     converted(values[1], type), converted(values[2], type)));
  Scalar widest = values[0].type;
  for (const Value& value : values) widest = std::max(widest, value.type);
  // What has values that are no integers is computed in the type of the result.
  if (type == Scalar::kDouble) widest = type;
  std::string arguments;
  for (const Value& value : values)
    arguments += (arguments.empty() ? "" : ", ") + converted(value, widest);
  return declare(type, fmt::format("{}({})", function_name(node.function), arguments));
}

std::string ExpressionText::condition(const Domain& domain, const Substitution& at) {
  std::string text;
  for (const auto& c : domain.constraints)
    text += fmt::format("{}{} {} 0", text.empty() ? "" : " && ",
                        space_.text(substituted(c.expression, at)),
                        c.kind == ops::Constraint::Kind::kZero ? "==" : ">=");
  return text;
}

/// The indices where the conditions hold: variables whose bounds follow from one are narrower
/// there.
ExpressionText::Substitution ExpressionText::within(const Domain& domain, Substitution at) {
  for (const auto& c : domain.constraints) {
    const Affine form = substituted(c.expression, at);
    if (form.coefficients.size() != 1) continue;
    const auto [variable, times] = *form.coefficients.begin();
    const IndexVariable& whole = space_.variable(variable);
    if (times != 1 && times != -1) continue;
    const std::int64_t edge = -form.constant * times;  // where the form is 0
    const bool is_zero = c.kind == ops::Constraint::Kind::kZero;
    const auto narrow = space_.narrowed(variable, times > 0 || is_zero ? edge : whole.low,
                                        times < 0 || is_zero ? edge + 1 : whole.high);
    if (!narrow) continue;
    for (auto& [index, value] : at) {
      const std::int64_t step = value.coefficient(variable);
      if (step == 0) continue;
      value.add(IndexSpace::value_of(variable), -step);
      value.add(IndexSpace::value_of(*narrow), step);
    }
  }
  return at;
}

Value ExpressionText::compute_guard(const TreeNode& node, const Substitution& at) {
  const Scalar type = type_of(region_, node);
  const std::string name = fresh("g");
  if (chunk_) readings_.is_even = false;
  line(fmt::format("{} {} = 0;\nif ({}) {{", scalar_name(type), name,
                   condition(node.domains[0], at)));
  scopes_.back().lines += block(1, [&] {
    line(fmt::format("{} = {};", name,
                     converted(compute(node.children[0], within(node.domains[0], at)), type)));
  });
  line("}");
  return {name, type};
}

/// Loops over the ranges from `first` on, innermost a test of the constraints.
void ExpressionText::loop(const Domain& domain, std::size_t first, Substitution at,
                          const std::function<void(const Substitution&)>& body) {
  if (first == domain.ranges.size()) {
    const std::string test = condition(domain, at);
    if (test.empty()) return body(at);
    const std::string lines = block(1, [&] { body(within(domain, at)); });
    line(fmt::format("if ({}) {{", test));
    scopes_.back().lines += lines + "}\n";
    return;
  }
  if (chunk_) readings_.is_even = false;
  const auto& [variable, low, high] = domain.ranges[first];
  const std::string name = fresh("i");
  at[variable] = IndexSpace::value_of(space_.add(name, low, high));
  const auto times = static_cast<double>(std::max<std::int64_t>(high - low, 0));
  const std::string lines = block(times, [&] { loop(domain, first + 1, at, body); });
  line(fmt::format("for (int {0} = {1}; {0} < {2}; ++{0}) {{", name, low, high));
  scopes_.back().lines += lines + "}\n";
}

/// Joins all that one child of a sum or maximum has with what `total` holds.
void ExpressionText::add_terms(const TreeNode& node, std::size_t child, const Substitution& at,
                               const std::string& total, Scalar type) {
  const bool is_sum = node.kind == NodeKind::kSum;
  const auto term = [&](const Substitution& here) {
    const std::string value = converted(compute(node.children[child], here), type);
    line(is_sum ? fmt::format("{} += {};", total, value)
                : fmt::format("{0} = Larger()({0}, {1});", total, value));
  };
  const Domain& domain = node.domains[child];
  if (lanes_ == 0 || scopes_.size() != lane_scope_ || domain.ranges.empty())
    return loop(domain, 0, at, term);
  std::vector<std::int64_t> sizes;
  std::int64_t count = 1;
  for (const auto& range : domain.ranges) {
    sizes.push_back(range.high - range.low);
    count *= std::max<std::int64_t>(sizes.back(), 0);
  }
  if (count == 0) return;
  const std::int64_t width = std::gcd(lane_width_, count);
  reduced_ = fmt::format("reduction({} : {})", is_sum ? "+" : "larger", total);
  over_columns(count, lanes_, width, [&](const Affine& column) {
    Substitution here = at;
    const std::vector<Affine> indices = space_.indices_at(column, sizes);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      here[domain.ranges[k].variable] = indices[k];
      here[domain.ranges[k].variable].constant += domain.ranges[k].low;
    }
    loop({{}, domain.constraints}, 0, here, term);
  });
}

Value ExpressionText::compute_reduction(const TreeNode& node, const Substitution& at) {
  const bool is_sum = node.kind == NodeKind::kSum;
  const Scalar type = type_of(region_, node);
  const std::string total = fresh("s");
  line(fmt::format("{} {} = {};", scalar_name(type), total, is_sum ? "0" : "Least()"));
  bool is_shared = false;
  for (std::size_t k = 0; k < node.children.size(); ++k) {
    is_shared |= lanes_ > 1 && scopes_.size() == lane_scope_ && !node.domains[k].ranges.empty();
    add_terms(node, k, at, total, type);
  }
  if (is_shared)
    line(fmt::format("{0} = join_lanes<{1}>({0}, {2}());", total, lanes_,
                     is_sum ? "Plus" : "Larger"));
  return {total, type};
}

/// The body at the value that the key has, if it is one of the range.
Value ExpressionText::compute_lookup(const TreeNode& node, const Substitution& at) {
  const Scalar type = type_of(region_, node);
  const auto& [variable, low, high] = node.domains[0].ranges[0];
  if (chunk_) readings_.is_even = false;
  const Value key = compute(node.children[1], at);
  const std::string name = fresh("i"), result = fresh("g");
  line(fmt::format("const Integer {}l = Integer({}) - ({});", name, key.text,
                   space_.text(substituted(node.position, at))));
  line(fmt::format("{} {} = 0;", scalar_name(type), result));
  std::string test = fmt::format("{0}l >= {1} && {0}l < {2}", name, low, high);
  if (key.type != Scalar::kInteger)
    test += fmt::format(" && {0} == {1}(Integer({0}))", key.text, scalar_name(key.type));
  line(fmt::format("if ({}) {{\nconst int {} = int({}l);", test, name, name));
  Substitution here = at;
  here[variable] = IndexSpace::value_of(space_.add(name, low, high));
  scopes_.back().lines += block(1, [&] {
    line(fmt::format("{} = {};", result, converted(compute(node.children[0], here), type)));
  });
  line("}");
  return {result, type};
}

}  // namespace soapstone::runtime::generated
