// Maxima: nested ones become one, what all pieces share is pulled out, pieces that cannot win or
// that stand twice are dropped.
#include <algorithm>
#include <numeric>
#include <utility>

#include "verifier/normal_form/checker.h"
#include "verifier/normal_form/normalizer.h"

namespace soapstone::verifier {
namespace {

bool mentions(const NormalForm& form, Symbol symbol) {
  return std::any_of(form.begin(), form.end(), [&](const Summand& summand) {
    const std::vector<Symbol> symbols = Arena::free_symbols(summand);
    return std::binary_search(symbols.begin(), symbols.end(), symbol);
  });
}

constexpr std::size_t kMaxPieces = 300;

bool is_plain(const Normalizer::OpenPiece& piece) {
  return piece.binders.empty() && piece.guards.empty();
}

}  // namespace

std::vector<Normalizer::OpenPiece> Normalizer::open(const Atom* maximum) {
  std::vector<OpenPiece> pieces;
  for (const Piece& original : maximum->pieces) {
    Piece piece = arena_.refreshed(original);
    pieces.push_back({std::move(piece.binders), std::move(piece.guards), arena_.open(piece.body)});
  }
  return pieces;
}

/// Binders that an equation determines become their value. False: the guards contradict each other.
bool Normalizer::solve_equations(OpenPiece& piece) {
  Summand range;
  range.guards = piece.guards;
  range.binders = piece.binders;
  Substitution solved;
  if (!solve_equations(range, solved)) return false;
  if (solved.empty()) return true;
  NormalForm body;
  for (const Summand& summand : piece.body) {
    for (Summand& part : arena_.substitute(summand, solved)) body.push_back(std::move(part));
  }
  piece = {std::move(range.binders), std::move(range.guards), collected(std::move(body))};
  return true;
}

/// A binder that the body does not mention only says whether the piece is there: its bounds are
/// combined, low ≤ high, which is exact for coefficients 1 and −1.
bool Normalizer::project_unused(OpenPiece& piece, const FactSet& context) {
  for (Symbol binder : std::vector<Symbol>(piece.binders)) {
    if (mentions(piece.body, binder)) continue;
    FactSet rest;
    std::vector<Linear> low;
    std::vector<Linear> high;
    bool simple = true;
    for (const Fact& fact : piece.guards) {
      if (!fact.expression.mentions(binder)) {
        rest.push_back(fact);
        continue;
      }
      const std::int64_t coefficient = fact.expression.coefficient(binder);
      simple = simple && fact.kind == Fact::Kind::kNonNegative &&
               fact.expression.is_linear_in(binder) && (coefficient == 1 || coefficient == -1);
      const Linear others = fact.expression - Linear(binder).scaled(coefficient);
      (coefficient > 0 ? low : high).push_back(coefficient > 0 ? -others : others);
    }
    if (!simple) continue;
    for (const Linear& a : low) {
      for (const Linear& b : high) insert(rest, at_least(b, a));
    }
    std::erase_if(rest, [&](const Fact& fact) { return oracle_.implied(context, fact); });
    piece.guards = std::move(rest);
    std::erase(piece.binders, binder);
  }
  return piece.binders.empty();
}

/// c·relu(a) + b is the larger of c·a + b and b for c > 0; |a| is the larger of a and −a.
std::optional<std::vector<Normalizer::OpenPiece>> Normalizer::opened(const OpenPiece& piece) {
  for (std::size_t k = 0; k < piece.body.size(); ++k) {
    const NormalForm alone{piece.body[k]};
    const Factor* factor = only_factor(alone, AtomKind::kApply);
    if (factor == nullptr) continue;
    const bool relu = factor->atom->function == ops::Function::kRelu;
    const bool magnitude = factor->atom->function == ops::Function::kAbs;
    met_expandable_ = met_expandable_ || magnitude;
    if (!relu && !(magnitude && is_expanding_)) continue;
    OpenPiece rest = piece;
    rest.body.erase(rest.body.begin() + static_cast<std::ptrdiff_t>(k));
    const NormalForm inside =
        scaled(arena_.open(factor->atom->arguments[0]), piece.body[k].coefficient);
    OpenPiece first = rest;
    first.body.insert(first.body.end(), inside.begin(), inside.end());
    first.body = collected(std::move(first.body));
    if (magnitude) {
      for (Summand summand : inside) {
        summand.coefficient = -summand.coefficient;
        rest.body.push_back(std::move(summand));
      }
      rest.body = collected(std::move(rest.body));
    }
    return std::vector{std::move(first), std::move(rest)};
  }
  return std::nullopt;
}

/// Splits, flattens and hoists until every piece is a set of plain values.
NormalForm Normalizer::maximum(std::vector<OpenPiece> pieces, const FactSet& context) {
  budget_.spend();
  bool is_whole = pieces.size() == 1;
  std::vector<OpenPiece> done;
  std::vector<OpenPiece> work = std::move(pieces);
  const auto by_case = [&](const Fact& fact, const OpenPiece& current) {
    std::vector<Fact> cases{fact};
    for (Fact& opposite : fact.negation()) cases.push_back(std::move(opposite));
    NormalForm result;
    for (const Fact& each : cases) {
      FactSet inside = context;
      insert(inside, each);
      if (!oracle_.possible(inside)) continue;
      std::vector<OpenPiece> all = work;
      all.insert(all.end(), done.begin(), done.end());
      all.push_back(current);
      for (Summand& summand : maximum(std::move(all), inside)) {
        insert(summand.guards, each);
        result.push_back(std::move(summand));
      }
    }
    return result;
  };
  while (!work.empty()) {
    budget_.spend();
    if (work.size() + done.size() > kMaxPieces) throw OutOfBudget{"a maximum over too many values"};
    OpenPiece piece = std::move(work.back());
    work.pop_back();
    if (!solve_equations(piece)) continue;
    const FactSet inside = unite(context, piece.guards);
    if (!oracle_.possible(inside)) continue;
    piece.body = under(piece.body, inside);
    if (const Fact* guard = outer_guard(piece.body, inside)) {
      const Fact fact = *guard;
      if (!fact.mentions_any(piece.binders)) return by_case(fact, piece);
      std::vector<Fact> cases{fact};
      for (Fact& opposite : fact.negation()) cases.push_back(std::move(opposite));
      for (Fact& each : cases) {
        OpenPiece part = piece;
        insert(part.guards, std::move(each));
        work.push_back(std::move(part));
      }
      is_whole = false;
      continue;
    }
    if (const Factor* factor = only_factor(piece.body, AtomKind::kMax);
        factor != nullptr && piece.body[0].coefficient == Fraction(1)) {
      for (OpenPiece& inner : open(factor->atom)) {
        inner.binders.insert(inner.binders.end(), piece.binders.begin(), piece.binders.end());
        inner.guards = unite(inner.guards, piece.guards);
        work.push_back(std::move(inner));
      }
      is_whole = is_whole && work.size() == 1;
      continue;
    }
    if (auto parts = unrolled(piece)) {
      for (OpenPiece& part : *parts) work.push_back(std::move(part));
      is_whole = false;
      continue;
    }
    if (auto parts = opened(piece)) {
      for (OpenPiece& part : *parts) {
        // A maximum is over something: if this piece is all of it, then its 0 is there as well.
        const bool present = is_whole && part.body.empty();
        work.push_back(present ? OpenPiece{} : std::move(part));
      }
      is_whole = false;
      continue;
    }
    if (project_unused(piece, context)) {
      std::erase_if(piece.guards, [&](const Fact& fact) { return oracle_.implied(context, fact); });
      if (!piece.guards.empty()) return by_case(piece.guards.front(), piece);
    }
    done.push_back(std::move(piece));
  }
  return close_maximum(std::move(done), context);
}

NormalForm Normalizer::close_maximum(std::vector<OpenPiece> pieces, const FactSet& context) {
  if (pieces.empty()) throw OutOfBudget{"a maximum over nothing"};
  if (auto result = pull_out_addends(pieces, context)) return *std::move(result);
  if (auto result = pull_out_scale(pieces, context)) return *std::move(result);
  if (auto result = pull_out_factors(pieces, context)) return *std::move(result);
  if (auto result = pull_out_exponential(pieces, context)) return *std::move(result);
  if (auto result = pull_out_power(pieces, context)) return *std::move(result);
  if (auto result = pull_out_bound(pieces, context)) return *std::move(result);
  // max(…, 0) = max(…) where something in it is never negative and never absent
  const auto is_zero = [](const OpenPiece& piece) { return piece.body.empty() && is_plain(piece); };
  const auto is_present = [&](const OpenPiece& piece) {
    // Over something if it is over 0.
    Substitution zero;
    for (Symbol binder : piece.binders) zero.emplace_back(binder, Linear(0));
    return std::all_of(piece.guards.begin(), piece.guards.end(), [&](const Fact& fact) {
      return oracle_.implied(context, fact.substitute(zero));
    });
  };
  const bool has_zero = std::any_of(pieces.begin(), pieces.end(), is_zero);
  if (has_zero) {
    const auto covers = [&](const OpenPiece& piece) {
      return !is_zero(piece) && non_negative(piece.body, unite(context, piece.guards)) &&
             is_present(piece);
    };
    if (std::any_of(pieces.begin(), pieces.end(), covers)) {
      std::erase_if(pieces, is_zero);
    } else if (pieces.size() == 2) {
      const OpenPiece& other = is_zero(pieces[0]) ? pieces[1] : pieces[0];
      if (is_plain(other) && !other.body.empty()) return relu_of_whole(other.body, context);
    }
  }
  Checker checker(*this);
  std::vector<OpenPiece> different;
  for (OpenPiece& piece : pieces) {
    const bool known = piece.binders.empty() &&
                       std::any_of(different.begin(), different.end(), [&](const OpenPiece& other) {
                         return other.binders.empty() && other.guards == piece.guards &&
                                checker.equal(other.body, piece.body, unite(context, piece.guards));
                       });
    if (!known) different.push_back(std::move(piece));
  }
  if (different.size() == 1 && is_plain(different[0])) return different[0].body;
  std::vector<Piece> closed;
  for (OpenPiece& piece : different) {
    std::erase_if(piece.guards, [&](const Fact& fact) { return contains(context, fact); });
    closed.push_back({piece.binders, piece.guards, arena_.form(std::move(piece.body))});
  }
  return summand_of(arena_.maximum(arena_.canonical_pieces(std::move(closed))));
}

/// max(a + c, b + c) = max(a, b) + c for summands c that mention no binder of a piece.
std::optional<NormalForm> Normalizer::pull_out_addends(std::vector<OpenPiece>& pieces,
                                                       const FactSet& context) {
  if (pieces.size() == 1 && pieces[0].binders.empty()) return std::nullopt;
  // Sums of their own have canonical binders here, so that equal ones are one summand.
  std::vector<NormalForm> named;
  NormalForm common;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    NormalForm body;
    for (const Summand& summand : pieces[k].body)
      body.push_back(arena_.form({summand})->summands[0]);
    named.push_back(collected(std::move(body)));
    NormalForm own;
    for (const Summand& summand : named[k]) {
      const std::vector<Symbol> symbols = Arena::free_symbols(summand);
      const bool bound =
          std::any_of(pieces[k].binders.begin(), pieces[k].binders.end(), [&](Symbol b) {
            return std::binary_search(symbols.begin(), symbols.end(), b);
          });
      if (!bound) own.push_back(summand);
    }
    if (k == 0) {
      common = std::move(own);
    } else {
      std::erase_if(common, [&](const Summand& summand) {
        return std::find(own.begin(), own.end(), summand) == own.end();
      });
    }
  }
  if (common.empty()) return std::nullopt;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    pieces[k].body.clear();
    for (const Summand& summand : named[k]) {
      const bool shared = std::find(common.begin(), common.end(), summand) != common.end();
      if (!shared) pieces[k].body.push_back(arena_.refreshed(summand));
    }
  }
  NormalForm result = maximum(std::move(pieces), context);
  for (const Summand& summand : common) result.push_back(arena_.refreshed(summand));
  return collected(std::move(result));
}

