// The variables that a kernel's index expressions are made of: loop counters, and digits of
// expressions (⌊x / d⌋ mod m). Whatever position a tensor is read at, its indices follow from here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "ops/evaluation/evaluate_tree.h"

namespace soapstone::runtime::generated {

using ops::evaluation::Affine;

/// ⌊`of` / divisor⌋ mod modulus; a modulus of 0 is none.
struct Digit {
  Affine of;
  std::int64_t divisor = 1, modulus = 0;
};

struct IndexVariable {
  std::int64_t low = 0, high = 1;  ///< low ≤ value < high
  std::string name;                ///< In the text; empty for a digit.
  std::optional<Digit> digit;
};

/// Consecutive values of one variable that a thread handles at once: `width` of them, from a
/// multiple of `width` on.
struct Chunk {
  std::uint32_t variable = 0;
  std::int64_t width = 1;
};

class IndexSpace {
 public:
  /// A variable that the text declares by itself.
  std::uint32_t add(std::string name, std::int64_t low, std::int64_t high);
  void rename(std::uint32_t variable, std::string name);
  const IndexVariable& variable(std::uint32_t id) const { return variables_[id]; }
  std::span<const IndexVariable> variables() const { return variables_; }

  /// A variable that is another one where that lies in low ≤ value < high: of its digits more is
  /// known. None: it never does, or the bounds say nothing new.
  std::optional<std::uint32_t> narrowed(std::uint32_t variable, std::int64_t low,
                                        std::int64_t high);
  /// The same without narrowed variables, for what holds elsewhere too.
  Affine plain(const Affine& a);

  static Affine value_of(std::uint32_t variable) { return Affine{0, {{variable, 1}}}; }
  /// The digit as simply as it can be said: an exact quotient needs no division, and a digit of a
  /// digit is one of the same expression.
  Affine digit(const Affine& of, std::int64_t divisor, std::int64_t modulus);
  /// The indices of the element at a row-major position, outermost first.
  std::vector<Affine> indices_at(const Affine& position, std::span<const std::int64_t> sizes);
  /// Adjacent digits of one expression put together again.
  Affine joined(const Affine& a);
  std::pair<std::int64_t, std::int64_t> bounds(const Affine& a) const;  ///< least and most
  /// The value where declared variables have these values; those not named have their least.
  std::int64_t value_at(const Affine& a, const std::map<std::uint32_t, std::int64_t>& at) const;
  /// Adds the declared variables that the value of `a` follows from, through digits as well.
  void add_variables_of(const Affine& a, std::set<std::uint32_t>& variables) const;

  /// By how much `a` grows from one value of the chunk to the next; none: not evenly.
  std::optional<std::int64_t> step(const Affine& a, const Chunk& chunk) const;
  /// True if `a` is a multiple of the chunk's width at its first value.
  bool is_aligned(const Affine& a, const Chunk& chunk) const;

  std::string text(const Affine& a) const;

 private:
  struct Split {
    Affine quotient, rest;
  };
  Split split(const Affine& a, std::int64_t divisor) const;
  /// The digit that `a` is alone, or null.
  const Digit* as_digit(const Affine& a) const;
  std::optional<Affine> joined_pair(const Affine& a);
  std::optional<Affine> digit_of_multiple(const Affine& of, std::int64_t divisor,
                                          std::int64_t modulus);
  std::string digit_text(const Digit& digit) const;

  using Key =
      std::tuple<std::int64_t, std::map<std::uint32_t, std::int64_t>, std::int64_t, std::int64_t>;
  std::vector<IndexVariable> variables_;
  std::map<Key, std::uint32_t> digits_;
  bool has_narrowed_ = false;
};

}  // namespace soapstone::runtime::generated
