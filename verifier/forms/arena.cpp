// Interning, order and signatures of atoms and forms.
#include "verifier/forms/arena.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "core/base/hash.h"

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

std::uint64_t hash_of(const Summand& summand) {
  std::uint64_t hash = hash_combine(hash_of(summand.coefficient), hash_of(summand.guards));
  hash = hash_combine(hash, hash_of(summand.binders));
  for (const Factor& factor : summand.factors) {
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

/// The hash of a set: values sorted, each once.
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
  case AtomKind::kWrapped:
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

const Atom* Arena::wrapped(const Form* argument, std::uint32_t format) {
  Atom atom;
  atom.kind = AtomKind::kWrapped;
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
std::uint32_t Arena::free_height(const NormalForm& summands, std::uint32_t height) {
  std::vector<Symbol> symbols;
  for (const Summand& summand : summands) {
    const std::vector<Symbol> own = free_symbols(summand);
    symbols.insert(symbols.end(), own.begin(), own.end());
  }
  const auto taken = [&](Symbol symbol) { return height_of_name(symbol) == height; };
  while (std::any_of(symbols.begin(), symbols.end(), taken)) ++height;
  return height;
}

const Form* Arena::form(NormalForm summands) {
  Form form;
  std::uint32_t below = 0;
  for (const Summand& summand : summands) below = std::max(below, height(summand));
  form.height = free_height(summands, below + 1);
  for (Summand& summand : summands) summand = canonical(summand, form.height);
  // The order leaves coefficients out: a change of sign or scale must not change it.
  const auto key = [&](const Summand& summand) {
    Summand bare = summand;
    bare.coefficient = 1;
    return std::tuple(signature(summand), hash_of(bare));
  };
  std::stable_sort(summands.begin(), summands.end(),
                   [&](const Summand& a, const Summand& b) { return key(a) < key(b); });
  form.summands = std::move(summands);
  std::vector<std::uint64_t> signatures;
  form.hash = form.height;
  for (const Summand& summand : form.summands) {
    form.hash = hash_combine(form.hash, hash_of(summand));
    signatures.push_back(signature(summand));
    const std::vector<Symbol> symbols = free_symbols(summand);
    form.free_symbols.insert(form.free_symbols.end(), symbols.begin(), symbols.end());
  }
  sort_unique(form.free_symbols);
  form.signature = hash_of_set(std::move(signatures));
  const auto [first, last] = form_index_.equal_range(form.hash);
  for (auto at = first; at != last; ++at) {
    if (at->second->summands == form.summands) return at->second;
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

std::uint64_t Arena::hash(const Summand& summand) { return hash_of(summand); }

std::uint64_t Arena::signature(const Summand& summand) {
  std::vector<std::uint64_t> factors;
  for (const Factor& factor : summand.factors) {
    factors.push_back(hash_combine(factor.atom->signature, hash_of(factor.exponent)));
  }
  std::sort(factors.begin(), factors.end());
  std::uint64_t hash = summand.binders.size();
  for (std::uint64_t factor : factors) hash = hash_combine(hash, factor);
  return hash;
}

std::vector<Symbol> Arena::free_symbols(const Summand& summand) {
  std::vector<Symbol> result;
  for (const Fact& fact : summand.guards) fact.expression.append_symbols(result);
  for (const Factor& factor : summand.factors) {
    result.insert(result.end(), factor.atom->free_symbols.begin(), factor.atom->free_symbols.end());
  }
  sort_unique(result);
  remove(result, summand.binders);
  return result;
}

std::uint32_t Arena::height(const Summand& summand) {
  std::uint32_t height = 0;
  for (const Factor& factor : summand.factors) height = std::max(height, factor.atom->height);
  return height;
}

}  // namespace soapstone::verifier