/// max(c·a, c·b) = c·max(a, b) for c > 0.
std::optional<NormalForm> Normalizer::pull_out_scale(std::vector<OpenPiece>& pieces,
                                                     const FactSet& context) {
  std::optional<Fraction> scale;
  for (const OpenPiece& piece : pieces) {
    if (piece.body.empty()) continue;
    const Fraction own = leading_coefficient(piece.body).magnitude();
    if (scale && *scale != own) return std::nullopt;
    scale = own;
  }
  if (!scale || *scale == Fraction(1)) return std::nullopt;
  for (OpenPiece& piece : pieces) piece.body = scaled(piece.body, scale->inverse());
  return scaled(maximum(std::move(pieces), context), *scale);
}

/// max(r·a, r·b) = r·max(a, b) for r that is never negative and mentions no binder.
std::optional<NormalForm> Normalizer::pull_out_factors(std::vector<OpenPiece>& pieces,
                                                       const FactSet& context) {
  NormalForm all;
  for (const OpenPiece& piece : pieces) {
    if (piece.body.empty()) continue;
    for (Summand summand : piece.body) {
      summand.binders.insert(summand.binders.end(), piece.binders.begin(), piece.binders.end());
      all.push_back(std::move(summand));
    }
  }
  const bool is_one = pieces.size() == 1 && pieces[0].binders.empty();
  Summand outside;
  outside.factors = take_common(all, [&](const Factor& factor) {
    const bool is_exponential =
        factor.atom->kind == AtomKind::kApply && factor.atom->function == ops::Function::kExp;
    return (is_exponential || factor.exponent.sign() > 0) && non_negative(factor, context);
  });
  if (is_one || outside.factors.empty()) return std::nullopt;
  for (OpenPiece& piece : pieces) {
    for (Summand& summand : piece.body) {
      for (const Factor& factor : outside.factors) {
        summand.factors.push_back({factor.atom, -factor.exponent});
      }
      summand.factors = Arena::product(std::move(summand.factors));
    }
  }
  return product({outside}, maximum(std::move(pieces), context), context);
}

