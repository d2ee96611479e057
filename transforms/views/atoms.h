// Dimensions of several tensors that run over the same indices, divided into the same parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transforms/views/view.h"

namespace soapstone::transforms {

/// An operand: a view of a tensor that has that number.
struct MovedOperand {
  View view;
  std::size_t base = 0;
};

/// Which dimensions run over one index; none: a size of 1.
using Letters = std::vector<std::optional<std::size_t>>;
struct Indices {
  std::vector<Letters> operands;
  Letters result;
  std::size_t count = 0;
};

/// Numbers of atoms.
using Places = std::vector<std::size_t>;

/// The parts of indices that no view divides further, numbered by letter. What it is made of has to
/// outlive it.
class Atoms {
 public:
  Atoms(const Indices& indices, std::vector<MovedOperand>& operands)
      : indices_(indices), operands_(operands) {}

  /// Divides all operands, and the wanted view of the result, into the same atoms. False: they
  /// cannot be. The wanted view is given up if it alone cannot.
  bool divide(std::optional<View>& wanted);

  std::size_t count() const { return sizes_.size(); }
  std::int64_t size(std::size_t atom) const { return sizes_[atom]; }
  /// Atoms of these letters one by one.
  Places of(const Letters& letters) const;
  /// Those of an operand in the order in which they lie in its base.
  Places base_order(std::size_t operand) const;

  /// Joins atoms that are next to each other wherever one of them is: by atom, the first of its
  /// group.
  Places groups(const std::vector<Places>& orders) const;
  /// The first ones of groups.
  static Places grouped(const Places& order, const Places& group);
  /// Of groups, by their first atoms.
  Sizes sizes_of(const Places& order, const Places& group) const;
  /// The result as a view of a tensor with one dimension for each.
  View result_view(const Places& order, const Places& group) const;

 private:
  void add_wanted_cuts(std::vector<Sizes>& cuts, const View& wanted) const;
  bool refine_wanted(View& wanted, const std::vector<Sizes>& cuts) const;

  const Indices& indices_;
  std::vector<MovedOperand>& operands_;
  Sizes sizes_;            ///< By atom.
  Places letter_, first_;  ///< By atom; by letter: its first atom.
};

}  // namespace soapstone::transforms
