// See generalize.h. Sizes in attributes are unknowns as well, so that `split(sizes=[n, n])` becomes
// `split(sizes=[n, m])`. Equations are solved one at a time, and the sides are typed again.
#include "generator/generalization/generalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "generator/sides/rebuild.h"
#include "rules/checking/complete.h"
#include "rules/rule/substitute.h"
#include "rules/rule/typing.h"

namespace soapstone::generator {
namespace {

using core::AttributeRole;
using core::AttributeValue;
using core::Graph;
using core::Polynomial;
using core::Result;
using core::Symbol;
using core::TensorId;
using ops::SizeConstraint;

template <class Replace>
AttributeValue replaced(AttributeRole role, const AttributeValue& value, Replace& replace) {
  if (const auto* p = std::get_if<Polynomial>(&value)) return replace(role, *p);
  if (const auto* list = std::get_if<std::vector<Polynomial>>(&value)) {
    std::vector<Polynomial> all;
    for (const Polynomial& p : *list) all.push_back(replace(role, p));
    return all;
  }
  return value;
}

bool is_offset(AttributeRole role) {
  return role == AttributeRole::kStart || role == AttributeRole::kPad ||
         role == AttributeRole::kBorder;
}

/// The side with other sizes. `in_shape` maps those of inputs, one after the other, `in_attribute`
/// those of an attribute with this role.
template <class InShape, class InAttribute>
Result<Graph> with_sizes(const Graph& side, const core::SymbolTable& symbols, InShape in_shape,
                         InAttribute in_attribute) {
  const auto shape_of = [&](core::Shape shape) {
    for (core::Size& size : shape) size = in_shape(size);
    return shape;
  };
  const auto value_of = [&](const core::OpSchema& op, const std::string& name,
                            const AttributeValue& value) {
    const core::AttributeSchema* schema = op.find_attribute(name);
    const bool fixed = !schema || rules::needs_number(*schema);
    return fixed ? value : replaced(schema->role, value, in_attribute);
  };
  return rebuilt(side, symbols, shape_of, value_of);
}

/// Sizes with a symbol each.
class Fresh {
 public:
  explicit Fresh(const Offsets& offsets) : offsets_(offsets) {}

  Result<Sides> of(const Sides& sides) {
    const auto keep = [](const Polynomial& p) { return p; };
    const auto keep_named = [](AttributeRole, const Polynomial& p) { return p; };
    // Symbols of inputs come first: below `first_unknown_` they are sizes of inputs.
    std::vector<std::vector<Polynomial>> shapes;
    for (TensorId id : sides.source.inputs()) {
      auto& shape = shapes.emplace_back();
      for (const core::Size& size : sides.source.tensor(id).type.shape)
        shape.push_back(size.is_constant() ? size : symbol("d"));
    }
    first_unknown_ = static_cast<std::uint32_t>(table_.size());
    const auto side = [&](const Graph& graph) -> Result<Graph> {
      std::size_t input = 0, dimension = 0;
      const auto in_shape = [&](const Polynomial&) {
        while (dimension == shapes[input].size()) ++input, dimension = 0;
        return shapes[input][dimension++];
      };
      const auto in_attribute = [&](AttributeRole role, const Polynomial& p) {
        if (p.is_constant()) return p;
        return is_offset(role) ? offset(sides.source, shapes, p) : symbol("u");
      };
      return with_sizes(graph, table_, in_shape, in_attribute);
    };
    SOAPSTONE_ASSIGN_OR_RETURN(Graph source, side(sides.source));
    SOAPSTONE_ASSIGN_OR_RETURN(Graph target, side(sides.target));
    // Both with the same table.
    SOAPSTONE_ASSIGN_OR_RETURN(source, with_sizes(source, table_, keep, keep_named));
    SOAPSTONE_ASSIGN_OR_RETURN(target, with_sizes(target, table_, keep, keep_named));
    return Sides{std::move(source), std::move(target)};
  }
  std::uint32_t first_unknown() const { return first_unknown_; }

 private:
  Polynomial offset(const Graph& side, const std::vector<std::vector<Polynomial>>& shapes,
                    const Polynomial& found) {
    if (offsets_.kind == Offsets::Kind::kApart) return symbol("u");
    if (offsets_.kind == Offsets::Kind::kEqual) {
      const std::string text = core::to_string(AttributeValue(found), side.symbols());
      const auto known = equal_.find(text);
      return known != equal_.end() ? known->second
                                   : equal_.emplace(text, symbol("u")).first->second;
    }
    // The offset is the sum of the first inputs' sizes, if some number of them span it exactly.
    Polynomial left = found, sum = 0;
    for (std::size_t k = 0; k < shapes.size() && left != Polynomial(0); ++k) {
      const core::Shape& shape = side.tensor(side.inputs()[k]).type.shape;
      if (offsets_.axis >= shape.size()) continue;
      left = left - shape[offsets_.axis];
      sum = sum + shapes[k][offsets_.axis];
    }
    return left == Polynomial(0) ? sum : symbol("u");
  }

