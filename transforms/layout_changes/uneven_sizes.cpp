#include "transforms/layout_changes/uneven_sizes.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::transforms {

using core::TensorId;

std::string JoinPlaces::length(std::size_t k) const {
  Names factors = sizes[k];
  std::erase(factors, "1");
  return factors.empty() ? "1" : fmt::format("{}", fmt::join(factors, "*"));
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies());
}

std::int64_t UnevenSizes::length(TensorId id, const JoinForm& form) const {
  const Sizes sizes = sizes_of(id);
  return product(std::span(sizes).subspan(form.before, form.count));
}

Sizes UnevenSizes::collapsed(TensorId id, const JoinForm& form) const {
  Sizes sizes = sizes_of(id);
  const std::int64_t one = length(id, form);
  const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(form.before);
  sizes.erase(at, at + static_cast<std::ptrdiff_t>(form.count));
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(form.before), one);
  return sizes;
}

JoinPlaces UnevenSizes::places_of(std::span<const TensorId> tensors, const JoinForm& form) const {
  JoinPlaces places{form, {}};
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    Names& own = places.sizes.emplace_back();
    for (std::size_t d = 0; d < form.count; ++d) {
      const bool is_one = sizes_of(tensors[k])[form.before + d] == 1;
      own.push_back(is_one ? "1" : fmt::format("g{}_{}", k, d));
    }
  }
  return places;
}

bool UnevenSizes::are_alike(std::span<const TensorId> tensors, const JoinForm& form) const {
  const auto rest = [&](TensorId id) {
    Sizes sizes = collapsed(id, form);
    sizes[form.before] = 0;
    return std::pair(graph_.tensor(id).type.data_type, sizes);
  };
  return std::ranges::all_of(tensors, [&](TensorId id) {
    return sizes_of(id).size() >= form.before + form.count && rest(id) == rest(tensors[0]);
  });
}

Names UnevenSizes::names(TensorId id, std::size_t k, const JoinPlaces& places) const {
  Names names = names_of(sizes_of(id));
  std::ranges::copy(places.sizes[k],
                    names.begin() + static_cast<std::ptrdiff_t>(places.form.before));
  return names;
}

Names UnevenSizes::collapsed_names(TensorId id, std::size_t k, const JoinPlaces& places) const {
  Names names = names_of(collapsed(id, places.form));
  names[places.form.before] = places.length(k);
  return names;
}

Names UnevenSizes::whole_names(std::span<const TensorId> tensors, const JoinPlaces& places) const {
  Names lengths, names = collapsed_names(tensors[0], 0, places);
  for (std::size_t k = 0; k < tensors.size(); ++k) lengths.push_back(places.length(k));
  names[places.form.before] = fmt::format("{}", fmt::join(lengths, " + "));
  return names;
}

}  // namespace soapstone::transforms
