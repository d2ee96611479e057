// From comprehensions to normal forms: sums and products are multiplied out, ranges become guards,
// functions become atoms, and the laws that functions obey are applied where their conditions hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ops/language/comprehension.h"
#include "verifier/forms/arena.h"
#include "verifier/normal_form/domain.h"
#include "verifier/normal_form/number_formats.h"
#include "verifier/questions/oracle.h"

namespace soapstone::verifier {

/// Steps a proof may take. Counted, not timed, so that a verdict does not depend on the machine.
class Budget {
 public:
  explicit Budget(std::uint64_t steps) : all_(steps), left_(steps) {}
  std::uint64_t spent() const { return all_ - left_; }
  void spend() {
    if (left_ == 0) throw OutOfBudget{"too many steps"};
    --left_;
  }

 private:
  std::uint64_t all_ = 0;
  std::uint64_t left_ = 0;
};

/// A size that is a product, and the factors that its index has as digits, most significant first.
using Factorization = std::pair<Linear, std::vector<Linear>>;

/// How indices are split into digits.
struct DigitOrder {
  std::vector<Factorization> factorizations;
  /// When expanding, sizes that are multiples of a small number have it as their last digit.
  bool splits_steps = true;
};

class Normalizer {
 public:
  /// The normal form of element `index` of a tensor that an expression reads.
  using Reader = std::function<NormalForm(std::uint32_t tensor, const std::vector<Linear>& index,
                                          const FactSet& context)>;
  /// Sizes of that tensor, for reads at a flat position.
  using ShapeOf = std::function<std::vector<Linear>(std::uint32_t tensor)>;

  Normalizer(Arena& arena, Oracle& oracle, Budget& budget)
      : arena_(arena), oracle_(oracle), budget_(budget) {}

  Arena& arena() { return arena_; }
  Oracle& oracle() { return oracle_; }
  Witness& witness() { return oracle_.witness(); }
  void set_digits(DigitOrder order) { digits_ = std::move(order); }
  /// Of the elements of all inputs.
  void set_types(std::vector<core::DataType> types) { types_ = std::move(types); }
  /// Numbers that stand for unknown ones.
  void set_unknown_numbers(std::vector<ops::Rational> numbers) { unknowns_ = std::move(numbers); }
  NormalForm number(const ops::Rational& value);
  bool is_boolean(const Atom& atom) const {
    return atom.kind == AtomKind::kRead && atom.tensor < types_.size() &&
           types_[atom.tensor] == core::DataType::kBool;
  }
  /// The size itself if it is not split.
  std::vector<Linear> factors_of(const Linear& size);
  /// An integer that counts through `size`: one fresh symbol, or its digits. Their ranges are added
  /// to `ranges`, the symbols to `symbols`.
  Linear counter(const Linear& low, const Linear& high, FactSet& ranges,
                 std::vector<Symbol>& symbols);

  /// Symbols that are free in the forms to be compared: they stand for themselves throughout.
  void add_outer(std::span<const Symbol> symbols) {
    outer_.insert(outer_.end(), symbols.begin(), symbols.end());
  }
  /// The position that named digits were made from, if this is their sum; else the position.
  Linear unnamed(const Linear& position) const;
  /// Symbols for the digits of any integer in these radices, which are at least 1. The first one
  /// takes what is left. The same question has the same answer. None if the position has symbols
  /// that are not outer ones.
  std::optional<std::vector<Linear>> name_digits(const Linear& position,
                                                 const std::vector<Linear>& radices);

  /// `names` maps the expression's own symbols; the result is valid where `context` holds.
  NormalForm evaluate(const ops::Expr& expression, const Substitution& names, const Reader& read,
                      const ShapeOf& shape_of, const FactSet& context);
  /// Equations solved, unused binders counted, impossible summands dropped.
  NormalForm simplify(Summand summand, const FactSet& context);
  NormalForm product(const NormalForm& a, const NormalForm& b, const FactSet& context);
  NormalForm reciprocal(const NormalForm& form, const FactSet& context);
  NormalForm apply(ops::Function function, const std::vector<NormalForm>& arguments,
                   const FactSet& context);

  /// The result of an operation that is computed as if exactly and rounded once; nothing happens to
  /// what is a number of that floating type already.
  NormalForm rounded(const NormalForm& form, core::DataType type, const FactSet& context);
  /// The result of an operation on integers that is computed as if exactly and wraps around.
  NormalForm wrapped(const NormalForm& form, core::DataType type, const FactSet& context);
  /// A real number as an integer, toward 0.
  NormalForm truncated(const NormalForm& form, core::DataType type, const FactSet& context);
  /// A form that is congruent to this modulo 2^bits of the integer type.
  NormalForm modulo(NormalForm form, core::DataType type, const FactSet& context);
  /// What wrapped() and truncated() put around forms.
  static bool is_wrap(const Atom& atom) { return (atom.tensor & kUndefinedOutside) == 0; }
  static core::DataType type_of_wrap(const Atom& atom) {
    return static_cast<core::DataType>(atom.tensor & ~kUndefinedOutside);
  }

