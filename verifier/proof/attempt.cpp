// Ways differ in how indices are split into digits, and in what is written out.
#include "verifier/proof/attempt.h"

#include <algorithm>
#include <utility>

#include "verifier/proof/proof.h"

namespace soapstone::verifier {
namespace {

using Shapes = std::vector<std::vector<Linear>>;

bool has_size(const Shapes& shapes, const Linear& size) {
  return std::any_of(shapes.begin(), shapes.end(), [&](const std::vector<Linear>& shape) {
    return std::find(shape.begin(), shape.end(), size) != shape.end();
  });
}

/// Sizes that are products, with the factors that stand next to each other in some shape.
/// `numbers`: those that are numbers, too.
std::vector<Factorization> factorizations(const Shapes& shapes, bool numbers) {
  std::vector<Factorization> found;
  for (const std::vector<Linear>& shape : shapes) {
    for (std::size_t first = 0; first < shape.size(); ++first) {
      Linear product = shape[first];
      for (std::size_t last = first + 1; last < shape.size(); ++last) {
        if (last - first >= Monomial::kMaxDegree) break;
        product = product * shape[last];
        if (product.is_constant() && (!numbers || !has_size(shapes, product))) continue;
        std::vector<Linear> factors(shape.begin() + static_cast<std::ptrdiff_t>(first),
                                    shape.begin() + static_cast<std::ptrdiff_t>(last) + 1);
        std::erase(factors, Linear(1));
        Factorization entry{product, std::move(factors)};
        if (entry.second.size() > 1 &&
            std::find(found.begin(), found.end(), entry) == found.end()) {
          found.push_back(std::move(entry));
        }
      }
    }
  }
  // The finest first: coarser digits can be made of finer ones.
  std::stable_sort(found.begin(), found.end(), [](const Factorization& a, const Factorization& b) {
    return a.second.size() > b.second.size();
  });
  return found;
}

/// Splitting into the first digits found for each size, into the last found if these are others,
/// and none at all.
std::vector<DigitOrder> digit_orders(const std::vector<Factorization>& found) {
  std::vector<Factorization> last(found.rbegin(), found.rend());
  std::stable_sort(last.begin(), last.end(), [](const Factorization& a, const Factorization& b) {
    return a.second.size() > b.second.size();
  });
  const bool ambiguous = std::any_of(found.begin(), found.end(), [&](const Factorization& a) {
    return std::find_if(last.begin(), last.end(), [&](const Factorization& b) {
             return a.first == b.first;
           })->second != a.second;
  });
  std::vector<DigitOrder> orders{{found, true}};
  if (ambiguous) orders.push_back({std::move(last), true});
  orders.push_back({{}, false});
  return orders;
}

/// The same for both sides, and then each side in its own way: what one side counts by the factors
/// of a size, the other may count by the same factors in another order.
std::vector<DigitOrders> ways_to_split(const std::vector<DigitOrder>& orders) {
  std::vector<DigitOrders> ways;
  for (const DigitOrder& order : orders) ways.push_back({order, order});
  const bool ambiguous = orders.size() > 2;
  if (ambiguous) {
    ways.push_back({orders[0], orders[1]});
    ways.push_back({orders[1], orders[0]});
  }
  return ways;
}

std::vector<core::DataType> input_types(const core::Graph& graph) {
  std::vector<core::DataType> result;
  for (core::TensorId id : graph.inputs()) result.push_back(graph.tensor(id).type.data_type);
  return result;
}

}  // namespace

/// An operator that does not admit a value of an index ends the whole computation, wherever it
/// stands: so what one side demands at all places is compared with what the other does.
std::string Attempt::compare_requirements() {
  // First what the target demands; then what is certainly enough for it.
  for (std::size_t way = 0; way < 2 * ways_.size(); ++way) {
    Domain source;
    Domain target;
    bool exceeds = false;
    {
      laws_.digits.set_order(ways_[way / 2].source);
      const Demands::Noting noting(laws_.demands, source);
      source_.note_requirements(false);
    }
    {
      laws_.digits.set_order(ways_[way / 2].target);
      const Demands::Noting noting(laws_.demands, target);
      exceeds = target_.note_requirements(way % 2 == 1);
    }
    Checker checker(laws_.proof);
    if (!target.is_within(source, arena_, oracle_, checker)) continue;
    keeps_domain_ = keeps_domain_ && !exceeds && source.is_within(target, arena_, oracle_, checker);
    return {};
  }
  lacks_values_ = true;
  return "the target may not admit values that the source admits";
}

std::string Attempt::compare(std::size_t output, Effort effort) {
  const core::TensorId left = rule_.source.outputs()[output];
  const core::TensorId right = rule_.target.outputs()[output];
  const std::vector<Linear> shape = source_.shape(left);
  const std::vector<Linear> other = target_.shape(right);
  if (shape.size() != other.size()) return "the results have different ranks";
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (!(shape[k] == other[k]) && !oracle_.implied({}, equal(shape[k], other[k]))) {
      return "the results have different shapes";
    }
  }
  for (const bool expand : {false, true}) {
    if (expand && (!may_expand_ || !laws_.expansion.met)) break;
    laws_.expansion.wanted = expand;
    expanded_ = expanded_ || expand;
    for (std::size_t k = 0; k < ways_.size(); ++k) {
      // Without any digits, a way differs from another one only when expanding.
      const auto splits = [&](std::size_t way) {
        return !ways_[way].source.factorizations.empty();
      };
      if (k > 0 && !expand && !splits(0) && !splits(k)) continue;
      way_ = k;
      laws_.digits.set_order(ways_[k].source);
      const Element element = any_element(shape);
      equation_.reset();
      if (equal_at(left, right, element) || equal_in_cases(left, right, element, 0) ||
          equal_at_each(left, right, element)) {
        return "";
      }
      if (effort == Effort::kFirstWay) return "the first way led nowhere";
    }
  }
  return reason_.empty() ? "the normal forms differ" : reason_;
}

