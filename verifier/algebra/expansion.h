// Whether a proof writes out what is short: sums and maxima over few numbers, |x| in maxima, and
// sigmoid and tanh as exponentials.
#pragma once

namespace soapstone::verifier {

struct Expansion {
  bool wanted = false;
  /// There was something to write out, so wanting it may make a difference.
  bool met = false;
};

}  // namespace soapstone::verifier