  struct OpenPiece {
    std::vector<Symbol> binders;
    FactSet guards;
    NormalForm body;
  };
  NormalForm maximum(std::vector<OpenPiece> pieces, const FactSet& context);
  std::vector<OpenPiece> open(const Atom* maximum);
  /// Certainly, whatever the values of the inputs.
  bool non_negative(const NormalForm& form, const FactSet& context);
  /// A number that is known to be no less than 0 and otherwise anything.
  NormalForm any_non_negative() {
    return summand_of(arena_.read(kFirstNonNegative + next_non_negative_++, {}));
  }
  static bool is_non_negative_read(const Atom& atom) {
    return atom.kind == AtomKind::kRead && atom.tensor >= kFirstNonNegative;
  }

  /// The first guard of a summand that mentions none of the summand's binders and is not known to
  /// hold.
  const Fact* outer_guard(const NormalForm& form, const FactSet& context);
  /// The form where more is known: implied guards and impossible summands dropped.
  NormalForm under(const NormalForm& form, const FactSet& context);

  /// While this lives, what partial functions demand of their arguments is noted in the domain.
  class Noting {
   public:
    Noting(Normalizer& normalizer, Domain& domain) : normalizer_(normalizer) {
      normalizer_.domain_ = &domain;
    }
    ~Noting() { normalizer_.domain_ = nullptr; }
    Noting(const Noting&) = delete;
    Noting& operator=(const Noting&) = delete;

   private:
    Normalizer& normalizer_;
  };
  /// Notes that an operator demands low ≤ value < high. `of_all`: it may be noted that more is
  /// demanded; true: it was.
  bool demand_range(const NormalForm& value, const Linear& low, const Linear& high,
                    const FactSet& context, bool of_all);
  /// An operator demands 0 ≤ place < size, so Σ over 0 ≤ v < size of [place = v]·x(v) is x(place).
  void add_selector(const NormalForm& place, const Linear& size, const FactSet& context);
  void spend() { budget_.spend(); }
  bool is_never_zero(const NormalForm& form, const FactSet& context);
  /// By what an operator divides of its own, which its shape constraints keep from being 0.
  bool is_count(const Atom* reciprocal) const {
    return std::find(counts_.begin(), counts_.end(), reciprocal) != counts_.end();
  }
  void note_counts(const NormalForm& quotient);

  /// Whether functions that are made of exponentials are written as such, and sums and maxima over
  /// few numbers are written out.
  void set_expanding(bool expanding) { is_expanding_ = expanding; }
  /// There was something to expand.
  bool met_expandable() const { return met_expandable_; }
  /// The sum over a binder that goes through few numbers, written out; none if there is no such.
  std::optional<NormalForm> unrolled(const Summand& summand, const FactSet& context);

 private:
  struct Evaluation;
  using Build = std::function<NormalForm(const std::vector<NormalForm>&, const FactSet&)>;

