// See complete.h.
#include "rules/checking/complete.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/syntax/lexer.h"
#include "rules/matching/pattern.h"
#include "rules/rule/constraints.h"
#include "rules/rule/substitute.h"
#include "rules/rule/typing.h"
#include "rules/sampling/sample.h"

namespace soapstone::rules {

using ops::SizeConstraint;

namespace {

/// In sizes of inputs and in attributes that are no reals.
std::vector<core::Symbol> integer_symbols(const Graph& side) {
  std::vector<core::Symbol> symbols;
  const auto add = [&](const core::Polynomial& p) {
    std::ranges::copy(p.symbols(), std::back_inserter(symbols));
  };
  for (TensorId id : side.inputs()) std::ranges::for_each(side.tensor(id).type.shape, add);
  for (NodeId id : side.order()) {
    const core::Node& node = side.node(id);
    for (const core::AttributeSchema& schema : node.op->attributes) {
      const core::AttributeValue* value = node.attributes.find(schema.name);
      if (!value || schema.kind() == core::AttributeKind::kReal) continue;
      if (const auto* p = std::get_if<core::Polynomial>(value)) add(*p);
      if (const auto* list = std::get_if<std::vector<core::Polynomial>>(value))
        std::ranges::for_each(*list, add);
    }
  }
  return symbols;
}

std::vector<SizeConstraint> where_clauses(const Rule& rule) {
  std::vector<SizeConstraint> clauses;
  for (const SizeConstraint& c : rule.guard)
    if (is_stated(c)) clauses.push_back(c);
  return clauses;
}

/// Sums and products of sizes that a rule's author may write must not overflow in any shape rule.
bool is_moderate(const core::Polynomial& p) {
  constexpr std::int64_t kLargest = 1'000'000;
  constexpr std::size_t kHighestDegree = 8;
  const auto small = [](std::int64_t v) { return v >= -kLargest && v <= kLargest; };
  return small(p.constant()) && std::ranges::all_of(p.terms(), [&](const auto& term) {
           return small(term.coefficient) && term.monomial.size() <= kHighestDegree;
         });
}

bool has_moderate_numbers(const Graph& side) {
  for (TensorId id : side.inputs())
    if (!std::ranges::all_of(side.tensor(id).type.shape, is_moderate)) return false;
  for (NodeId id : side.order())
    for (const auto& [name, value] : side.node(id).attributes.values()) {
      const auto* p = std::get_if<core::Polynomial>(&value);
      const auto* list = std::get_if<std::vector<core::Polynomial>>(&value);
      if ((p && !is_moderate(*p)) || (list && !std::ranges::all_of(*list, is_moderate)))
        return false;
    }
  return true;
}

/// The `where` clauses that remain for these values. Errors: they exclude the values.
Result<std::vector<SizeConstraint>> conditions(const Rule& rule, const Bindings& values) {
  std::vector<SizeConstraint> open;
  for (const SizeConstraint& c : where_clauses(rule)) {
    const core::Polynomial p = substitute(c.expression, values);
    const bool zero = c.kind == SizeConstraint::Kind::kZero;
    if (!p.is_constant())
      open.push_back({c.kind, p, c.label});
    else if (zero ? p.constant() != 0 : p.constant() < 0)
      return core::invalid_input("the values do not satisfy the conditions of the rule");
  }
  return open;
}

/// A size equation in the source would not be certain where a size is 1 and broadcasts; with a
/// `where` clause it is checked. Reshapes and splits cannot be unless their equations hold.
core::Status refuse_equations(const TypedSides& typed, const std::vector<SizeConstraint>& where) {
  for (const SizeConstraint& c : not_implied(typed.assumptions, where, {}))
    if (c.kind == SizeConstraint::Kind::kZero && c.label != "reshape.element_count" &&
        c.label != "split.sizes")
      return core::invalid_input(
          fmt::format("the source needs {} [{}]", to_string(c, typed.source.symbols()), c.label),
          "write equal sizes with the same symbols, or add `where`");
  return core::Done{};
}

/// Requirements that follow neither from the source nor from `where`.
std::vector<SizeConstraint> open_requirements(const TypedSides& typed,
                                              const std::vector<SizeConstraint>& where) {
  std::vector<SizeConstraint> known = typed.assumptions;
  known.insert(known.end(), where.begin(), where.end());
  return not_implied(typed.requirements, known, size_symbols(typed.source));
}

bool reals_are_symbols(const Graph& side) {
  return std::ranges::all_of(side.order(), [&](NodeId id) {
    const core::Node& node = side.node(id);
    return std::ranges::all_of(node.op->attributes, [&](const core::AttributeSchema& schema) {
      const auto* value = node.attributes.find(schema.name);
      const auto* p = value ? std::get_if<core::Polynomial>(value) : nullptr;
      if (schema.kind() != core::AttributeKind::kReal || !p || p->is_constant()) return true;
      return p->symbols().size() == 1 && *p == core::Polynomial(p->symbols()[0]);
    });
  });
}

/// Reals are matched bit by bit and computed with as doubles; sizes are integers.
core::Status refuse_mixed_reals(const Rule& rule) {
  if (!reals_are_symbols(rule.source))
    return core::invalid_input("a real attribute of the source is a number or a symbol alone");
  const auto matched = parameters_of(rule.source, rule.source, true);
  const core::SymbolTable& names = rule.source.symbols();
  for (core::Symbol s : parameters_of(rule.source, rule.target, true)) {
    const bool is_matched = std::ranges::binary_search(matched, s);
    if (!is_matched && !core::is_identifier(names.name(s)))
      return core::invalid_input(fmt::format(
          "`{}` is a size; a real attribute has sums and products of reals alone", names.name(s)));
    if (!is_matched)
      return core::invalid_input(
          fmt::format("the real number `{}` is no real attribute of the source", names.name(s)));
    std::vector<core::Symbol> integers = integer_symbols(rule.source);
    std::ranges::copy(integer_symbols(rule.target), std::back_inserter(integers));
    if (std::ranges::find(integers, s) != integers.end())
      return core::invalid_input(
          fmt::format("`{}` stands for a real number and for an integer", names.name(s)));
  }
  return core::Done{};
}

/// Types that follow from some values of the parameters, to see that there are any at all.
core::Status try_parameters(const Rule& rule, TypingFailure* failure, int attempts) {
  const Sampler sampler(rule);
  Random random(1);
  core::Error last = core::invalid_input("no values of the parameters were tried");
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const Bindings values = sampler.parameters(random);
    const auto where = conditions(rule, values);
    auto typed = type_sides(rule.source, rule.target, values, failure);
    if (!where || !typed) {
      last = where ? typed.error() : where.error();
      continue;
    }
    if (auto status = refuse_equations(*typed, *where); !status) {
      last = status.error();
      if (failure) *failure = {};
      continue;
    }
    if (failure) *failure = {};
    for (const SizeConstraint& open : open_requirements(*typed, *where))
      if (open.kind == SizeConstraint::Kind::kZero)
        return core::invalid_input(
            fmt::format("the target needs {} [{}], which does not follow from the source",
                        to_string(open, typed->target.symbols()), open.label),
            "write equal sizes with the same symbols, or add `where`");
    return core::Done{};
  }
  return last;
}

/// Whether no sizes make it zero: all terms have one sign.
bool is_never_zero(const core::Polynomial& p, const std::vector<core::Symbol>& sizes) {
  bool positive = p.constant() >= 0, negative = p.constant() <= 0;
  for (const core::Polynomial::Term& term : p.terms()) {
    for (core::Symbol s : term.monomial)
      if (!std::ranges::binary_search(sizes, s)) return false;
    positive = positive && term.coefficient > 0;
    negative = negative && term.coefficient < 0;
  }
  return positive || negative;
}

core::Status complete_without_parameters(Rule& rule, TypingFailure* failure) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto typed, type_sides(rule.source, rule.target, {}, failure));
  std::vector<SizeConstraint> guard = where_clauses(rule);
  SOAPSTONE_RETURN_IF_ERROR(refuse_equations(typed, guard));
  for (SizeConstraint& open : open_requirements(typed, guard)) {
    if (open.kind == SizeConstraint::Kind::kZero &&
        is_never_zero(open.expression, size_symbols(typed.source)))
      return core::invalid_input(fmt::format("the target needs {} [{}], which no sizes satisfy",
                                             to_string(open, typed.target.symbols()), open.label));
    guard.push_back(std::move(open));
  }
  rule.guard = std::move(guard);
  rule.source = std::move(typed.source);
  rule.target = std::move(typed.target);
  rule.derived = std::move(typed.derived);
  return core::Done{};
}

}  // namespace

