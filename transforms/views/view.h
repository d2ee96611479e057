// A tensor as another one whose elements are only moved: each of its dimensions is a list of
// factors of the other's. Reshapes, transposes, cuts and joins of its parts change the lists alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace soapstone::transforms {

using Sizes = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

class View {
 public:
  struct Factor {
    std::int64_t size = 1;
    std::optional<std::int64_t> at = {};  ///< Only this place of it is seen.
    std::string name = {};                ///< Of its size in a rule; empty: the number.
    std::string text() const { return name.empty() ? std::to_string(size) : name; }
  };
  using Factors = std::vector<std::size_t>;  // by number

  /// The tensor itself.
  explicit View(const Sizes& shape);
  /// A tensor whose dimensions are those of a base that has that factor for each.
  View(Sizes base_shape, std::vector<Factor> factors, std::vector<Factors> dims)
      : base_shape_(std::move(base_shape)), factors_(std::move(factors)), dims_(std::move(dims)) {}

  const Sizes& base_shape() const { return base_shape_; }
  /// They divide the elements of the base, in row-major order. All are larger than 1.
  const std::vector<Factor>& factors() const { return factors_; }
  /// By dimension of the tensor; none for one of size 1.
  const std::vector<Factors>& dims() const { return dims_; }
  Sizes shape() const;
  /// Likewise, as a rule says them.
  Names base_shape_text() const;
  Names shape_text() const;
  /// All factors that are seen, in the order of the tensor.
  Factors order() const;
  bool is_whole() const;     ///< All elements of the base are seen.
  bool is_permuted() const;  ///< They stand in another order.
  bool is_identity() const;  ///< Nothing is changed, the shape included.

  // What is done to the tensor. False: it has no such form; the view is worth nothing then.
  bool reshape(const Sizes& shape);
  void permute(std::span<const std::int64_t> order);
  /// Equal pieces only: one of consecutive ones, or every step-th element.
  bool cut(std::size_t dim, std::int64_t start, std::int64_t size, std::int64_t step);
  /// A list of factors of a dimension becomes two, the second one of that many elements.
  std::optional<std::pair<Factors, Factors>> divide(std::size_t dim, std::int64_t inner);
  /// Parts of one base, one behind the other along a dimension.
  static std::optional<View> joined(std::vector<View> parts, std::size_t dim);
  /// This is a view of the tensor of `inner`: the same of the base of `inner`.
  std::optional<View> of(View inner) const;

  /// Divides factors further, so that those of the base, or of the seen order, have these as
  /// products of all behind them. False: they do not divide each other.
  bool refine_base(const Sizes& behind);
  bool refine_order(const Sizes& behind);
  Sizes base_cuts() const;
  Sizes order_cuts() const;
  /// Factors that nothing parts are one.
  View coarsened() const;

  /// By dimension of the base: whether it is one factor.
  std::vector<bool> undivided() const;
  /// With names for the sizes of these dimensions of the base, which may then have any size.
  View named(const std::vector<bool>& dims) const;
  /// Likewise, with these names; an empty one: the number stays. Precondition: the others are of
  /// dimensions that are one factor.
  View named(const Names& dims) const;

 private:
  void divide_factor(std::size_t factor, std::int64_t inner);
  bool refine(const Factors& factors, const Sizes& behind);
  Factors all_factors() const;
  Sizes cuts_of(const Factors& factors) const;
  void fix(const Factors& factors, std::int64_t at);
  /// By factor: the dimension of the base that it is all of.
  std::vector<std::optional<std::size_t>> base_dims() const;

  Sizes base_shape_;
  Names base_names_;  ///< Empty: numbers.
  std::vector<Factor> factors_;
  std::vector<Factors> dims_;
};

std::int64_t product_of(const Sizes& sizes);

}  // namespace soapstone::transforms