Attempt::Element Attempt::any_element(const std::vector<Linear>& shape) {
  Element element;
  for (const Linear& size : shape) {
    element.index.push_back(laws_.digits.counter(0, size, element.ranges, element.symbols));
  }
  laws_.digits.add_outer(element.symbols);
  return element;
}

/// A guard on the index alone, such as that it lies on a diagonal, on which a function depends.
void Attempt::note_equation(const NormalForm& form, const Element& element) {
  const bool has_function = std::any_of(form.begin(), form.end(), [](const Summand& summand) {
    return std::any_of(summand.factors.begin(), summand.factors.end(), [](const Factor& factor) {
      return factor.atom->kind == AtomKind::kApply || factor.atom->kind == AtomKind::kMax;
    });
  });
  if (!has_function) return;
  for (const Summand& summand : form) {
    for (const Fact& fact : summand.guards) {
      const bool concerns = fact.kind == Fact::Kind::kZero && !fact.mentions_any(summand.binders) &&
                            fact.mentions_any(element.symbols);
      if (concerns && !equation_) equation_ = fact;
    }
  }
}

/// Splits into the indices at which the equation holds, with one index put for another from the
/// start, and all others.
bool Attempt::equal_in_cases(core::TensorId left, core::TensorId right, const Element& element,
                             int depth) {
  const std::optional<Fact> equation = std::exchange(equation_, std::nullopt);
  if (!equation || depth == kMaxEquations) return false;
  const auto here = [&](const Element& part) {
    return !oracle_.possible(part.ranges) || equal_at(left, right, part) ||
           equal_in_cases(left, right, part, depth + 1);
  };
  for (const Symbol symbol : element.symbols) {
    const std::int64_t factor = equation->expression.coefficient(symbol);
    if ((factor != 1 && factor != -1) || !equation->expression.is_linear_in(symbol)) continue;
    const Linear rest = equation->expression - Linear(symbol).scaled(factor);
    const Substitution values{{symbol, rest.scaled(-factor)}};
    Element part;
    for (const Linear& index : element.index) part.index.push_back(index.substitute(values));
    for (const Fact& fact : element.ranges) {
      Fact replaced = fact.substitute(values);
      if (replaced.truth() == false) part.ranges = {replaced};
      if (!replaced.truth()) insert(part.ranges, std::move(replaced));
    }
    part.symbols = element.symbols;
    std::erase(part.symbols, symbol);
    if (!here(part)) return false;
    for (const Fact& opposite : equation->negation()) {
      Element off = element;
      insert(off.ranges, opposite);
      equation_.reset();
      if (!here(off)) return false;
    }
    return true;
  }
  return false;
}

/// Results of an integer type are equal if they are congruent modulo 2^bits.
NormalForm Attempt::congruent(core::TensorId result, NormalForm form, const Element& element) {
  const core::DataType type = rule_.source.tensor(result).type.data_type;
  if (core::is_floating(type) || type == core::DataType::kBool) return form;
  return laws_.wrapping.modulo(std::move(form), type, element.ranges);
}