Result<Rule> complete(Rule rule, TypingFailure* failure, Purpose purpose, int parameter_attempts) {
  if (failure) *failure = {};
  const bool matched = purpose == Purpose::kMatching;
  if (matched && same_structure(rule.source, rule.target))
    return core::invalid_input("source and target are the same", "there is nothing to rewrite");
  const bool moderate = has_moderate_numbers(rule.source) && has_moderate_numbers(rule.target) &&
                        std::ranges::all_of(rule.guard, is_moderate, &SizeConstraint::expression);
  if (!moderate)
    return core::invalid_input("a number in the rule is larger than a million",
                               "a symbol stands for a size of any magnitude");
  rule.derived.clear();
  rule.parameters = parameters_of(rule.source, rule.target, false);
  rule.real_parameters = parameters_of(rule.source, rule.target, true);
  if (!rule.real_parameters.empty()) SOAPSTONE_RETURN_IF_ERROR(refuse_mixed_reals(rule));
  if (matched && !rule.is_placed) {
    if (auto pattern = compile_pattern(rule, Numbers::kConstants); !pattern) return pattern.error();
  }
  if (rule.parameters.empty()) {
    SOAPSTONE_RETURN_IF_ERROR(complete_without_parameters(rule, failure));
  } else {
    SOAPSTONE_RETURN_IF_ERROR(try_parameters(rule, failure, parameter_attempts));
    rule.guard = where_clauses(rule);
  }
  return rule;
}

