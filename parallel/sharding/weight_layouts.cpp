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
    if (has_elements(dims, now)) layouts.push_back(now);
    return;
  }
  std::set<std::int8_t> digits = wanted[axis];
  const bool may_cut = options_.weight_axes[axis] && mesh_.axis_sizes()[axis] > 1;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (may_cut && dims[d] >= mesh_.device_count() && has_grains(axis, dims[d]))
      digits.insert(static_cast<std::int8_t>(d));
  digits.insert(kReplicated);
  for (const std::int8_t digit : digits) {
    now.axes[axis] = digit;
    extend(dims, wanted, axis + 1, now, layouts);
  }
  now.axes[axis] = kReplicated;
}

bool WeightLayouts::has_elements(const core::Dims& dims, const Layout& layout) const {
  core::Dims left = dims;
  for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
    if (layout.axes[a] >= 0) left[digits_.dimension(layout.axes[a])] /= mesh_.axis_sizes()[a];
  return std::ranges::count(left, 0) == std::ranges::count(dims, 0);
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

HeldWeight WeightLayouts::held(core::TensorId id, const TensorWork& weight,
                               const Layout& layout) const {
  HeldWeight held{id, weight.bytes * mesh_.largest_piece(layout)};
  if (!options_.is_training || !weight.has_gradient) return held;
  held.gradient_bytes = held.weight_bytes * options_.gradient_bytes_per_weight_byte;
  held.state_bytes = held.weight_bytes * options_.state_bytes_per_weight_byte;
  if (options_.cuts_gradients) held.gradient_bytes /= copies(layout);
  if (options_.cuts_states) held.state_bytes /= copies(layout);
  held.update_us = update_us(held, layout);
  return held;
}

double WeightLayouts::update_us(const HeldWeight& held, const Layout& layout) const {
  const double moved =
      kPassesOverWeights * held.weight_bytes + kPassesOverStates * held.state_bytes;
  double longest_us = 0;
  for (const Position& position : positions_of(mesh_, rates_, options_.choices)) {
    const double share = piece(layout, mesh_.axis_sizes(), mesh_.uneven(), position.share) /
                         mesh_.largest_piece(layout);
    const double bytes_per_s = position.rates->bytes_per_s * position.rates->streaming_efficiency;
    longest_us = std::max(longest_us, moved * share / bytes_per_s * 1e6);
  }
  return longest_us;
}

double WeightLayouts::cost(const TensorWork& weight, const Layout& layout) const {
  const HeldWeight here = held(core::TensorId::none(), weight, layout);
  return (here.weight_bytes + here.gradient_bytes + here.state_bytes) * options_.us_per_byte +
         here.update_us * options_.weights.updates;
}

}  // namespace soapstone::parallel
