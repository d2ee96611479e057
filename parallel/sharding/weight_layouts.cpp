#include "parallel/sharding/weight_layouts.h"

#include <algorithm>

namespace soapstone::parallel {

std::vector<Layout> WeightLayouts::all(const core::Dims& dims,
                                       const std::vector<std::set<std::int8_t>>& wanted) const {
  std::vector<Layout> layouts;
  Layout now;
  extend(dims, wanted, 0, now, layouts);
  if (!options_.always_cuts_weights) return layouts;
  std::int64_t most = 0;
  for (const Layout& layout : layouts) most = std::max(most, pieces(layout, mesh_.axis_sizes()));
  std::erase_if(layouts,
                [&](const Layout& layout) { return pieces(layout, mesh_.axis_sizes()) < most; });
  return layouts;
}

void WeightLayouts::extend(const core::Dims& dims, const std::vector<std::set<std::int8_t>>& wanted,
                           std::size_t axis, Layout& now, std::vector<Layout>& layouts) const {
  if (axis >= mesh_.axis_count()) {
    layouts.push_back(now);
    return;
  }
  std::set<std::int8_t> digits = wanted[axis];
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d] >= mesh_.device_count() && has_grains(axis, dims[d]))
      digits.insert(static_cast<std::int8_t>(d));
  digits.insert(kReplicated);
  for (const std::int8_t digit : digits) {
    now.axes[axis] = digit;
    extend(dims, wanted, axis + 1, now, layouts);
  }
  now.axes[axis] = kReplicated;
}

double WeightLayouts::weight_bytes(double bytes, const Layout& layout) const {
  return bytes * mesh_.largest_piece(layout);
}

bool WeightLayouts::has_grains(std::size_t axis, std::int64_t size) const {
  return !mesh_.is_uneven(axis) || size % mesh_.uneven()->all_grains() == 0;
}

/// Devices that hold the same piece.
double WeightLayouts::copies(const Layout& layout) const {
  double count = 1;
  for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
    if (layout.axes[a] < 0) count *= static_cast<double>(mesh_.axis_sizes()[a]);
  return count;
}

double WeightLayouts::gradient_bytes(double bytes, const Layout& layout) const {
  const double here = weight_bytes(bytes, layout) * options_.gradient_bytes_per_weight_byte;
  return options_.cuts_gradients ? here / copies(layout) : here;
}

double WeightLayouts::state_bytes(double bytes, const Layout& layout) const {
  const double here = weight_bytes(bytes, layout) * options_.state_bytes_per_weight_byte;
  return options_.cuts_states ? here / copies(layout) : here;
}

double WeightLayouts::update_us(double bytes, const Layout& layout) const {
  if (!options_.is_training) return 0;
  const double moved = kPassesOverWeights * weight_bytes(bytes, layout) +
                       kPassesOverStates * state_bytes(bytes, layout);
  double longest_us = 0;
  for (const Position& position : positions_of(mesh_, rates_, options_.choices)) {
    const double share = piece(layout, mesh_.axis_sizes(), mesh_.uneven(), position.share) /
                         mesh_.largest_piece(layout);
    const double bytes_per_s = position.rates->bytes_per_s * position.rates->streaming_efficiency;
    longest_us = std::max(longest_us, moved * share / bytes_per_s * 1e6);
  }
  return longest_us;
}

double WeightLayouts::cost(double bytes, const Layout& layout) const {
  const double memory =
      weight_bytes(bytes, layout) + gradient_bytes(bytes, layout) + state_bytes(bytes, layout);
  return memory * options_.us_per_byte + update_us(bytes, layout);
}

}  // namespace soapstone::parallel
