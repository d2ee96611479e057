// The question that the laws ask of the checker, so that neither of them includes the other.
#pragma once

#include <functional>
#include <memory>

#include "verifier/forms/summand.h"

namespace soapstone::verifier {

class Equality {
 public:
  virtual ~Equality() = default;
  /// Whether a = b for all values of the inputs, at all integers for which the context holds.
  /// `true` is certain.
  virtual bool equal(const NormalForm& a, const NormalForm& b, const FactSet& context) = 0;
};

/// Answers are remembered by the object that gave them, so whoever compares many forms makes one of
/// its own.
using MakeEquality = std::function<std::unique_ptr<Equality>()>;

}  // namespace soapstone::verifier