bool Attempt::equal_at(core::TensorId left, core::TensorId right, const Element& element) {
  try {
    Domain source;
    Domain target;
    const auto read = [&](GraphReader& reader, core::TensorId tensor, const DigitOrder& order,
                          Domain& domain) {
      laws_.digits.set_order(order);
      const Demands::Noting noting(laws_.demands, domain);
      return reader.element(tensor, element.index, element.ranges);
    };
    const DigitOrders& way = ways_[way_];
    const NormalForm a = congruent(left, read(source_, left, way.source, source), element);
    const NormalForm b = congruent(left, read(target_, right, way.target, target), element);
    // Nothing is to be proved at inputs at which neither side has a value.
    Premises premises{source.non_negative_elements(element.ranges), {}};
    const std::vector<const Atom*> wanted = target.non_negative_elements(element.ranges);
    std::erase_if(premises.non_negative, [&](const Atom* atom) {
      return std::find(wanted.begin(), wanted.end(), atom) == wanted.end();
    });
    for (const Domain* domain : {&source, &target}) {
      for (const NormalForm& form : domain->never_zero(element.ranges)) {
        for (const Summand& summand : laws_.simplifier.reciprocal(form, element.ranges)) {
          for (const Factor& factor : summand.factors) premises.defined.push_back(factor.atom);
        }
      }
    }
    if (!prove_equal(laws_, a, b, element.ranges, premises, thorough_)) {
      note_equation(a, element);
      note_equation(b, element);
      return false;
    }
    Checker checker(laws_.proof);
    if (!target.demands_no_more_than(source, false, checker, element.ranges)) {
      reason_ = "the target may have no value where the source has one";
      lacks_values_ = true;
      return false;
    }
    keeps_domain_ =
        keeps_domain_ && source.demands_no_more_than(target, true, checker, element.ranges);
    return true;
  } catch (const OutOfBudget& end) {
    // Another way to look at the indices may do better.
    reason_ = end.reason;
    return false;
  }
}

/// Number by number where an index counts through few of them, such as groups.
bool Attempt::equal_at_each(core::TensorId left, core::TensorId right, const Element& element) {
  for (const Symbol symbol : element.symbols) {
    for (std::int64_t count = 2; count <= kMaxEnumerated; ++count) {
      if (!contains(element.ranges, less(symbol, count))) continue;
      for (std::int64_t value = 0; value < count; ++value) {
        const Substitution here{{symbol, Linear(value)}};
        Element part;
        for (const Linear& index : element.index) part.index.push_back(index.substitute(here));
        for (const Fact& fact : element.ranges) {
          Fact replaced = fact.substitute(here);
          if (!replaced.truth()) insert(part.ranges, std::move(replaced));
        }
        part.symbols = element.symbols;
        std::erase(part.symbols, symbol);
        if (!equal_at(left, right, part) && !equal_at_each(left, right, part)) return false;
      }
      return true;
    }
  }
  return false;
}

std::string Attempt::run(Effort effort) {
  thorough_ = effort == Effort::kAllWays;
  if (!sizes_.contradiction.empty()) return sizes_.contradiction;
  try {
    const std::vector<Fact> background(sizes_.background.begin(), sizes_.background.end());
    if (solver_.proves_impossible(background)) return "no sizes satisfy the rule";
    Shapes shapes = source_.shapes();
    for (std::vector<Linear>& shape : target_.shapes()) shapes.push_back(std::move(shape));
    const std::vector<Factorization> open = factorizations(shapes, false);
    ways_ = ways_to_split(digit_orders(open));
    // Numbers may be products by chance.
    const std::vector<Factorization> all = factorizations(shapes, true);
    if (all.size() > open.size()) {
      std::vector<DigitOrders> more = ways_to_split(digit_orders(all));
      std::ranges::move(more, std::back_inserter(ways_));
    }
    laws_.ranges.set_types(input_types(rule_.source));
    if (std::string reason = compare_requirements(); !reason.empty()) return reason;
    for (std::size_t k = 0; k < rule_.source.outputs().size(); ++k) {
      if (std::string reason = compare(k, effort); !reason.empty()) return reason;
    }
    if (options_.certify && !oracle_.confirm_all()) return "the solver does not confirm the proof";
  } catch (const OutOfBudget& end) {
    return end.reason;
  } catch (const ProofStopped&) {
    return std::string(kProofStopped);
  }
  return {};
}

}  // namespace soapstone::verifier
