// See pattern.h. Compiling happens once per rule; matching then touches no map and no polynomial
// until a whole pattern has been found.
#include "rules/matching/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "core/base/hash.h"
#include "ops/definition/by_role.h"
#include "rules/rule/constraints.h"
#include "rules/rule/substitute.h"

namespace soapstone::rules {

using core::Polynomial;
using core::Symbol;

namespace {

class PatternCompiler {
 public:
  PatternCompiler(const Rule& rule, Numbers numbers)
      : rule_(rule), source_(rule.source), numbers_(numbers), slot_of_(source_.tensor_bound(), -1) {
  }

  Result<Pattern> run() {
    pattern_.symbol_count = source_.symbols().size();
    for (const ops::DerivedSize& d : rule_.derived)
      pattern_.symbol_count = std::min<std::size_t>(pattern_.symbol_count, d.symbol.id);
    known_.assign(pattern_.symbol_count, false);
    add_slots();
    for (std::size_t k = 0; k < source_.order().size(); ++k) {
      const core::Node& node = source_.node(source_.order()[k]);
      if (!is_scalar(node)) add_node(node, k);
    }
    for (TensorId id : source_.outputs()) pattern_.outputs.push_back(slot(id));
    number_siblings();
    add_stated();
    SOAPSTONE_RETURN_IF_ERROR(order_equations());
    SOAPSTONE_RETURN_IF_ERROR(make_plans());
    return std::move(pattern_);
  }

 private:
  std::int32_t slot(TensorId id) const { return id.valid() ? slot_of_[id.index()] : -1; }

  std::int32_t add_slot(TensorId id, SlotPattern slot) {
    slot_of_[id.index()] = static_cast<std::int32_t>(pattern_.slots.size());
    pattern_.slots.push_back(std::move(slot));
    return slot_of_[id.index()];
  }

  void add_slots() {
    for (std::size_t k = 0; k < source_.inputs().size(); ++k) {
      const core::TensorType& type = source_.tensor(source_.inputs()[k]).type;
      SlotPattern slot{SlotPattern::Kind::kInput,
                       type.data_type,
                       k < rule_.constant_inputs.size() && rule_.constant_inputs[k],
                       {},
                       nullptr,
                       {}};
      for (const core::Size& size : type.shape) slot.dims.push_back(size_pattern(size, true));
      add_slot(source_.inputs()[k], std::move(slot));
    }
    for (NodeId id : source_.order()) {
      const core::Node& node = source_.node(id);
      for (TensorId input : node.inputs)
        if (input.valid() && source_.tensor(input).value && slot(input) < 0)
          add_slot(input,
                   {SlotPattern::Kind::kLiteral, {}, true, {}, source_.tensor(input).value, {}});
      if (is_scalar(node)) {
        add_scalar(node);
      } else {
        for (TensorId output : node.outputs) add_slot(output, {});
      }
    }
  }

  /// A `full` of one number that is a symbol. Graphs have such numbers as constants, so it matches
  /// a tensor and no node.
  bool is_scalar(const core::Node& node) const {
    if (numbers_ == Numbers::kNodes || node.op->movement != core::Movement::kFill ||
        source_.is_output(node.outputs[0]))
      return false;
    const auto& shape = ops::sizes_by_role(node, core::AttributeRole::kShape);
    return std::ranges::all_of(shape, [](const Polynomial& size) { return size == 1; }) &&
           std::holds_alternative<Polynomial>(value_of(node));
  }

  static const core::AttributeValue& value_of(const core::Node& node) {
    return *node.attributes.find(node.op->find_role(core::AttributeRole::kReal)->name);
  }

  void add_scalar(const core::Node& node) {
    SlotPattern slot{SlotPattern::Kind::kScalar, {}, true, {}, nullptr, {}};
    for (const Polynomial& size : ops::sizes_by_role(node, core::AttributeRole::kShape))
      slot.dims.push_back(size_pattern(size));
    slot.value = size_pattern(std::get<Polynomial>(value_of(node)));
    add_slot(node.outputs[0], std::move(slot));
  }

