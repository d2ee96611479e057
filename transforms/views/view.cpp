#include "transforms/views/view.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace soapstone::transforms {
namespace {

using Factors = View::Factors;

/// A number of pieces, from one to the next of which it is that far.
struct Level {
  std::int64_t count = 1, stride = 1;
};

/// The sequence as nested counts, innermost first. None: it is none.
std::optional<std::vector<Level>> levels_of(Sizes places) {
  std::vector<Level> levels;
  if (places.empty() || places[0] != 0) return std::nullopt;
  while (places.size() > 1) {
    const std::int64_t stride = places[1];
    std::size_t count = 1;
    while (count < places.size() && places[count] == static_cast<std::int64_t>(count) * stride)
      ++count;
    if (stride <= 0 || places.size() % count != 0) return std::nullopt;
    Sizes outer;
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (k % count == 0) outer.push_back(places[k]);
      if (places[k] != outer.back() + static_cast<std::int64_t>(k % count) * stride)
        return std::nullopt;
    }
    levels.push_back({static_cast<std::int64_t>(count), stride});
    places = std::move(outer);
  }
  return levels;
}

}  // namespace

std::int64_t product_of(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

View::View(const Sizes& shape) : base_shape_(shape) {
  for (const std::int64_t size : shape) {
    dims_.emplace_back();
    if (size == 1) continue;
    dims_.back().push_back(factors_.size());
    factors_.push_back({size});
  }
}

Sizes View::shape() const {
  Sizes shape;
  for (const Factors& dim : dims_) {
    shape.push_back(1);
    for (const std::size_t f : dim) shape.back() *= factors_[f].size;
  }
  return shape;
}

Factors View::order() const {
  Factors order;
  for (const Factors& dim : dims_) order.insert(order.end(), dim.begin(), dim.end());
  return order;
}

Names View::base_shape_text() const {
  if (!base_names_.empty()) return base_names_;
  Names names;
  for (const std::int64_t size : base_shape_) names.push_back(std::to_string(size));
  return names;
}

Names View::shape_text() const {
  Names names;
  for (const Factors& dim : dims_) {
    std::int64_t number = 1;
    std::string named;
    for (const std::size_t f : dim) {
      if (factors_[f].name.empty())
        number *= factors_[f].size;
      else
        named += (named.empty() ? "" : "*") + factors_[f].name;
    }
    const std::string first = number > 1 || named.empty() ? std::to_string(number) : "";
    names.push_back(first + (first.empty() || named.empty() ? "" : "*") + named);
  }
  return names;
}

std::vector<std::optional<std::size_t>> View::base_dims() const {
  std::vector<std::optional<std::size_t>> dims(factors_.size());
  std::size_t f = 0;
  for (std::size_t d = 0; d < base_shape_.size() && f < factors_.size(); ++d) {
    if (factors_[f].size == base_shape_[d] && base_shape_[d] > 1) dims[f] = d;
    for (std::int64_t left = base_shape_[d]; left > 1 && f < factors_.size(); ++f)
      left /= factors_[f].size;
  }
  return dims;
}

std::vector<bool> View::undivided() const {
  std::vector<bool> dims(base_shape_.size());
  const auto whole = base_dims();
  for (std::size_t f = 0; f < whole.size(); ++f)
    if (whole[f] && !factors_[f].at) dims[*whole[f]] = true;
  return dims;
}

View View::named(const std::vector<bool>& dims) const {
  Names names;
  for (std::size_t d = 0; d < dims.size(); ++d)
    names.push_back(dims[d] ? "n" + std::to_string(d) : "");
  return named(names);
}

View View::named(const Names& dims) const {
  View view = *this;
  view.base_names_ = base_shape_text();
  const auto whole = base_dims();
  for (std::size_t f = 0; f < whole.size(); ++f) {
    if (!whole[f] || dims[*whole[f]].empty()) continue;
    view.factors_[f].name = view.base_names_[*whole[f]] = dims[*whole[f]];
  }
  return view;
}

bool View::is_whole() const { return order().size() == factors_.size(); }
bool View::is_permuted() const { return !std::ranges::is_sorted(order()); }
bool View::is_identity() const { return is_whole() && !is_permuted() && shape() == base_shape_; }

void View::divide_factor(std::size_t factor, std::int64_t inner) {
  const Factor before = factors_[factor];
  factors_[factor].size = before.size / inner;
  const auto behind = factors_.begin() + static_cast<std::ptrdiff_t>(factor) + 1;
  factors_.insert(behind, Factor{inner});
  if (before.at) {
    factors_[factor].at = *before.at / inner;
    factors_[factor + 1].at = *before.at % inner;
  }
  for (Factors& dim : dims_) {
    for (std::size_t k = 0; k < dim.size(); ++k) {
      if (dim[k] > factor) ++dim[k];
      if (dim[k] == factor) {
        ++k;
        dim.insert(dim.begin() + static_cast<std::ptrdiff_t>(k), factor + 1);
      }
    }
  }
}

bool View::reshape(const Sizes& shape) {
  // Positions in an empty tensor have no digits.
  const std::int64_t count = product_of(shape);
  if (count == 0 || count != product_of(this->shape())) return false;
  Sizes behind;
  for (std::size_t d = shape.size(); d-- > 0;)
    behind.push_back(shape[d] * (behind.empty() ? 1 : behind.back()));
  if (!refine_order(behind)) return false;
  const Factors order = this->order();
  std::size_t next = 0;
  dims_.assign(shape.size(), {});
  for (std::size_t d = 0; d < shape.size(); ++d) {
    for (std::int64_t size = 1; size < shape[d]; size *= factors_[order[next++]].size)
      dims_[d].push_back(order[next]);
  }
  return true;
}

void View::permute(std::span<const std::int64_t> order) {
  std::vector<Factors> dims;
  for (const std::int64_t d : order) dims.push_back(dims_[static_cast<std::size_t>(d)]);
  dims_ = std::move(dims);
}

std::optional<std::pair<Factors, Factors>> View::divide(std::size_t dim, std::int64_t inner) {
  std::int64_t behind = 1;
  for (std::size_t k = dims_[dim].size(); k-- > 0 && behind < inner;) {
    const std::size_t factor = dims_[dim][k];
    const std::int64_t size = factors_[factor].size;
    if (behind * size > inner) {
      const std::int64_t part = inner / behind;
      if (inner % behind != 0 || size % part != 0) return std::nullopt;
      divide_factor(factor, part);
    }
    behind *= std::min(size, inner / behind);
  }
  if (behind != inner) return std::nullopt;
  std::pair<Factors, Factors> halves;
  std::int64_t left = shape()[dim];
  for (const std::size_t factor : dims_[dim]) {
    (left > inner ? halves.first : halves.second).push_back(factor);
    left /= factors_[factor].size;
  }
  return halves;
}

void View::fix(const Factors& factors, std::int64_t at) {
  for (std::size_t k = factors.size(); k-- > 0;) {
    Factor& factor = factors_[factors[k]];
    factor.at = at % factor.size;
    at /= factor.size;
  }
}

bool View::cut(std::size_t dim, std::int64_t start, std::int64_t size, std::int64_t step) {
  const std::int64_t whole = shape()[dim];
  if (size == whole) return true;
  if (size <= 0 || whole % size != 0) return false;
  const bool is_run = size == 1 || step == 1;
  if (is_run ? start % size != 0 : (step * size != whole || start >= step)) return false;
  auto halves = divide(dim, is_run ? size : step);
  if (!halves) return false;
  auto& [outer, inner] = *halves;
  if (is_run)
    fix(outer, start / size);
  else
    fix(inner, start);
  dims_[dim] = is_run ? inner : outer;
  return true;
}

View::Factors View::all_factors() const {
  Factors all(factors_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

Sizes View::cuts_of(const Factors& factors) const {
  Sizes cuts;
  for (std::size_t k = factors.size(); k-- > 0;)
    cuts.push_back(factors_[factors[k]].size * (cuts.empty() ? 1 : cuts.back()));
  return cuts;
}
Sizes View::base_cuts() const { return cuts_of(all_factors()); }
Sizes View::order_cuts() const { return cuts_of(order()); }

bool View::refine_base(const Sizes& behind) { return refine(all_factors(), behind); }
bool View::refine_order(const Sizes& behind) { return refine(order(), behind); }

bool View::refine(const Factors& factors, const Sizes& behind) {
  // From the first factor of the base on, so that numbers of those to come stay.
  std::vector<std::pair<std::size_t, Sizes>> divided;  // by factor: products within it
  std::int64_t product = 1;
  for (std::size_t k = factors.size(); k-- > 0;) {
    const std::int64_t size = factors_[factors[k]].size;
    std::set<std::int64_t> within;
    for (const std::int64_t cut : behind) {
      if (cut <= product || cut >= product * size) continue;
      if (cut % product != 0) return false;
      within.insert(cut / product);
    }
    divided.emplace_back(factors[k], Sizes(within.begin(), within.end()));
    product *= size;
  }
  std::ranges::sort(divided, std::ranges::greater{}, [](const auto& entry) { return entry.first; });
  for (const auto& [factor, within] : divided) {
    std::int64_t left = factors_[factor].size;
    for (auto cut = within.rbegin(); cut != within.rend(); ++cut) {
      if (left % *cut != 0) return false;
      left = *cut;
    }
    std::int64_t done = 1;
    for (const std::int64_t cut : within) {
      if (cut % done != 0) return false;
      divide_factor(factor, cut / done);
      done = cut;
    }
  }
  return true;
}

std::optional<View> View::joined(std::vector<View> parts, std::size_t dim) {
  for (const View& part : parts)
    if (part.base_shape_ != parts[0].base_shape_) return std::nullopt;
  const auto refine_all = [&] {
    Sizes cuts;
    for (const View& part : parts) {
      const Sizes its = part.base_cuts();
      cuts.insert(cuts.end(), its.begin(), its.end());
    }
    return std::ranges::all_of(parts, [&](View& part) { return part.refine_base(cuts); });
  };
  if (!refine_all()) return std::nullopt;
  Factors varied;
  for (std::size_t f = 0; f < parts[0].factors_.size(); ++f) {
    const auto differs = [&](const View& part) {
      return part.factors_[f].at != parts[0].factors_[f].at;
    };
    if (std::ranges::any_of(parts, differs)) varied.push_back(f);
  }
  Sizes places;
  for (const View& part : parts) {
    if (part.dims_ != parts[0].dims_) return std::nullopt;
    places.push_back(0);
    for (const std::size_t f : varied) {
      if (!part.factors_[f].at) return std::nullopt;
      places.back() = places.back() * part.factors_[f].size + *part.factors_[f].at;
    }
  }
  View whole = std::move(parts[0]);
  const Sizes cuts = whole.cuts_of(varied);
  const auto levels = levels_of(places);
  if (!levels || cuts.empty() || cuts.back() != std::ssize(places)) return std::nullopt;
  Sizes wanted;
  for (const Level& level : *levels) {
    wanted.push_back(level.stride);
    wanted.push_back(level.stride * level.count);
  }
  // The varied factors stand for themselves, as the last dimension.
  whole.dims_.push_back(varied);
  for (const std::size_t f : varied) whole.factors_[f].at.reset();
  if (!whole.refine(varied, wanted)) return std::nullopt;
  const Factors all = whole.dims_.back();
  whole.dims_.pop_back();
  Factors front;
  for (auto level = levels->rbegin(); level != levels->rend(); ++level) {
    std::int64_t behind = std::ssize(places);
    for (const std::size_t f : all) {
      if (behind <= level->stride * level->count && behind > level->stride) front.push_back(f);
      behind /= whole.factors_[f].size;
    }
  }
  if (front.size() != all.size()) return std::nullopt;
  whole.dims_[dim].insert(whole.dims_[dim].begin(), front.begin(), front.end());
  return whole;
}

std::optional<View> View::of(View inner) const {
  View outer = *this;
  if (!inner.refine_order(outer.base_cuts()) || !outer.refine_base(inner.order_cuts()))
    return std::nullopt;
  const Factors order = inner.order();
  for (std::size_t f = 0; f < order.size(); ++f) inner.factors_[order[f]].at = outer.factors_[f].at;
  inner.dims_ = outer.dims_;
  for (Factors& dim : inner.dims_)
    for (std::size_t& f : dim) f = order[f];
  return inner;
}

View View::coarsened() const {
  std::vector<bool> stays(factors_.size(), true);  // apart from the factor before
  for (const Factors& dim : dims_)
    for (std::size_t k = 1; k < dim.size(); ++k)
      if (dim[k] == dim[k - 1] + 1) stays[dim[k]] = false;
  View coarse(base_shape_, {}, {});
  coarse.base_names_ = base_names_;
  Factors number;
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    if (stays[f]) {
      coarse.factors_.push_back(factors_[f]);
    } else {
      Factor& joined = coarse.factors_.back();
      const bool is_named = !joined.name.empty() || !factors_[f].name.empty();
      joined.name = is_named ? joined.text() + "*" + factors_[f].text() : "";
      joined.size *= factors_[f].size;
    }
    number.push_back(coarse.factors_.size() - 1);
  }
  for (const Factors& dim : dims_) {
    coarse.dims_.emplace_back();
    for (const std::size_t f : dim)
      if (stays[f]) coarse.dims_.back().push_back(number[f]);
  }
  return coarse;
}

}  // namespace soapstone::transforms
