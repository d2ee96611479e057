#include "transforms/views/atoms.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace soapstone::transforms {
namespace {

void add_cuts(Sizes& cuts, const View& view, const View::Factors& dim) {
  std::int64_t behind = 1;
  for (std::size_t k = dim.size(); k-- > 0;) cuts.push_back(behind *= view.factors()[dim[k]].size);
}
bool divide_view(View& view, const Letters& letters, const std::vector<Sizes>& cuts) {
  for (std::size_t d = 0; d < letters.size(); ++d) {
    if (!letters[d]) continue;
    for (const std::int64_t cut : cuts[*letters[d]])
      if (!view.divide(d, cut)) return false;
  }
  return true;
}

}  // namespace

bool Atoms::divide(std::optional<View>& wanted) {
  std::vector<Sizes> cuts(indices_.count);
  for (std::size_t k = 0; k < operands_.size(); ++k)
    for (std::size_t d = 0; d < indices_.operands[k].size(); ++d)
      if (const auto letter = indices_.operands[k][d])
        add_cuts(cuts[*letter], operands_[k].view, operands_[k].view.dims()[d]);
  if (wanted) add_wanted_cuts(cuts, *wanted);
  for (Sizes& of_letter : cuts) {
    std::ranges::sort(of_letter);
    of_letter.erase(std::unique(of_letter.begin(), of_letter.end()), of_letter.end());
  }
  first_.assign(1, 0);
  for (const Sizes& of_letter : cuts) {
    Sizes sizes;
    for (std::size_t k = 0; k < of_letter.size(); ++k)
      sizes.insert(sizes.begin(), of_letter[k] / (k == 0 ? 1 : of_letter[k - 1]));
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      sizes_.push_back(sizes[k]);
      letter_.push_back(first_.size() - 1);
    }
    first_.push_back(sizes_.size());
  }
  for (std::size_t k = 0; k < operands_.size(); ++k)
    if (!divide_view(operands_[k].view, indices_.operands[k], cuts)) return false;
  if (wanted && !refine_wanted(*wanted, cuts)) wanted.reset();
  return true;
}

/// Cuts that the wanted view makes within dimensions of the result.
void Atoms::add_wanted_cuts(std::vector<Sizes>& cuts, const View& wanted) const {
  const Sizes shape = wanted.base_shape();
  std::int64_t behind = 1;
  for (std::size_t d = shape.size(); d-- > 0; behind *= shape[d]) {
    if (!indices_.result[d]) continue;
    for (const std::int64_t cut : wanted.base_cuts())
      if (cut > behind && cut <= behind * shape[d] && cut % behind == 0)
        cuts[*indices_.result[d]].push_back(cut / behind);
  }
}

bool Atoms::refine_wanted(View& wanted, const std::vector<Sizes>& cuts) const {
  const Sizes shape = wanted.base_shape();
  Sizes all;
  std::int64_t behind = 1;
  for (std::size_t d = shape.size(); d-- > 0; behind *= shape[d]) {
    if (!indices_.result[d]) continue;
    for (const std::int64_t cut : cuts[*indices_.result[d]]) all.push_back(cut * behind);
  }
  return wanted.refine_base(all);
}

Places Atoms::of(const Letters& letters) const {
  Places atoms;
  for (const auto& letter : letters)
    for (std::size_t a = letter ? first_[*letter] : 0; letter && a < first_[*letter + 1]; ++a)
      atoms.push_back(a);
  return atoms;
}

Places Atoms::base_order(std::size_t k) const {
  const View& view = operands_[k].view;
  const Places seen = of(indices_.operands[k]);
  const auto order = view.order();
  Places atoms(order.size());
  for (std::size_t n = 0; n < order.size(); ++n) atoms[order[n]] = seen[n];
  return atoms;
}

Places Atoms::groups(const std::vector<Places>& orders) const {
  Places group(sizes_.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (std::size_t a = 0; a + 1 < sizes_.size(); ++a) {
    if (letter_[a] != letter_[a + 1]) continue;
    const bool joins = std::ranges::all_of(orders, [&](const Places& order) {
      const auto here = std::ranges::find(order, a);
      if (here == order.end()) return std::ranges::find(order, a + 1) == order.end();
      return here + 1 != order.end() && *(here + 1) == a + 1;
    });
    if (joins) group[a + 1] = group[a];
  }
  return group;
}

Places Atoms::grouped(const Places& order, const Places& group) {
  Places first;
  for (const std::size_t a : order)
    if (group[a] == a) first.push_back(a);
  return first;
}

Sizes Atoms::sizes_of(const Places& order, const Places& group) const {
  Sizes sizes;
  for (const std::size_t first : order) {
    sizes.push_back(1);
    for (std::size_t a = first; a < group.size() && group[a] == first; ++a)
      sizes.back() *= sizes_[a];
  }
  return sizes;
}

View Atoms::result_view(const Places& order, const Places& group) const {
  const Sizes sizes = sizes_of(order, group);
  std::vector<View::Factor> factors;
  for (const std::int64_t size : sizes) factors.push_back({size});
  std::vector<View::Factors> dims;
  for (const auto& letter : indices_.result) {
    dims.emplace_back();
    for (std::size_t a = letter ? first_[*letter] : 0; letter && a < first_[*letter + 1]; ++a)
      if (group[a] == a)
        dims.back().push_back(
            static_cast<std::size_t>(std::ranges::find(order, a) - order.begin()));
  }
  return View(sizes, std::move(factors), std::move(dims));
}

}  // namespace soapstone::transforms