/// max(aᵖ, bᵖ) = max(a, b)ᵖ for a, b that are never negative and p > 1.
std::optional<NormalForm> Normalizer::pull_out_power(std::vector<OpenPiece>& pieces,
                                                     const FactSet& context) {
  if (pieces.size() == 1 && pieces[0].binders.empty()) return std::nullopt;
  std::int64_t power = 0;
  for (const OpenPiece& piece : pieces) {
    if (piece.body.empty()) continue;
    const bool plain = piece.body.size() == 1 && piece.body[0].coefficient == Fraction(1) &&
                       piece.body[0].binders.empty() && piece.body[0].guards.empty();
    if (!plain) return std::nullopt;
    for (const Factor& factor : piece.body[0].factors) {
      if (!factor.exponent.is_integer()) return std::nullopt;
      power = std::gcd(power, factor.exponent.numerator());
    }
  }
  if (power < 2) return std::nullopt;
  std::vector<OpenPiece> bases = pieces;
  for (OpenPiece& piece : bases) {
    for (Summand& summand : piece.body) {
      for (Factor& factor : summand.factors) factor.exponent = factor.exponent * Fraction(1, power);
    }
    if (!non_negative(piece.body, unite(context, piece.guards))) return std::nullopt;
  }
  const NormalForm base = maximum(std::move(bases), context);
  NormalForm result{Summand{}};
  for (std::int64_t k = 0; k < power; ++k) result = product(result, base, context);
  return result;
}