  Polynomial symbol(std::string_view stem) {
    return table_.intern(fmt::format("{}{}", stem, table_.size()));
  }
  Offsets offsets_;
  std::map<std::string, Polynomial> equal_;
  core::SymbolTable table_;
  std::uint32_t first_unknown_ = 0;
};

struct Solution {
  Symbol symbol;
  Polynomial value;
};

/// A symbol that the equation p = 0 gives a value; the last one, so that unknowns in attributes go
/// first. `known`: symbols from here on are derived sizes, which have no value.
std::optional<Solution> isolated(const Polynomial& p, std::uint32_t known) {
  const std::vector<Symbol> symbols = p.symbols();
  if (!symbols.empty() && symbols.back().id >= known) return std::nullopt;
  for (auto s = symbols.rbegin(); s != symbols.rend(); ++s) {
    const std::int64_t factor = p.coefficient(*s);
    if (factor != 1 && factor != -1) continue;
    const Polynomial rest = p - Polynomial(factor) * Polynomial(*s);
    if (!rest.mentions(*s)) return Solution{*s, factor == 1 ? -rest : rest};
  }
  return std::nullopt;
}

bool has_negative(const Polynomial& p) {
  return p.constant() < 0 || std::ranges::any_of(p.terms(), [](const Polynomial::Term& term) {
           return term.coefficient < 0;
         });
}

/// A size that is a difference would be wrong where it is negative; such an equation is a guard.
std::optional<Solution> solve(const rules::TypedSides& typed, std::uint32_t known,
                              std::uint32_t first_unknown) {
  for (const auto* list : {&typed.assumptions, &typed.requirements})
    for (const SizeConstraint& c : *list) {
      if (c.kind != SizeConstraint::Kind::kZero || c.expression.is_constant()) continue;
      auto solution = isolated(c.expression, known);
      if (!solution) continue;
      if (solution->symbol.id >= first_unknown || !has_negative(solution->value)) return solution;
    }
  return std::nullopt;
}

core::Status put(Sides& sides, const Solution& solution) {
  const auto substitute = [&](const Polynomial& p) {
    return p.substitute([&](Symbol s) -> std::optional<Polynomial> {
      if (s == solution.symbol) return solution.value;
      return std::nullopt;
    });
  };
  const auto in_attribute = [&](AttributeRole, const Polynomial& p) { return substitute(p); };
  for (Graph* side : {&sides.source, &sides.target}) {
    SOAPSTONE_ASSIGN_OR_RETURN(*side, with_sizes(*side, side->symbols(), substitute, in_attribute));
  }
  return core::Done{};
}

/// Only symbols that occur, numbered as they occur.
Result<Sides> renumbered(const Sides& sides) {
  core::SymbolTable table;
  std::map<Symbol, Symbol> known;
  const auto rename = [&](const Polynomial& p) {
    return p.substitute([&](Symbol s) -> std::optional<Polynomial> {
      const auto found = known.find(s);
      if (found != known.end()) return found->second;
      const Symbol fresh = table.intern(fmt::format("n{}", known.size()));
      known.emplace(s, fresh);
      return fresh;
    });
  };
  const auto rename_named = [&](AttributeRole, const Polynomial& p) { return rename(p); };
  const auto keep = [](const Polynomial& p) { return p; };
  const auto keep_named = [](AttributeRole, const Polynomial& p) { return p; };
  SOAPSTONE_ASSIGN_OR_RETURN(Graph source, with_sizes(sides.source, {}, rename, rename_named));
  SOAPSTONE_ASSIGN_OR_RETURN(Graph target, with_sizes(sides.target, {}, rename, rename_named));
  SOAPSTONE_ASSIGN_OR_RETURN(source, with_sizes(source, table, keep, keep_named));
  SOAPSTONE_ASSIGN_OR_RETURN(target, with_sizes(target, table, keep, keep_named));
  return Sides{std::move(source), std::move(target)};
}

}  // namespace

bool has_offsets(const Sides& sides) {
  for (const Graph* side : {&sides.source, &sides.target})
    for (core::NodeId id : side->order())
      for (const core::AttributeSchema& schema : side->node(id).op->attributes)
        if (is_offset(schema.role) &&
            !std::ranges::all_of(side->node(id).attributes.get_sizes(schema.name),
                                 [](const Polynomial& p) { return p.is_constant(); }))
          return true;
  return false;
}

Result<Sides> generalized(const Sides& sides, const Offsets& offsets) {
  Fresh fresh(offsets);
  SOAPSTONE_ASSIGN_OR_RETURN(Sides general, fresh.of(sides));
  const auto known = static_cast<std::uint32_t>(general.source.symbols().size());
  for (std::uint32_t round = 0; round <= known; ++round) {
    SOAPSTONE_ASSIGN_OR_RETURN(const rules::TypedSides typed,
                               rules::type_sides(general.source, general.target, {}));
    const auto solution = solve(typed, known, fresh.first_unknown());
    if (!solution) break;
    SOAPSTONE_RETURN_IF_ERROR(put(general, *solution));
  }
  return renumbered(general);
}

}  // namespace soapstone::generator
