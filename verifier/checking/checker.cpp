// The checker. Read it in one sitting: what it accepts is applied to users' models.
#include "verifier/checking/checker.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace soapstone::verifier {
namespace {

constexpr std::size_t kMaxMappings = 6;
constexpr int kMaxCombinations = 64;

/// A summand that stands for a piece of a maximum: its body is one opaque factor.
Summand boxed(Arena& arena, const Piece& piece) {
  Summand summand;
  summand.guards = piece.guards;
  summand.binders = piece.binders;
  summand.factors = {{arena.reciprocal(piece.body), 1}};
  return summand;
}

Fraction determinant(std::vector<std::vector<Fraction>> m) {
  Fraction result = 1;
  for (std::size_t i = 0; i < m.size(); ++i) {
    std::size_t pivot = i;
    while (pivot < m.size() && m[pivot][i].is_zero()) ++pivot;
    if (pivot == m.size()) return 0;
    if (pivot != i) {
      std::swap(m[i], m[pivot]);
      result = -result;
    }
    result = result * m[i][i];
    for (std::size_t row = i + 1; row < m.size(); ++row) {
      const Fraction factor = m[row][i] / m[i][i];
      for (std::size_t c = i; c < m.size(); ++c) m[row][c] = m[row][c] - factor * m[i][c];
    }
  }
  return result;
}

/// Does it map the integer points of `to` one to one onto those of `from`, whatever the values of
/// all other symbols?
bool is_bijection(const Substitution& map, std::span<const Symbol> from,
                  std::span<const Symbol> to) {
  if (map.size() != from.size() || from.size() != to.size()) return false;
  std::vector<std::vector<Fraction>> matrix;
  for (Symbol symbol : from) {
    const auto entry = std::find_if(map.begin(), map.end(),
                                    [&](const auto& each) { return each.first == symbol; });
    if (entry == map.end()) return false;
    std::vector<Fraction>& row = matrix.emplace_back();
    for (Symbol binder : to) {
      const Linear& value = entry->second;
      if (value.mentions(binder) && !value.is_linear_in(binder)) return false;
      row.emplace_back(value.coefficient(binder));
    }
  }
  return matrix.empty() || determinant(std::move(matrix)).magnitude() == Fraction(1);
}

std::int64_t common_denominator(const std::vector<Fraction>& weights) {
  std::int64_t result = 1;
  for (const Fraction& weight : weights) {
    const std::int64_t factor = weight.denominator() / std::gcd(result, weight.denominator());
    if (__builtin_mul_overflow(result, factor, &result)) throw OutOfBudget{"denominator overflow"};
  }
  return result;
}

}  // namespace

bool Checker::equal(const Linear& a, const Linear& b, const FactSet& context) {
  return a == b || proof_.oracle.implied(context, verifier::equal(a, b));
}

bool Checker::equal(const Atom* a, const Atom* b, const FactSet& context) {
  if (a == b) return true;
  if (a->kind != b->kind || a->tensor != b->tensor || a->function != b->function ||
      a->number != b->number || a->index.size() != b->index.size() ||
      a->arguments.size() != b->arguments.size()) {
    return false;
  }
  if (a->kind == AtomKind::kRead || a->kind == AtomKind::kIndex) {
    return std::equal(a->index.begin(), a->index.end(), b->index.begin(),
                      [&](const Linear& x, const Linear& y) { return equal(x, y, context); });
  }
  const auto key = std::tuple(a, b, context);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  bool result = true;
  if (a->kind == AtomKind::kMax) {
    result = equal_pieces(*a, *b, context);
  } else {
    for (std::size_t k = 0; k < a->arguments.size() && result; ++k) {
      result = equal(a->arguments[k]->summands, b->arguments[k]->summands, context);
    }
  }
  known_.emplace(key, result);
  return result;
}

bool Checker::equal_factors(std::vector<Factor> a, std::vector<Factor> b, const FactSet& context) {
  std::erase_if(a, [&](const Factor& factor) {
    const auto same = std::find(b.begin(), b.end(), factor);
    if (same == b.end()) return false;
    b.erase(same);
    return true;
  });
  if (a.size() != b.size()) return false;
  std::vector<bool> used(b.size());
  return match_factors(a, b, 0, used, context);
}

bool Checker::match_factors(const std::vector<Factor>& a, const std::vector<Factor>& b,
                            std::size_t at, std::vector<bool>& used, const FactSet& context) {
  if (at == a.size()) return true;
  for (std::size_t k = 0; k < b.size(); ++k) {
    if (used[k] || a[at].exponent != b[k].exponent ||
        a[at].atom->signature != b[k].atom->signature || !equal(a[at].atom, b[k].atom, context)) {
      continue;
    }
    proof_.budget.try_pair();
    used[k] = true;
    if (match_factors(a, b, at + 1, used, context)) return true;
    used[k] = false;
  }
  return false;
}

bool Checker::for_each_mapping(const Summand& a, const Summand& b, const FactSet& context,
                               const Mapped& found) {
  Arena& arena = proof_.arena;
  return proof_.oracle.witness().for_each_bijection(
      arena, proof_.budget, a, b, [&](const Substitution& bijection) {
        proof_.spend();
        if (!is_bijection(bijection, b.binders, a.binders)) return Reply::kRejected;
        Summand body = b;
        body.binders.clear();
        const NormalForm mapped = arena.substitute(body, bijection);
        if (mapped.size() != 1 || mapped[0].coefficient != b.coefficient) return Reply::kRejected;
        // Bodies need to agree only where b's guards hold; where they do not, b's summand is 0 and
        // so is a's, as the guards are compared next.
        if (!equal_factors(a.factors, mapped[0].factors, unite(context, mapped[0].guards))) {
          return Reply::kRejected;
        }
        return found(mapped[0].guards);
      });
}

