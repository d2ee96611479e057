// An atom's value where it is known, in its place throughout a form.
#pragma once

#include "verifier/laws/laws.h"

namespace soapstone::verifier {

class Replacement {
 public:
  /// Both live longer.
  Replacement(Laws& laws, const FactSet& context) : laws_(laws), context_(context) {}

  /// The form with the value in place of the atom. Errors: throws OutOfBudget.
  NormalForm replace(const NormalForm& form, const Atom& atom, const NormalForm& value);
  /// Whether the part is the whole or stands in it.
  static bool contains(const Atom& whole, const Atom& part);

 private:
  NormalForm replace(const Factor& factor, const Atom& atom, const NormalForm& value,
                     const FactSet& context);
  NormalForm rebuilt(const Factor& factor, const Atom& atom, const NormalForm& value,
                     const FactSet& context, Fraction& exponent);

  Laws& laws_;
  const FactSet& context_;
};

}  // namespace soapstone::verifier