  SizePattern size_pattern(const Polynomial& p, bool of_size = false) {
    if (p.is_constant()) return {SizePattern::Kind::kNumber, p.constant()};
    const Symbol first = p.terms()[0].monomial[0];
    if (p == Polynomial(first)) {
      known_[first.id] = true;
      return {SizePattern::Kind::kSymbol, first.id};
    }
    pattern_.equations.push_back({p, -1, 0, 0, of_size});
    return {SizePattern::Kind::kLater, static_cast<std::int64_t>(pattern_.equations.size()) - 1};
  }

  void add_node(const core::Node& node, std::size_t place) {
    NodePattern n;
    n.op = node.op;
    n.place = place;
    for (TensorId input : node.inputs) n.inputs.push_back(slot(input));
    while (!n.inputs.empty() && n.inputs.back() < 0) n.inputs.pop_back();
    for (TensorId output : node.outputs) n.outputs.push_back(slot(output));
    for (const auto& [name, value] : node.attributes.values()) {
      const core::AttributeSchema* schema = node.op->find_attribute(name);
      n.attributes.push_back(
          attribute_pattern(value, schema && schema->kind() == core::AttributeKind::kReal));
    }
    if (const core::TensorType& type = source_.tensor(node.outputs[0]).type; type.shape_known)
      n.result_rank = static_cast<int>(type.shape.size());
    pattern_.nodes.push_back(std::move(n));
  }

  AttributePattern attribute_pattern(const core::AttributeValue& value, bool is_real) {
    AttributePattern a;
    if (const auto* p = std::get_if<Polynomial>(&value)) {
      a.kind = is_real ? AttributePattern::Kind::kRealSymbol : AttributePattern::Kind::kInts;
      a.elements = {size_pattern(*p)};
    } else if (const auto* list = std::get_if<std::vector<Polynomial>>(&value)) {
      a.is_list = true;
      for (const Polynomial& element : *list) a.elements.push_back(size_pattern(element));
    } else if (const auto* real = std::get_if<double>(&value)) {
      a.kind = AttributePattern::Kind::kReal;
      a.real = *real;
    } else {
      a.kind = AttributePattern::Kind::kText;
      a.text = std::get<std::string>(value);
    }
    return a;
  }

  void number_siblings() {
    const auto alike = [](const NodePattern& a, const NodePattern& b, std::size_t operand) {
      return a.op == b.op && a.attributes == b.attributes && a.inputs.size() == b.inputs.size() &&
             a.inputs[operand] == b.inputs[operand];
    };
    for (NodePattern& node : pattern_.nodes) {
      for (std::uint32_t k = 0; k < node.inputs.size() && k < 2; ++k) {
        std::uint32_t before = 0, all = 0;
        for (const NodePattern& other : pattern_.nodes) {
          if (node.inputs[k] < 0 || !alike(node, other, k)) continue;
          ++all;
          before += &other < &node ? 1 : 0;
        }
        if (all <= node.siblings) continue;
        node.sibling = before;
        node.siblings = all;
        node.shared = k;
      }
      pattern_.siblings = std::max(pattern_.siblings, node.siblings);
    }
  }

  /// Conditions may determine what shapes and attributes of the source do not mention; the guard
  /// checks all others anyway.
  void add_stated() {
    std::vector<bool> mentioned = known_;
    for (const Equation& equation : pattern_.equations)
      for (Symbol s : equation.polynomial.symbols()) mentioned[s.id] = true;
    for (const ops::SizeConstraint& c : rule_.guard) {
      const std::vector<Symbol> symbols = c.expression.symbols();
      const bool determines = std::ranges::any_of(
          symbols, [&](Symbol s) { return s.id < mentioned.size() && !mentioned[s.id]; });
      if (c.label == kStatedLabel && c.kind == ops::SizeConstraint::Kind::kZero && determines)
        pattern_.equations.push_back({c.expression, -1, 0, 0, false, Equation::Kind::kStated});
    }
    for (const ChosenSize& chosen : chosen_sizes(rule_.guard))
      pattern_.equations.push_back({Polynomial(0), chosen.symbol.id, chosen.low, chosen.high, true,
                                    Equation::Kind::kChosen});
  }

