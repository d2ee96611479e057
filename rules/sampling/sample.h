// Random values for the symbols of a rule, chosen by where a symbol stands: a stride is small and
// positive, a permutation is one, a pad may be 0.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::rules {

/// A small generator whose numbers are the same on every platform (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// In [0, 1), with 53 random bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

class Sampler {
 public:
  /// Looks at shapes of inputs and attributes; types of results need not be there.
  explicit Sampler(const Rule& rule);
  /// Values for the parameters alone.
  Bindings parameters(Random& random) const;
  /// Values for all symbols but derived ones. Sizes are in [1, largest].
  Bindings all(Random& random, std::int64_t largest) const;

 private:
  enum class Use : std::uint8_t {
    kNone,
    kSize,
    kSmallPositive,
    kSmall,
    kPad,  ///< Small; negative now and then.
    kFlag,
    kAxis,
    kReal,
    kPositiveReal
  };
  void note_inputs(const Rule& rule);
  void note_attributes(const Graph& side);
  void note_conditions(const Rule& rule);
  void note(core::Symbol symbol, Use use);
  static Use use_of(const core::AttributeSchema& attribute);
  static std::int64_t draw(Use use, Random& random, std::int64_t largest);
  void draw_permutations(Bindings& values, Random& random) const;

  std::vector<Use> uses_;  // by symbol
  std::vector<core::Symbol> parameters_;
  std::vector<std::vector<core::Symbol>> permutations_;
};

}  // namespace soapstone::rules
