// See open_piece.h.
#include "verifier/algebra/open_piece.h"

#include <algorithm>
#include <utility>

#include "verifier/forms/equations.h"

namespace soapstone::verifier {

bool mentions(const NormalForm& form, Symbol symbol) {
  return std::any_of(form.begin(), form.end(), [&](const Summand& summand) {
    const std::vector<Symbol> symbols = Arena::free_symbols(summand);
    return std::binary_search(symbols.begin(), symbols.end(), symbol);
  });
}

std::vector<OpenPiece> open_pieces(Arena& arena, const Atom& maximum) {
  std::vector<OpenPiece> pieces;
  for (const Piece& original : maximum.pieces) {
    Piece piece = arena.refreshed(original);
    pieces.push_back({std::move(piece.binders), std::move(piece.guards), arena.open(piece.body)});
  }
  return pieces;
}

bool solve_equations(Arena& arena, OpenPiece& piece) {
  FactSet guards = piece.guards;
  std::vector<Symbol> binders = piece.binders;
  Substitution solved;
  if (!solve_equations(guards, binders, solved)) return false;
  if (solved.empty()) return true;
  NormalForm body;
  for (const Summand& summand : piece.body) {
    for (Summand& part : arena.substitute(summand, solved)) body.push_back(std::move(part));
  }
  piece = {std::move(binders), std::move(guards), collected(std::move(body))};
  return true;
}

std::vector<OpenPiece> written_out(Arena& arena, const OpenPiece& piece, Symbol binder,
                                   std::int64_t low, std::int64_t high) {
  std::vector<OpenPiece> result;
  for (std::int64_t value = low; value <= high; ++value) {
    const Substitution here{{binder, Linear(value)}};
    OpenPiece part;
    part.binders = piece.binders;
    std::erase(part.binders, binder);
    bool possible = true;
    for (const Fact& fact : piece.guards) {
      Fact replaced = fact.substitute(here);
      const auto truth = replaced.truth();
      possible = possible && truth != false;
      if (!truth) insert(part.guards, std::move(replaced));
    }
    for (const Summand& summand : piece.body) {
      for (Summand& each : arena.substitute(summand, here)) part.body.push_back(std::move(each));
    }
    if (possible) result.push_back(std::move(part));
  }
  return result;
}

bool project_unused(const ProofContext& proof, OpenPiece& piece, const FactSet& context) {
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
    std::erase_if(rest, [&](const Fact& fact) { return proof.implied(context, fact); });
    piece.guards = std::move(rest);
    std::erase(piece.binders, binder);
  }
  return piece.binders.empty();
}

}  // namespace soapstone::verifier