  /// Picks equations with at most one unknown until none is left. A size is chosen only where no
  /// equation helps.
  core::Status order_equations() {
    std::vector<bool> done(pattern_.equations.size());
    const auto pick = [&](bool chosen) {
      bool progress = false;
      for (std::uint32_t e = 0; e < done.size(); ++e) {
        Equation& equation = pattern_.equations[e];
        if (done[e] || (equation.kind == Equation::Kind::kChosen) != chosen) continue;
        if (chosen ? !prepare_choice(equation) : !prepare(equation)) continue;
        done[e] = progress = true;
        pattern_.equation_order.push_back(e);
        if (chosen) break;
      }
      return progress;
    };
    while (pick(false) || pick(true)) {
    }
    for (Symbol s : needed_symbols())
      if (s.id < known_.size() && !known_[s.id]) {
        const std::string& name = source_.symbols().name(s);
        return core::invalid_input(
            fmt::format("the source does not determine `{}`", name),
            fmt::format("if any size will do, say from where to where: `choose {} in 1..n`", name));
      }
    return core::Done{};
  }

  bool prepare_choice(const Equation& choice) {
    const auto is_known = [&](Symbol s) { return s.id < known_.size() && known_[s.id]; };
    const Symbol chosen{static_cast<std::uint32_t>(choice.solve_for)};
    if (is_known(chosen) || !std::ranges::all_of(choice.factor.symbols(), is_known) ||
        !std::ranges::all_of(choice.rest.symbols(), is_known))
      return false;
    known_[chosen.id] = true;
    return true;
  }

  std::vector<Symbol> needed_symbols() const {
    std::vector<Symbol> needed = attribute_symbols(rule_.target);
    const auto add = [&](const Polynomial& p) {
      for (Symbol s : p.symbols()) needed.push_back(s);
    };
    for (const Equation& equation : pattern_.equations) add(equation.polynomial);
    for (const ops::SizeConstraint& c : rule_.guard) add(c.expression);
    return needed;
  }

  /// Whether the equation can be solved or checked by now.
  bool prepare(Equation& equation) {
    std::vector<Symbol> unknown;
    for (Symbol s : equation.polynomial.symbols())
      if (!known_[s.id]) unknown.push_back(s);
    if (unknown.empty()) return true;
    if (unknown.size() > 1) return false;
    const Symbol wanted = unknown[0];
    equation.factor = 0;
    equation.rest = equation.polynomial.constant();
    for (const Polynomial::Term& term : equation.polynomial.terms()) {
      const auto times = std::ranges::count(term.monomial, wanted);
      if (times > 1) return false;
      Polynomial others = term.coefficient;
      for (Symbol s : term.monomial)
        if (s != wanted) others *= Polynomial(s);
      (times == 1 ? equation.factor : equation.rest) += others;
    }
    equation.solve_for = wanted.id;
    known_[wanted.id] = true;
    return true;
  }

  core::Status make_plans() {
    std::int64_t best = -1;
    for (std::size_t start = 0; start < pattern_.nodes.size(); ++start) {
      pattern_.plans.push_back(plan_from(start));
      const Plan& plan = pattern_.plans.back();
      if (plan.size() != pattern_.nodes.size())
        return core::invalid_input("the source falls into parts that share no tensor",
                                   "write a rule for each part");
      const std::int64_t cost = start_cost(plan);
      if (best >= 0 && cost >= best) continue;
      best = cost;
      pattern_.anchor = start;
    }
    return core::Done{};
  }

  /// Rare operators first; then few steps that have to try several consumers.
  std::int64_t start_cost(const Plan& plan) const {
    std::int64_t cost =
        std::int64_t{8} * commonness(*pattern_.nodes[static_cast<std::size_t>(plan[0].node)].op);
    for (const Step& step : plan) cost += step.via >= 0 && !step.to_producer ? 2 : 0;
    return cost;
  }