bool Checker::equivalent(const FactSet& a, const FactSet& b, const FactSet& context) {
  if (a == b) return true;
  const FactSet with_a = unite(context, a);
  const FactSet with_b = unite(context, b);
  const auto follows = [&](const FactSet& from, const FactSet& facts) {
    return std::all_of(facts.begin(), facts.end(),
                       [&](const Fact& fact) { return proof_.oracle.implied(from, fact); });
  };
  return follows(with_a, b) && follows(with_b, a);
}

/// Removes summands of both sides that are equal one by one.
void Checker::cancel_pairs(NormalForm& a, NormalForm& b, const FactSet& context) {
  std::erase_if(a, [&](const Summand& summand) {
    const auto same = std::find(b.begin(), b.end(), summand);
    if (same == b.end()) return false;
    b.erase(same);
    return true;
  });
  std::erase_if(a, [&](const Summand& x) {
    const std::uint64_t signature = Arena::signature(x);
    const auto partner = std::find_if(b.begin(), b.end(), [&](const Summand& y) {
      return x.coefficient == y.coefficient && Arena::signature(y) == signature &&
             for_each_mapping(x, y, context, [&](const FactSet& guards) {
               return equivalent(x.guards, guards, context) ? Reply::kDone : Reply::kRejected;
             });
    });
    if (partner == b.end()) return false;
    b.erase(partner);
    return true;
  });
}

bool Checker::equal(const NormalForm& a, const NormalForm& b, const FactSet& context) {
  proof_.spend();
  NormalForm left = a;
  NormalForm right = b;
  cancel_pairs(left, right, context);
  for (Summand& summand : right) {
    summand.coefficient = -summand.coefficient;
    left.push_back(std::move(summand));
  }
  return adds_up_to_zero(left, context);
}

/// Groups summands by body; in each group the weighted guards must add up to zero.
bool Checker::adds_up_to_zero(const std::vector<Summand>& summands, const FactSet& context) {
  std::vector<Summand> todo = summands;
  while (!todo.empty()) {
    const Summand leader = todo.front();
    todo.erase(todo.begin());
    std::vector<Fraction> weights{leader.coefficient};
    std::vector<std::vector<FactSet>> choices{{leader.guards}};
    std::vector<Summand> rest;
    for (const Summand& summand : todo) {
      std::vector<FactSet> mappings;
      if (Arena::signature(summand) == Arena::signature(leader)) {
        for_each_mapping(leader, summand, context, [&](const FactSet& guards) {
          mappings.push_back(guards);
          return mappings.size() == kMaxMappings ? Reply::kDone : Reply::kUseful;
        });
      }
      if (mappings.empty()) {
        rest.push_back(summand);
        continue;
      }
      weights.push_back(summand.coefficient);
      choices.push_back(std::move(mappings));
    }
    const std::int64_t denominator = common_denominator(weights);
    std::vector<std::size_t> chosen(choices.size());
    bool zero = false;
    for (int tried = 0; tried < kMaxCombinations && !zero; ++tried) {
      proof_.spend();
      std::vector<WeightedGuards> sum;
      for (std::size_t k = 0; k < choices.size(); ++k) {
        sum.push_back({(weights[k] * Fraction(denominator)).numerator(), choices[k][chosen[k]]});
      }
      zero = proof_.oracle.zero(context, sum);
      std::size_t digit = 0;
      while (digit < chosen.size() && ++chosen[digit] == choices[digit].size()) chosen[digit++] = 0;
      if (digit == chosen.size()) break;
    }
    if (!zero) return false;
    todo = std::move(rest);
  }
  return true;
}

/// Equal maxima: for each body the pieces of both sides cover the same values.
bool Checker::equal_pieces(const Atom& a, const Atom& b, const FactSet& context) {
  struct Item {
    Summand summand;
    bool left;
  };
  std::vector<Item> todo;
  for (const Piece& piece : a.pieces) todo.push_back({boxed(proof_.arena, piece), true});
  for (const Piece& piece : b.pieces) todo.push_back({boxed(proof_.arena, piece), false});
  while (!todo.empty()) {
    const Item leader = todo.front();
    todo.erase(todo.begin());
    std::vector<FactSet> left;
    std::vector<FactSet> right;
    (leader.left ? left : right).push_back(leader.summand.guards);
    std::vector<Item> rest;
    for (const Item& item : todo) {
      std::optional<FactSet> mapped;
      if (Arena::signature(item.summand) == Arena::signature(leader.summand)) {
        for_each_mapping(leader.summand, item.summand, context, [&](const FactSet& guards) {
          mapped = guards;
          return Reply::kDone;
        });
      }
      if (mapped) {
        (item.left ? left : right).push_back(*mapped);
      } else {
        rest.push_back(item);
      }
    }
    if (!proof_.oracle.same_union(context, left, right)) return false;
    todo = std::move(rest);
  }
  return true;
}

}  // namespace soapstone::verifier