/// max over k of min(a(k), b) = min(max over k of a(k), b); a minimum is −max of the negated.
std::optional<NormalForm> Normalizer::pull_out_bound(const std::vector<OpenPiece>& pieces,
                                                     const FactSet& context) {
  if (pieces.size() != 1 || pieces[0].binders.empty() || pieces[0].body.size() != 1) {
    return std::nullopt;
  }
  const Fraction scale = -pieces[0].body[0].coefficient;
  const NormalForm unit = scaled(pieces[0].body, -1);
  if (scale.sign() <= 0) return std::nullopt;
  std::vector<OpenPiece> inside;
  if (const Factor* minimum = only_factor(unit, AtomKind::kMax)) {
    inside = open(minimum->atom);
  } else if (const Factor* relu = only_factor(unit, AtomKind::kApply);
             relu != nullptr && relu->atom->function == ops::Function::kRelu) {
    inside = {{{}, {}, arena_.open(relu->atom->arguments[0])}, {}};
  } else {
    return std::nullopt;
  }
  std::vector<OpenPiece> bounds;
  std::vector<OpenPiece> varying;
  for (OpenPiece& piece : inside) {
    if (!is_plain(piece)) return std::nullopt;
    const bool bound = std::none_of(pieces[0].binders.begin(), pieces[0].binders.end(),
                                    [&](Symbol binder) { return mentions(piece.body, binder); });
    (bound ? bounds : varying).push_back(std::move(piece));
  }
  if (bounds.empty() || varying.size() != 1) return std::nullopt;
  OpenPiece inner = pieces[0];
  inner.body = scaled(varying[0].body, -1);
  bounds.push_back({{}, {}, scaled(maximum({std::move(inner)}, context), -1)});
  return scaled(maximum(std::move(bounds), context), -scale);
}

/// max(exp(a), exp(b)) = exp(max(a, b)), and so for minima, which are −max of the negated.
std::optional<NormalForm> Normalizer::pull_out_exponential(std::vector<OpenPiece>& pieces,
                                                           const FactSet& context) {
  const int sign = pieces[0].body.empty() ? 0 : pieces[0].body[0].coefficient.sign();
  std::vector<NormalForm> exponents;
  for (const OpenPiece& piece : pieces) {
    if (piece.body.empty() || piece.body[0].factors.empty()) return std::nullopt;
    auto exponent = logarithm(scaled(piece.body, sign));
    if (!exponent) return std::nullopt;
    exponents.push_back(scaled(*std::move(exponent), sign));
  }
  for (std::size_t k = 0; k < pieces.size(); ++k) pieces[k].body = std::move(exponents[k]);
  return scaled(exponential(scaled(maximum(std::move(pieces), context), sign)), sign);
}

}  // namespace soapstone::verifier
