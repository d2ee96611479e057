// One set of values that a maximum is taken over, with binders of its own: max over the binders, if
// the guards hold, of the body.
#pragma once

#include <cstdint>
#include <vector>

#include "verifier/checking/proof_context.h"

namespace soapstone::verifier {

struct OpenPiece {
  std::vector<Symbol> binders;
  FactSet guards;
  NormalForm body;
};

/// A single value that is always there.
inline bool is_plain(const OpenPiece& piece) {
  return piece.binders.empty() && piece.guards.empty();
}
/// The pieces of a maximum with fresh binders.
std::vector<OpenPiece> open_pieces(Arena& arena, const Atom& maximum);
/// Whether the symbol is free in the form.
bool mentions(const NormalForm& form, Symbol symbol);
/// Binders that an equation determines become their value. False: the guards contradict each other.
bool solve_equations(Arena& arena, OpenPiece& piece);
/// The pieces for each number that the binder stands for, low and high included.
std::vector<OpenPiece> written_out(Arena& arena, const OpenPiece& piece, Symbol binder,
                                   std::int64_t low, std::int64_t high);
/// ∃ v: a ≤ v ≤ b is a ≤ b. A binder that the body does not mention only says whether the piece is
/// there, so its bounds are combined, which is exact for coefficients 1 and −1. Whether no binder
/// is left.
bool project_unused(const ProofContext& proof, OpenPiece& piece, const FactSet& context);

}  // namespace soapstone::verifier
