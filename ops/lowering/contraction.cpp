// A variable that one factor alone has is summed there; one that two factors share alone is summed
// by an einsum of these.
#include "ops/lowering/contraction.h"

#include <algorithm>
#include <limits>

namespace soapstone::ops {
namespace {

bool has(const Spread& x, Symbol axis) { return std::ranges::find(x.axes, axis) != x.axes.end(); }

class Contraction {
 public:
  Contraction(SharedNodes& nodes, const IndexSpace& space, SpreadOps& ops,
              std::vector<Spread> factors, std::vector<Symbol> summed)
      : nodes_(nodes), space_(space), ops_(ops), factors_(std::move(factors)),
        summed_(std::move(summed)) {}

  Spread run() {
    while (!nodes_.error()) {
      for (Spread& factor : factors_) sum_private(factor);
      if (factors_.size() == 1) return factors_[0];
      const auto [a, b] = cheapest_pair();
      Spread product = multiplied(factors_[a], factors_[b]);
      factors_.erase(factors_.begin() + static_cast<std::ptrdiff_t>(b));
      factors_[a] = std::move(product);
    }
    return {0.0, {}, {}};
  }

 private:
  void sum_private(Spread& factor) {
    std::vector<Symbol> own;
    for (const Symbol axis : factor.axes)
      if (is_summed(axis) && readers(axis) == 1) own.push_back(axis);
    factor = ops_.reduced("reduce_sum", factor, own);
  }

  bool is_summed(Symbol axis) const { return std::ranges::find(summed_, axis) != summed_.end(); }
  std::ptrdiff_t readers(Symbol axis) const {
    return std::ranges::count_if(factors_, [&](const Spread& x) { return has(x, axis); });
  }

  /// Axes of the product that no other factor shares and that are summed.
  std::vector<Symbol> closed_by(const Spread& a, const Spread& b) const {
    std::vector<Symbol> closed;
    for (const Symbol axis : space_.united(a.axes, b.axes))
      if (is_summed(axis) && readers(axis) == (has(a, axis) ? 1 : 0) + (has(b, axis) ? 1 : 0))
        closed.push_back(axis);
    return closed;
  }

  std::vector<Symbol> result_axes(const Spread& a, const Spread& b) const {
    std::vector<Symbol> axes = space_.united(a.axes, b.axes);
    for (const Symbol closed : closed_by(a, b)) std::erase(axes, closed);
    return axes;
  }

  double elements(const Spread& a, const Spread& b) const {
    double count = 1;
    for (const Symbol axis : result_axes(a, b)) count *= static_cast<double>(space_.size(axis));
    return count - static_cast<double>(space_.count(a.axes)) -
           static_cast<double>(space_.count(b.axes));
  }

  std::pair<std::size_t, std::size_t> cheapest_pair() const {
    std::pair<std::size_t, std::size_t> best{0, 1};
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < factors_.size(); ++a)
      for (std::size_t b = a + 1; b < factors_.size(); ++b)
        if (const double count = elements(factors_[a], factors_[b]); count < least) {
          least = count;
          best = {a, b};
        }
    return best;
  }

  Spread multiplied(const Spread& a, const Spread& b) {
    const std::vector<Symbol> closed = closed_by(a, b);
    if (closed.empty()) return ops_.broadcast("mul", {a, b});
    const std::vector<Symbol> all = space_.united(a.axes, b.axes);
    if (a.axes == all && b.axes == all)
      return ops_.reduced("reduce_sum", ops_.broadcast("mul", {a, b}), closed);
    const std::vector<Symbol> axes = result_axes(a, b);
    const auto letters = [&](const std::vector<Symbol>& of) {
      std::string text;
      for (const Symbol axis : of)
        text += static_cast<char>('a' + (std::ranges::find(all, axis) - all.begin()));
      return text;
    };
    const std::string equation = letters(a.axes) + "," + letters(b.axes) + "->" + letters(axes);
    return {{}, nodes_.append("einsum", {a.tensor, b.tensor}, {{"equation", equation}}), axes};
  }

  SharedNodes& nodes_;
  const IndexSpace& space_;
  SpreadOps& ops_;
  std::vector<Spread> factors_;
  std::vector<Symbol> summed_;
};

}  // namespace

Spread contract(SharedNodes& nodes, const IndexSpace& space, SpreadOps& ops,
                std::vector<Spread> factors, std::vector<Symbol> summed) {
  double times = 1;
  for (const Symbol axis : summed)
    if (std::ranges::none_of(factors, [&](const Spread& x) { return has(x, axis); }))
      times *= static_cast<double>(space.size(axis));
  const Spread repeated{times, {}, {}};
  if (factors.empty()) return repeated;
  return ops.times(Contraction(nodes, space, ops, std::move(factors), std::move(summed)).run(),
                   repeated);
}

}  // namespace soapstone::ops
