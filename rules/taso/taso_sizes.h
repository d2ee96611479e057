// Sizes for rules that come without any: every dimension starts as an unknown, and equations
// between them are solved as the operators demand.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/polynomial.h"

namespace soapstone::rules::taso {

using core::Polynomial;
using core::Symbol;

/// A dimension, and the sizes that a concat put together to make it: what a split takes apart.
struct Axis {
  Polynomial size;
  std::shared_ptr<const std::vector<Axis>> parts;
};
using Axes = std::vector<Axis>;

/// One dimension of a sliding window. `pads` is the sum of both ends.
struct Sliding {
  std::int64_t kernel = 1, stride = 1, pads = 0;
  bool operator==(const Sliding&) const = default;
};

class SizeEquations {
 public:
  Polynomial fresh() { return Polynomial(Symbol{next_++}); }
  /// How many windows there are. With a stride that is an unknown of its own, the same one for the
  /// same question.
  Polynomial windows(const Polynomial& size, const Sliding& window);
  /// Errors: kInvalidInput: no positive sizes satisfy it together with the others.
  core::Status equate(const Polynomial& a, const Polynomial& b);
  /// With all unknowns replaced that are solved.
  Polynomial resolve(const Polynomial& p) const;
  /// The equations p = 0 that express no unknown by a sum of others.
  const std::vector<Polynomial>& open() const { return open_; }
  /// Whether it counts windows of a stride, which no input can have as its size.
  bool counts_windows(const Polynomial& p) const;

 private:
  struct WindowCount {
    Symbol count;
    Polynomial size;
    Sliding window;
  };
  const WindowCount* window_count(Symbol symbol) const;
  /// The sizes whose windows are counted on both sides of p = 0, which is nothing else.
  std::optional<Polynomial> difference_of_windowed(const Polynomial& p) const;
  /// An unknown of p = 0 and what it is.
  std::optional<std::pair<Symbol, Polynomial>> solution(const Polynomial& p) const;

  std::uint32_t next_ = 0;
  std::vector<std::pair<Symbol, Polynomial>> solved_;
  std::vector<Polynomial> open_;
  std::vector<WindowCount> counts_;
};

}  // namespace soapstone::rules::taso