Result<Bindings> sample_parameters(const Rule& rule, std::uint64_t seed) {
  if (rule.parameters.empty()) return Bindings(rule.source.symbols().size());
  const Sampler sampler(rule);
  Random random(seed);
  core::Error last = core::invalid_input("no values of the parameters were tried");
  for (int attempt = 0; attempt < kParameterAttempts; ++attempt) {
    Bindings values = sampler.parameters(random);
    auto special = specialize(rule, values);
    if (special) return values;
    last = special.error();
  }
  return last;
}

Result<Rule> specialize(const Rule& rule, const Bindings& values) {
  for (core::Symbol s : rule.parameters)
    if (s.id >= values.size() || !values[s.id])
      return core::invalid_input(
          fmt::format("parameter `{}` has no value", rule.source.symbols().name(s)));
  Rule special = rule;
  SOAPSTONE_ASSIGN_OR_RETURN(special.guard, conditions(rule, values));
  SOAPSTONE_ASSIGN_OR_RETURN(auto typed, type_sides(rule.source, rule.target, values));
  SOAPSTONE_RETURN_IF_ERROR(refuse_equations(typed, special.guard));
  for (SizeConstraint& open : open_requirements(typed, special.guard))
    special.guard.push_back(std::move(open));
  special.source = std::move(typed.source);
  special.target = std::move(typed.target);
  special.derived = std::move(typed.derived);
  special.parameters.clear();
  special.real_parameters.clear();
  return special;
}

}  // namespace soapstone::rules