  void simplify_powers(Summand& summand);
  bool join_with_relu(Summand& summand);
  const Form* selector_of(const Summand& summand, Symbol binder) const;
  std::optional<Symbol> selected_binder(const Summand& summand, const Form* place) const;
  /// Σ over the binder in its range of [place = binder]·inside(binder).
  struct Selection {
    Symbol binder;
    FactSet range;
    Factor selector;
    std::vector<NormalForm> inside;
  };
  std::optional<Selection> selection_in(const std::vector<NormalForm>& arguments);
  std::optional<NormalForm> through_selector(ops::Function function,
                                             const std::vector<NormalForm>& arguments,
                                             const FactSet& context);
  std::optional<Summand> without_selector(const Summand& summand) const;
  static bool is_selection(const Factor& factor, const Form* place, Symbol binder);
  void unite_equal_factors(Summand& summand, const FactSet& context);
  std::optional<NormalForm> without_square_of_root(const Summand& summand, const FactSet& context);
  NormalForm by_cases(const std::vector<NormalForm>& forms, const FactSet& context,
                      const Build& build);
  bool solve_equations(Summand& summand, Substitution& solved);
  void note_demands_of(ops::Function function, const NormalForm& argument, const FactSet& context);
  void note_demands_of_power(const std::vector<NormalForm>& arguments, const FactSet& context);
  void require(Demand demand, const NormalForm& form, const FactSet& context);
  bool is_at_least(const NormalForm& form, std::int64_t least, const FactSet& context);
  bool is_over_something(const Summand& sum, const FactSet& context);
  void require_factors(const Summand& product, const FactSet& context);
  bool is_positive(const Summand& summand, const FactSet& context);
  NormalForm count_free_binder(const Summand& summand, const FactSet& context, bool& counted);
  std::vector<Factor> take_common(NormalForm& form,
                                  const std::function<bool(const Factor&)>& wanted);
  NormalForm reciprocal_of_whole(NormalForm form, const FactSet& context);
  NormalForm apply_to_whole(ops::Function function, std::vector<NormalForm> arguments,
                            const FactSet& context);
  NormalForm relu_of_whole(const NormalForm& form, const FactSet& context);
  bool is_representable(const NormalForm& form, core::DataType type) const;
  bool is_representable(const Atom& atom, core::DataType type) const;
  NormalForm rounded_whole(const NormalForm& form, core::DataType type, const FactSet& context);
  std::optional<IntegerRange> range_of(const Atom& atom) const;
  std::optional<IntegerRange> range_of(const NormalForm& form) const;
  bool fits(const NormalForm& form, core::DataType type) const;
  static std::optional<Summand> reduced(Summand summand, int bits);
  NormalForm exponential(const NormalForm& form);
  std::optional<NormalForm> logarithm(const NormalForm& form);
  NormalForm where(const Fact& fact, const FactSet& context);
  std::optional<NormalForm>
  decided(ops::Function function, const std::vector<NormalForm>& arguments, const FactSet& context);
  std::optional<NormalForm> magnitude_of_product(const NormalForm& form, const FactSet& context);
  std::optional<NormalForm> root_of_product(const NormalForm& form, const FactSet& context);
  std::optional<NormalForm> root_of_scaled(const NormalForm& form);
  NormalForm logarithm_of_whole(NormalForm form, const FactSet& context);
  std::optional<NormalForm> into_maximum(ops::Function function, const NormalForm& form,
                                         const FactSet& context);
  NormalForm in_exponentials(ops::Function function, const NormalForm& form,
                             const FactSet& context);
  NormalForm summand_of(const Atom* atom) const;
  bool non_negative(const Factor& factor, const FactSet& context);
  Fraction leading_coefficient(const NormalForm& form);
  const Factor* only_factor(const NormalForm& form, AtomKind kind) const;
  bool solve_equations(OpenPiece& piece);
  bool project_unused(OpenPiece& piece, const FactSet& context);
  std::optional<std::vector<OpenPiece>> unrolled(const OpenPiece& piece);
  std::optional<std::vector<OpenPiece>> opened(const OpenPiece& piece);
  NormalForm select(const std::vector<NormalForm>& arguments, const FactSet& context);
  std::optional<NormalForm> small_power(const std::vector<NormalForm>& arguments,
                                        const FactSet& context);
  std::optional<NormalForm> pull_out_addends(std::vector<OpenPiece>& pieces,
                                             const FactSet& context);
  std::optional<NormalForm> pull_out_scale(std::vector<OpenPiece>& pieces, const FactSet& context);
  std::optional<NormalForm> pull_out_factors(std::vector<OpenPiece>& pieces,
                                             const FactSet& context);
  std::optional<NormalForm> pull_out_bound(const std::vector<OpenPiece>& pieces,
                                           const FactSet& context);
  std::optional<NormalForm> pull_out_exponential(std::vector<OpenPiece>& pieces,
                                                 const FactSet& context);
  NormalForm close_maximum(std::vector<OpenPiece> pieces, const FactSet& context);

  /// What decides the sign of a product: a number, and values that may be below 0.
  struct Sign {
    int known = 1;
    std::vector<const Form*> open;  ///< Each once: pairs have canceled.
  };
  std::vector<Summand> components(const Summand& summand);
  std::optional<Sign> sign_of(const Summand& summand, const FactSet& context);
  std::optional<NormalForm> homogeneous(ops::Function function, const NormalForm& form,
                                        const FactSet& context);
  std::optional<NormalForm> without_inverse_of_inverse(const Summand& summand,
                                                       const FactSet& context);
  bool is_integral(const NormalForm& form) const;
  bool is_integral(const Summand& summand) const;
  std::optional<NormalForm> pull_out_power(std::vector<OpenPiece>& pieces, const FactSet& context);

  struct DigitNames {
    Linear position;
    std::vector<Linear> radices;
    std::vector<Linear> digits;
    Linear sum;  ///< Of the digits by their place value.
  };

  Arena& arena_;
  Oracle& oracle_;
  Budget& budget_;
  std::vector<Symbol> outer_;
  std::vector<DigitNames> digit_names_;
  DigitOrder digits_;
  std::vector<core::DataType> types_;
  std::vector<ops::Rational> unknowns_;
  std::vector<const Atom*> counts_;
  std::vector<std::pair<const Form*, Linear>> selectors_;
  Domain* domain_ = nullptr;
  std::vector<Choice> choices_;  ///< Around what is evaluated.
  /// Tensors from here on are no inputs.
  static constexpr std::uint32_t kFirstNonNegative = 1U << 24;
  static constexpr std::uint32_t kFirstUnknown = 1U << 23;
  static constexpr std::uint32_t kUndefinedOutside = 1U << 8;  ///< In the format of a kWrapped.
  std::uint32_t next_non_negative_ = 0;
  int case_depth_ = 0;
  bool is_expanding_ = false;
  bool met_expandable_ = false;
};

}  // namespace soapstone::verifier
