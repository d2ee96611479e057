// The cheapest order of a product of several tensors, and how it is written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "transforms/contract/contraction_tree.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {

using OperandSet = std::uint32_t;  ///< Of the operands of a product.
using IndexSet = std::set<std::size_t>;

/// Work beside which a launch and the reading of an element count as much on a device of today.
inline constexpr double kWorkOfLaunch = 5e7, kWorkOfElement = 40;
/// Of what a launch before it may take up.
inline constexpr double kWorkOfStep = 1e7;

/// All that have a size above 1.
IndexSet indices_of(const IndexList& list);
double elements_along(const IndexSet& indices, const Sizes& sizes);

struct ProductOperand {
  IndexSet indices;
  bool is_constant = false;
};

/// What is multiplied, and summed over all indices that the result does not have.
struct IndexedProduct {
  std::vector<ProductOperand> operands;
  IndexSet result;
  bool may_scale = false;  ///< Products of elements are steps of a launch before them.
};

/// Which order costs least, by dynamic programming over sets of operands. Both arguments have to
/// live as long.
class OrderSearch {
 public:
  OrderSearch(const IndexedProduct& product, const Sizes& sizes)
      : product_(product), sizes_(sizes) {}

  OperandSet all() const { return (OperandSet{1} << product_.operands.size()) - 1; }
  bool may_scale() const { return product_.may_scale; }
  /// What the operands are multiplied to has those that others still need.
  const IndexSet& kept(OperandSet operands) const;
  /// Of multiplying what the two sets were multiplied to.
  double cost(OperandSet a, OperandSet b) const;
  /// Whether something is summed.
  bool has_sums() const;

  struct Best {
    double cost = 0;
    OperandSet left = 0;  ///< Multiplied by the rest; 0: a single operand.
  };
  const Best& best(OperandSet operands);
  /// Of an order in which these are joined one after another; more than two at once count as one.
  double cost_of(const std::vector<std::vector<std::size_t>>& joins) const;

 private:
  bool is_constant(OperandSet operands) const;
  IndexSet indices_kept(OperandSet operands) const;

  const IndexedProduct& product_;
  const Sizes& sizes_;
  std::map<OperandSet, Best> best_;
  mutable std::map<OperandSet, IndexSet> kept_;
};

/// A tensor with a dimension for each index.
struct IndexedName {
  std::string name;
  std::vector<std::size_t> indices;
};

/// The line of a rule that multiplies two tensors element by element.
std::string elementwise_product(std::string_view a, std::string_view b);

/// Writes products in the order that was found.
class ProductWriter {
 public:
  ProductWriter(SideText& side, const Sizes& sizes) : side_(side), sizes_(sizes) {}

  /// `wanted`: dimensions of the result in their order; none: whichever come by themselves.
  IndexedName write(OrderSearch& search, const std::function<IndexedName(std::size_t)>& operand,
                    const std::vector<std::size_t>* wanted = nullptr);
  /// As the tensor stands in a shape with these dimensions, others than its own of size 1. None:
  /// its dimensions lie in another order.
  std::optional<std::string> broadcast(const IndexedName& tensor,
                                       const std::vector<std::size_t>& result);
  Sizes sizes_of(const std::vector<std::size_t>& indices) const;
  /// Of all products that this wrote, each counted once.
  double cost() const { return cost_; }

 private:
  IndexedName multiplied(OrderSearch& search, OperandSet operands,
                         const std::function<IndexedName(std::size_t)>& operand,
                         const std::vector<std::size_t>* wanted);
  std::string call(const IndexedName& a, const IndexedName& b,
                   const std::vector<std::size_t>& result, bool may_scale);

  SideText& side_;
  const Sizes& sizes_;
  double cost_ = 0;
};

}  // namespace soapstone::transforms
