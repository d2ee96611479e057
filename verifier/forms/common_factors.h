// Factors that all summands of a form have in common: form = common · rest.
#pragma once

#include <functional>
#include <vector>

#include "verifier/forms/arena.h"

namespace soapstone::verifier {

/// The atom alone, as a form.
NormalForm summand_of(const Atom* atom);
/// Divides the form by the powers of atoms that it returns. Each has one value throughout (it
/// mentions no binder) and occurs in the rest with its least power 0. `wanted` says which may be
/// taken out.
std::vector<Factor> take_common(NormalForm& form, const std::function<bool(const Factor&)>& wanted);
/// The coefficient of the first summand in an order that does not look at coefficients. 1 for 0.
Fraction leading_coefficient(Arena& arena, const NormalForm& form);
/// The atom of that kind that the whole form is, up to a positive coefficient; else null.
const Factor* only_factor(const NormalForm& form, AtomKind kind);
/// The form is one product, without binders and guards.
bool is_product(const NormalForm& form);

}  // namespace soapstone::verifier