  /// Producers first: there is only one of them to try.
  Plan plan_from(std::size_t start) const {
    Plan plan{{static_cast<std::int32_t>(start), -1, false}};
    std::vector<bool> visited(pattern_.nodes.size()), reached(pattern_.slots.size());
    const auto visit = [&](std::size_t node) {
      visited[node] = true;
      const NodePattern& n = pattern_.nodes[node];
      for (std::int32_t s : n.outputs) reached[static_cast<std::size_t>(s)] = true;
      for (std::int32_t s : n.inputs)
        if (s >= 0) reached[static_cast<std::size_t>(s)] = true;
    };
    visit(start);
    for (bool progress = true; progress;) {
      progress = false;
      for (bool to_producer : {true, false}) {
        for (std::size_t node = 0; node < visited.size() && !progress; ++node) {
          const std::int32_t via = visited[node] ? -1 : touching(node, reached, to_producer);
          if (via < 0) continue;
          plan.push_back({static_cast<std::int32_t>(node), via, to_producer});
          visit(node);
          progress = true;
        }
      }
    }
    return plan;
  }

  /// A reached slot that the node makes, or one that it reads.
  std::int32_t touching(std::size_t node, const std::vector<bool>& reached, bool makes) const {
    const NodePattern& n = pattern_.nodes[node];
    for (std::int32_t s : makes ? n.outputs : n.inputs) {
      if (s < 0 || !reached[static_cast<std::size_t>(s)]) continue;
      // Equal literals need not be one tensor in the graph.
      const SlotPattern::Kind kind = pattern_.slots[static_cast<std::size_t>(s)].kind;
      if (kind != SlotPattern::Kind::kLiteral && kind != SlotPattern::Kind::kScalar) return s;
    }
    return -1;
  }

  const Rule& rule_;
  const Graph& source_;
  Numbers numbers_;
  std::vector<std::int32_t> slot_of_;
  std::vector<bool> known_;
  Pattern pattern_;
};

template <class Elements, class Number>
std::uint64_t hash_numbers(const Elements& elements, Number number) {
  std::uint64_t hash = 17;
  for (const auto& element : elements)
    hash = core::hash_combine(hash, static_cast<std::uint64_t>(std::invoke(number, element)));
  return hash | 1;
}

}  // namespace

Result<Pattern> compile_pattern(const Rule& rule, Numbers numbers) {
  return PatternCompiler(rule, numbers).run();
}

int commonness(const core::OpSchema& op) {
  constexpr std::array<std::string_view, 8> kCommon = {"add",    "mul",       "relu",  "reshape",
                                                       "concat", "transpose", "split", "conv"};
  return static_cast<int>(kCommon.end() - std::ranges::find(kCommon, op.name));
}

int key_attribute(const core::OpSchema& op) {
  using enum core::AttributeRole;
  for (const core::AttributeRole wanted : {kPermutation, kAxis, kAxes}) {
    const core::AttributeSchema* key = op.find_role(wanted);
    if (key == nullptr) continue;
    // Attributes of a node are sorted by name, not in the order of the schema.
    return static_cast<int>(std::ranges::count_if(
        op.attributes, [&](const core::AttributeSchema& a) { return a.name < key->name; }));
  }
  return -1;
}

std::uint64_t attribute_key(const AttributePattern& attribute) {
  const bool numbers = std::ranges::all_of(attribute.elements, [](const SizePattern& e) {
    return e.kind == SizePattern::Kind::kNumber;
  });
  return numbers ? hash_numbers(attribute.elements, &SizePattern::value) : 0;
}

std::uint64_t pattern_key(const NodePattern& node) {
  const int k = key_attribute(*node.op);
  return k < 0 ? 0 : attribute_key(node.attributes[static_cast<std::size_t>(k)]);
}

std::uint64_t attribute_key(const core::AttributeValue& value) {
  const auto number = [](const core::Polynomial& p) { return p.constant(); };
  if (const auto* p = std::get_if<core::Polynomial>(&value))
    return hash_numbers(std::span(p, 1), number);
  const auto* list = std::get_if<std::vector<core::Polynomial>>(&value);
  return list ? hash_numbers(*list, number) : 0;
}

}  // namespace soapstone::rules
