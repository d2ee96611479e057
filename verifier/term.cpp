// Interning, canonical names of binders, and substitution without capture.
#include "verifier/term.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "core/hash.h"

namespace soapstone::verifier {
namespace {

using core::hash_combine;

std::uint64_t hash_of(const Fraction& value) {
  return hash_combine(static_cast<std::uint64_t>(value.numerator()),
                      static_cast<std::uint64_t>(value.denominator()));
}

std::uint64_t hash_of(const FactSet& facts) {
  std::uint64_t hash = facts.size();
  for (const Fact& fact : facts) hash = hash_combine(hash, fact.hash());
  return hash;
}

std::uint64_t hash_of(std::span<const Symbol> symbols) {
  std::uint64_t hash = symbols.size();
  for (Symbol symbol : symbols) hash = hash_combine(hash, symbol.id);
  return hash;
}

std::uint64_t hash_of(const Term& term) {
  std::uint64_t hash = hash_combine(hash_of(term.coefficient), hash_of(term.guards));
  hash = hash_combine(hash, hash_of(term.binders));
  for (const Factor& factor : term.factors) {
    hash = hash_combine(hash, factor.atom->hash);
    hash = hash_combine(hash, hash_of(factor.exponent));
  }
  return hash;
}

std::uint64_t content_hash(const Atom& atom) {
  std::uint64_t hash = hash_combine(static_cast<std::uint64_t>(atom.kind), atom.tensor);
  for (const Linear& index : atom.index) hash = hash_combine(hash, index.hash());
  hash = hash_combine(hash, static_cast<std::uint64_t>(atom.function));
  hash = hash_combine(hash, hash_of(atom.number));
  for (const Form* argument : atom.arguments) hash = hash_combine(hash, argument->hash);
  for (const Piece& piece : atom.pieces) {
    hash = hash_combine(hash, hash_of(piece.binders));
    hash = hash_combine(hash, hash_of(piece.guards));
    hash = hash_combine(hash, piece.body->hash);
  }
  return hash;
}

/// Of a set: sorted, each once.
std::uint64_t hash_of_set(std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::uint64_t hash = 1;
  for (std::uint64_t value : values) hash = hash_combine(hash, value);
  return hash;
}

std::uint64_t signature_of(const Atom& atom) {
  std::uint64_t hash = static_cast<std::uint64_t>(atom.kind) + 17;
  switch (atom.kind) {
  case AtomKind::kRead:
    return hash_combine(hash, atom.tensor);
  case AtomKind::kNumber:
    return hash_combine(hash, hash_of(atom.number));
  case AtomKind::kIndex: {
    const Symbol symbol = *atom.index[0].as_symbol();
    return symbol.is_index() ? hash : hash_combine(hash, symbol.id);
  }
  case AtomKind::kApply:
  case AtomKind::kReciprocal:
  case AtomKind::kRounded:
    hash = hash_combine(hash, static_cast<std::uint64_t>(atom.function));
    hash = hash_combine(hash, atom.tensor);
    for (const Form* argument : atom.arguments) hash = hash_combine(hash, argument->signature);
    return hash;
  case AtomKind::kMax: {
    std::vector<std::uint64_t> pieces;
    for (const Piece& piece : atom.pieces) {
      pieces.push_back(hash_combine(piece.binders.size(), piece.body->signature));
    }
    return hash_combine(hash, hash_of_set(std::move(pieces)));
  }
  }
  return hash;
}

void sort_unique(std::vector<Symbol>& symbols) {
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
}

void remove(std::vector<Symbol>& symbols, std::span<const Symbol> bound) {
  std::erase_if(symbols, [&](Symbol symbol) {
    return std::find(bound.begin(), bound.end(), symbol) != bound.end();
  });
}

std::vector<Symbol> free_symbols_of(const Atom& atom) {
  std::vector<Symbol> result;
  for (const Linear& index : atom.index) index.append_symbols(result);
  for (const Form* argument : atom.arguments) {
    result.insert(result.end(), argument->free_symbols.begin(), argument->free_symbols.end());
  }
  for (const Piece& piece : atom.pieces) {
    std::vector<Symbol> symbols = piece.body->free_symbols;
    for (const Fact& fact : piece.guards) fact.expression.append_symbols(symbols);
    remove(symbols, piece.binders);
    result.insert(result.end(), symbols.begin(), symbols.end());
  }
  sort_unique(result);
  return result;
}

std::uint32_t height_of(const Atom& atom) {
  std::uint32_t height = 0;
  for (const Form* argument : atom.arguments) height = std::max(height, argument->height);
  for (const Piece& piece : atom.pieces) {
    height = std::max(height, piece.body->height + 1);
    for (Symbol binder : piece.binders) height = std::max(height, Arena::height_of_name(binder));
  }
  return height;
}

bool mentions_any(std::span<const Symbol> free, const Substitution& substitution) {
  return std::any_of(substitution.begin(), substitution.end(), [&](const auto& entry) {
    return std::binary_search(free.begin(), free.end(), entry.first);
  });
}

bool same_content(const Atom& a, const Atom& b) {
  return a.hash == b.hash && a.kind == b.kind && a.tensor == b.tensor && a.index == b.index &&
         a.function == b.function && a.number == b.number && a.arguments == b.arguments &&
         a.pieces == b.pieces;
}

}  // namespace

const Atom* Arena::intern(Atom atom) {
  atom.hash = content_hash(atom);
  const auto [first, last] = atom_index_.equal_range(atom.hash);
  for (auto at = first; at != last; ++at) {
    if (same_content(*at->second, atom)) return at->second;
  }
  atom.signature = signature_of(atom);
  atom.free_symbols = free_symbols_of(atom);
  atom.height = height_of(atom);
  atom.ordinal = static_cast<std::uint32_t>(atoms_.size());
  if (atoms_.size() > kMaxAtoms) throw OutOfBudget{"too many expressions"};
  atoms_.push_back(std::move(atom));
  atom_index_.emplace(atoms_.back().hash, &atoms_.back());
  return &atoms_.back();
}

const Atom* Arena::read(std::uint32_t tensor, std::vector<Linear> index) {
  Atom atom;
  atom.kind = AtomKind::kRead;
  atom.tensor = tensor;
  atom.index = std::move(index);
  return intern(std::move(atom));
}

const Atom* Arena::index(Symbol symbol) {
  Atom atom;
  atom.kind = AtomKind::kIndex;
  atom.index = {Linear(symbol)};
  return intern(std::move(atom));
}

NormalForm Arena::number(const Fraction& value) {
  constexpr std::int64_t kLong = std::int64_t{1} << 32;
  if (value.is_zero()) return {};
  const Fraction magnitude = value.magnitude();
  if (magnitude.numerator() < kLong && magnitude.denominator() < kLong)
    return {{value, {}, {}, {}}};
  Atom atom;
  atom.kind = AtomKind::kNumber;
  atom.number = magnitude;
  return {{Fraction(value.sign()), {}, {}, {{intern(std::move(atom)), 1}}}};
}

const Atom* Arena::apply(ops::Function function, std::vector<const Form*> arguments) {
  Atom atom;
  atom.kind = AtomKind::kApply;
  atom.function = function;
  atom.arguments = std::move(arguments);
  return intern(std::move(atom));
}

const Atom* Arena::reciprocal(const Form* argument) {
  Atom atom;
  atom.kind = AtomKind::kReciprocal;
  atom.arguments = {argument};
  return intern(std::move(atom));
}

const Atom* Arena::rounded(const Form* argument, std::uint32_t format) {
  Atom atom;
  atom.kind = AtomKind::kRounded;
  atom.tensor = format;
  atom.arguments = {argument};
  return intern(std::move(atom));
}

const Atom* Arena::maximum(std::vector<Piece> pieces) {
  const auto key = [](const Piece& piece) {
    return std::tuple(piece.body->signature, piece.binders.size(), piece.body->hash,
                      hash_of(piece.guards));
  };
  std::sort(pieces.begin(), pieces.end(),
            [&](const Piece& a, const Piece& b) { return key(a) < key(b); });
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  Atom atom;
  atom.kind = AtomKind::kMax;
  atom.pieces = std::move(pieces);
  return intern(std::move(atom));
}

/// The canonical names that are free in a form belong to binders around it, which are commonly
/// higher; but a form may have grown. Its own binders must not take those names.
std::uint32_t Arena::free_height(const NormalForm& terms, std::uint32_t height) {
  std::vector<Symbol> symbols;
  for (const Term& term : terms) {
    const std::vector<Symbol> own = free_symbols(term);
    symbols.insert(symbols.end(), own.begin(), own.end());
  }
  const auto taken = [&](Symbol symbol) { return height_of_name(symbol) == height; };
  while (std::any_of(symbols.begin(), symbols.end(), taken)) ++height;
  return height;
}

const Form* Arena::form(NormalForm terms) {
  Form form;
  std::uint32_t below = 0;
  for (const Term& term : terms) below = std::max(below, height(term));
  form.height = free_height(terms, below + 1);
  for (Term& term : terms) term = canonical(term, form.height);
  // The order leaves coefficients out: a change of sign or scale must not change it.
  const auto key = [&](const Term& term) {
    Term bare = term;
    bare.coefficient = 1;
    return std::tuple(signature(term), hash_of(bare));
  };
  std::stable_sort(terms.begin(), terms.end(),
                   [&](const Term& a, const Term& b) { return key(a) < key(b); });
  form.terms = std::move(terms);
  std::vector<std::uint64_t> signatures;
  form.hash = form.height;
  for (const Term& term : form.terms) {
    form.hash = hash_combine(form.hash, hash_of(term));
    signatures.push_back(signature(term));
    const std::vector<Symbol> symbols = free_symbols(term);
    form.free_symbols.insert(form.free_symbols.end(), symbols.begin(), symbols.end());
  }
  sort_unique(form.free_symbols);
  form.signature = hash_of_set(std::move(signatures));
  const auto [first, last] = form_index_.equal_range(form.hash);
  for (auto at = first; at != last; ++at) {
    if (at->second->terms == form.terms) return at->second;
  }
  forms_.push_back(std::move(form));
  form_index_.emplace(forms_.back().hash, &forms_.back());
  return &forms_.back();
}

bool Arena::less(const Atom* a, const Atom* b) {
  return std::tuple(a->signature, a->hash, a->ordinal) <
         std::tuple(b->signature, b->hash, b->ordinal);
}

std::vector<Factor> Arena::product(std::vector<Factor> factors) {
  std::sort(factors.begin(), factors.end(),
            [](const Factor& a, const Factor& b) { return less(a.atom, b.atom); });
  std::vector<Factor> result;
  for (const Factor& factor : factors) {
    if (!result.empty() && result.back().atom == factor.atom) {
      result.back().exponent = result.back().exponent + factor.exponent;
    } else {
      result.push_back(factor);
    }
  }
  std::erase_if(result, [](const Factor& factor) { return factor.exponent.is_zero(); });
  return result;
}

std::uint64_t Arena::hash(const Term& term) { return hash_of(term); }

std::uint64_t Arena::signature(const Term& term) {
  std::vector<std::uint64_t> factors;
  for (const Factor& factor : term.factors) {
    factors.push_back(hash_combine(factor.atom->signature, hash_of(factor.exponent)));
  }
  std::sort(factors.begin(), factors.end());
  std::uint64_t hash = term.binders.size();
  for (std::uint64_t factor : factors) hash = hash_combine(hash, factor);
  return hash;
}

std::vector<Symbol> Arena::free_symbols(const Term& term) {
  std::vector<Symbol> result;
  for (const Fact& fact : term.guards) fact.expression.append_symbols(result);
  for (const Factor& factor : term.factors) {
    result.insert(result.end(), factor.atom->free_symbols.begin(), factor.atom->free_symbols.end());
  }
  sort_unique(result);
  remove(result, term.binders);
  return result;
}

std::uint32_t Arena::height(const Term& term) {
  std::uint32_t height = 0;
  for (const Factor& factor : term.factors) height = std::max(height, factor.atom->height);
  return height;
}

Term Arena::canonical(const Term& term, std::uint32_t height) {
  if (term.binders.empty()) return term;
  if (term.binders.size() > kPerHeight) throw OutOfBudget{"too many bound variables"};
  std::vector<Symbol> order;
  const auto visit = [&](Symbol symbol) {
    const bool bound =
        std::find(term.binders.begin(), term.binders.end(), symbol) != term.binders.end();
    if (bound && std::find(order.begin(), order.end(), symbol) == order.end()) {
      order.push_back(symbol);
    }
  };
  for (const Factor& factor : term.factors) {
    std::vector<Symbol> symbols;
    for (const Linear& index : factor.atom->index) index.append_symbols(symbols);
    std::for_each(symbols.begin(), symbols.end(), visit);
  }
  for (const Factor& factor : term.factors) {
    std::for_each(factor.atom->free_symbols.begin(), factor.atom->free_symbols.end(), visit);
  }
  std::for_each(term.binders.begin(), term.binders.end(), visit);
  Substitution renaming;
  std::vector<Symbol> names;
  for (std::uint32_t k = 0; k < order.size(); ++k) {
    names.push_back({kFirstCanonical + height * kPerHeight + k});
    renaming.emplace_back(order[k], Linear(names.back()));
  }
  Term renamed = rename(term, renaming);
  renamed.binders = std::move(names);
  return renamed;
}

Term Arena::rename(const Term& term, const Substitution& renaming) {
  Term body = term;
  body.binders.clear();
  NormalForm result = substitute(body, renaming);
  CHECK(result.size() == 1, "renaming changed a term");
  result[0].binders = term.binders;
  return std::move(result[0]);
}

const Atom* Arena::substitute(const Atom* atom, const Substitution& substitution) {
  if (!mentions_any(atom->free_symbols, substitution)) return atom;
  switch (atom->kind) {
  case AtomKind::kRead: {
    std::vector<Linear> index;
    for (const Linear& part : atom->index) index.push_back(part.substitute(substitution));
    return read(atom->tensor, std::move(index));
  }
  case AtomKind::kNumber:
    return atom;
  case AtomKind::kIndex:
    CHECK(false, "integers are substituted by their term");
    break;
  case AtomKind::kApply: {
    std::vector<const Form*> arguments;
    for (const Form* argument : atom->arguments) {
      arguments.push_back(substitute(argument, substitution));
    }
    return apply(atom->function, std::move(arguments));
  }
  case AtomKind::kReciprocal:
    return reciprocal(substitute(atom->arguments[0], substitution));
  case AtomKind::kRounded:
    return rounded(substitute(atom->arguments[0], substitution), atom->tensor);
  case AtomKind::kMax:
    break;
  }
  std::vector<Piece> pieces;
  for (const Piece& original : atom->pieces) {
    Piece piece = captures(substitution, atom->height) ? refreshed(original) : original;
    FactSet guards;
    for (const Fact& fact : piece.guards) insert(guards, fact.substitute(substitution));
    pieces.push_back({piece.binders, std::move(guards), substitute(piece.body, substitution)});
  }
  return maximum(canonical_pieces(std::move(pieces)));
}

/// Would a value bring in a name that is bound at this height or below?
bool Arena::captures(const Substitution& substitution, std::uint32_t height) {
  const std::uint32_t end = kFirstCanonical + (height + 1) * kPerHeight;
  std::vector<Symbol> symbols;
  for (const auto& [name, value] : substitution) value.append_symbols(symbols);
  return std::any_of(symbols.begin(), symbols.end(), [&](Symbol symbol) {
    return symbol.id >= kFirstCanonical && symbol.id < end;
  });
}

std::vector<Piece> Arena::canonical_pieces(std::vector<Piece> pieces) {
  for (Piece& piece : pieces) {
    if (piece.binders.empty()) continue;
    // A term that reads the body as one atom gives the binders their names.
    Term box;
    box.guards = piece.guards;
    box.binders = piece.binders;
    box.factors = {{reciprocal(piece.body), 1}};
    box = canonical(box, free_height({box}, piece.body->height + 1));
    piece = {box.binders, box.guards, box.factors[0].atom->arguments[0]};
  }
  return pieces;
}

const Form* Arena::substitute(const Form* form, const Substitution& substitution) {
  if (!mentions_any(form->free_symbols, substitution)) return form;
  const bool refresh = captures(substitution, form->height);
  NormalForm terms;
  for (const Term& term : form->terms) {
    const Term fresh = refresh ? refreshed(term) : term;
    for (Term& part : substitute(fresh, substitution)) terms.push_back(std::move(part));
  }
  return this->form(collected(std::move(terms)));
}

namespace {

/// Π of the integer values to their powers, as a sum of products of symbols.
struct IntegerProduct {
  Fraction coefficient = 1;
  std::vector<std::pair<Symbol, Fraction>> powers;
};

std::vector<IntegerProduct> multiply_out(const std::vector<IntegerProduct>& sum,
                                         const Linear& value, const Fraction& exponent) {
  std::vector<IntegerProduct> result;
  const auto add = [&](const IntegerProduct& base, const Fraction& coefficient,
                       const Monomial& monomial, const Fraction& power) {
    IntegerProduct product = base;
    product.coefficient = product.coefficient * coefficient;
    for (std::size_t k = 0; k < monomial.degree(); ++k) {
      product.powers.emplace_back(monomial.symbol(k), power);
    }
    result.push_back(std::move(product));
  };
  const bool single = value.constant() == 0 && value.parts().size() == 1;
  for (const IntegerProduct& base : sum) {
    if (value.is_constant()) {
      if (value.constant() == 0 && exponent.sign() > 0) continue;
      if (!exponent.is_integer()) throw OutOfBudget{"a root of an integer"};
      add(base, Fraction(value.constant()).power(exponent.numerator()), {}, 0);
    } else if (single && exponent.is_integer()) {
      const Linear::Part& part = value.parts()[0];
      add(base, Fraction(part.coefficient).power(exponent.numerator()), part.monomial, exponent);
    } else if (exponent == Fraction(1)) {
      if (value.constant() != 0) add(base, value.constant(), {}, 0);
      for (const Linear::Part& part : value.parts()) add(base, part.coefficient, part.monomial, 1);
    } else {
      throw OutOfBudget{"a power of a sum of integers"};
    }
  }
  return result;
}

}  // namespace

NormalForm Arena::substitute(const Term& term, const Substitution& substitution) {
  Term result;
  result.coefficient = term.coefficient;
  result.binders = term.binders;
  for (const Fact& fact : term.guards) {
    Fact replaced = fact.substitute(substitution);
    const auto truth = replaced.truth();
    if (truth == false) return {};
    if (!truth) insert(result.guards, std::move(replaced));
  }
  std::vector<IntegerProduct> integers{{}};
  for (const Factor& factor : term.factors) {
    if (factor.atom->kind != AtomKind::kIndex) {
      result.factors.push_back({substitute(factor.atom, substitution), factor.exponent});
      continue;
    }
    Fraction exponent = factor.exponent;
    const Linear value = factor.atom->index[0].substitute(substitution);
    const bool sum = !value.is_constant() && (value.constant() != 0 || value.parts().size() > 1);
    // A positive power of a sum is that many factors.
    while (sum && exponent.is_integer() && exponent > Fraction(1)) {
      integers = multiply_out(integers, value, 1);
      exponent = exponent - 1;
    }
    if (sum && exponent.sign() < 0) {
      result.factors.push_back({reciprocal(form(value_of(value))), -exponent});
    } else {
      integers = multiply_out(integers, value, exponent);
    }
  }
  NormalForm terms;
  for (const IntegerProduct& product : integers) {
    Term part = result;
    part.coefficient = part.coefficient * product.coefficient;
    for (const auto& [symbol, power] : product.powers) {
      part.factors.push_back({index(symbol), power});
    }
    part.factors = Arena::product(std::move(part.factors));
    terms.push_back(std::move(part));
  }
  return terms;
}

NormalForm Arena::value_of(const Linear& value) {
  NormalForm terms;
  if (value.constant() != 0) terms.push_back({value.constant(), {}, {}, {}});
  for (const Linear::Part& part : value.parts()) {
    Term term{part.coefficient, {}, {}, {}};
    for (std::size_t k = 0; k < part.monomial.degree(); ++k) {
      term.factors.push_back({index(part.monomial.symbol(k)), 1});
    }
    term.factors = product(std::move(term.factors));
    terms.push_back(std::move(term));
  }
  return terms;
}

Term Arena::refreshed(const Term& term) {
  if (term.binders.empty()) return term;
  Substitution renaming;
  std::vector<Symbol> names;
  for (Symbol binder : term.binders) {
    names.push_back(fresh());
    renaming.emplace_back(binder, Linear(names.back()));
  }
  Term result = rename(term, renaming);
  result.binders = std::move(names);
  return result;
}

Piece Arena::refreshed(const Piece& piece) {
  Piece result;
  Substitution renaming;
  for (Symbol binder : piece.binders) {
    result.binders.push_back(fresh());
    renaming.emplace_back(binder, Linear(result.binders.back()));
  }
  for (const Fact& fact : piece.guards) insert(result.guards, fact.substitute(renaming));
  result.body = substitute(piece.body, renaming);
  return result;
}

NormalForm Arena::open(const Form* form) {
  NormalForm terms;
  for (const Term& term : form->terms) terms.push_back(refreshed(term));
  return terms;
}

NormalForm collected(NormalForm terms) {
  NormalForm result;
  std::unordered_multimap<std::uint64_t, std::size_t> seen;
  for (Term& term : terms) {
    const Fraction coefficient = term.coefficient;
    term.coefficient = 1;
    const std::uint64_t hash = hash_of(term);
    const auto [first, last] = seen.equal_range(hash);
    const auto like = std::find_if(first, last, [&](const auto& entry) {
      Term other = result[entry.second];
      other.coefficient = 1;
      return other == term;
    });
    if (like != last) {
      Fraction& total = result[like->second].coefficient;
      total = total + coefficient;
      continue;
    }
    term.coefficient = coefficient;
    seen.emplace(hash, result.size());
    result.push_back(std::move(term));
  }
  std::erase_if(result, [](const Term& term) { return term.coefficient.is_zero(); });
  return result;
}

NormalForm scaled(NormalForm terms, const Fraction& factor) {
  for (Term& term : terms) term.coefficient = term.coefficient * factor;
  return terms;
}

}  // namespace soapstone::verifier
