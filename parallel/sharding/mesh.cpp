#include "parallel/sharding/mesh.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "core/base/check.h"

namespace soapstone::parallel {
namespace {

/// Another order has to gain more than sums in another order differ.
constexpr double kRoundingOfConversions = 1e-12;
constexpr double kInfinitelyLong = std::numeric_limits<double>::infinity();

/// One change of layout, step by step.
class Steps {
 public:
  Steps(const Mesh& mesh, double bytes, const Layout& from,
        std::vector<ConversionStep>* told = nullptr)
      : mesh_(mesh), local_(bytes), told_(told) {
    for (std::size_t a = 0; a < mesh.axis_count(); ++a)
      if (from.axes[a] >= 0) local_ *= mesh.largest_share(a);
  }

  void cut(std::size_t axis) { local_ *= mesh_.largest_share(axis); }
  void exchange(std::size_t axis) { spend_in_pieces(Collective::kAllToAll, axis); }
  void reduce_scatter(std::size_t axis) {
    spend_in_pieces(Collective::kReduceScatter, axis);
    local_ *= mesh_.largest_share(axis);
  }
  void all_gather(std::size_t axis) {
    local_ /= mesh_.largest_share(axis);
    spend_in_pieces(Collective::kAllGather, axis);
  }
  /// A sum that all positions get is made in equal parts, however unevenly they are cut elsewhere.
  void all_reduce(std::size_t axis) { spend(Collective::kAllReduce, axis, local_, 2 * local_); }
  void scatter_sum(std::size_t axis) {
    spend(Collective::kReduceScatter, axis, local_, local_);
    local_ /= size(axis);
  }
  void gather_sum(std::size_t axis) {
    local_ *= size(axis);
    spend(Collective::kAllGather, axis, local_, local_);
  }
  const Conversion& done() const { return total_; }
  void tell_nobody() { told_ = nullptr; }

 private:
  double size(std::size_t axis) const { return static_cast<double>(mesh_.axis_sizes()[axis]); }
  /// A step of a collective takes as long as its largest piece.
  void spend_in_pieces(Collective what, std::size_t axis) {
    spend(what, axis, local_ * mesh_.largest_share(axis) * size(axis), local_);
  }
  /// A device sends its share of `moved`, all but its own position's.
  void spend(Collective what, std::size_t axis, double bytes, double moved) {
    const double us = mesh_.us(what, axis, bytes);
    if (told_ && us > 0) told_->push_back({what, axis, bytes, us});
    total_.us += us;
    total_.bytes_moved += moved * (size(axis) - 1) / size(axis);
  }

  const Mesh& mesh_;
  double local_;
  std::vector<ConversionStep>* told_;
  Conversion total_;
};

bool is_whole(std::int8_t use) { return use == kReplicated || use == kBroadcast; }

/// Some axes, in an order.
class Axes {
 public:
  void add(std::size_t axis) { axes_[count_++] = static_cast<std::uint8_t>(axis); }
  void reverse() { std::reverse(axes_.begin(), axes_.begin() + count_); }
  std::size_t size() const { return count_; }
  std::size_t operator[](std::size_t k) const { return axes_[k]; }
  /// In the order that `places` say.
  Axes at(const std::array<std::uint8_t, kMostAxes>& places) const {
    Axes result;
    for (std::size_t k = 0; k < count_; ++k) result.add(axes_[places[k]]);
    return result;
  }

 private:
  std::array<std::uint8_t, kMostAxes> axes_{};
  std::uint8_t count_ = 0;
};

/// Runs `run(steps, order)` with the order that takes the least time: the one given, if no other
/// takes less.
template <class Run>
void in_cheapest_order(Steps& steps, const Axes& usual, const Run& run) {
  if (usual.size() == 0) return;
  if (usual.size() == 1) return run(steps, usual);
  std::array<std::uint8_t, kMostAxes> places{};
  std::iota(places.begin(), places.end(), std::uint8_t{0});
  Axes best = usual;
  double least_us = kInfinitelyLong;
  do {
    Steps tried = steps;
    tried.tell_nobody();
    run(tried, usual.at(places));
    if (tried.done().us >= least_us * (1 - kRoundingOfConversions)) continue;
    least_us = tried.done().us;
    best = usual.at(places);
  } while (std::next_permutation(places.begin(),
                                 places.begin() + static_cast<std::ptrdiff_t>(usual.size())));
  run(steps, best);
}

/// Along the axes from `k` on. Along one before the last, sums are scattered and gathered again
/// when what is behind is done, or complete at once, if that takes less.
void sum_in_order(Steps& steps, const Axes& order, std::size_t k) {
  if (k + 1 == order.size()) return steps.all_reduce(order[k]);
  Steps whole = steps;
  whole.tell_nobody();
  whole.all_reduce(order[k]);
  sum_in_order(whole, order, k + 1);
  Steps scattered = steps;
  scattered.tell_nobody();
  const auto scatter = [&](Steps& here) {
    here.scatter_sum(order[k]);
    sum_in_order(here, order, k + 1);
    here.gather_sum(order[k]);
  };
  scatter(scattered);
  if (scattered.done().us <= whole.done().us * (1 + kRoundingOfConversions)) return scatter(steps);
  steps.all_reduce(order[k]);
  sum_in_order(steps, order, k + 1);
}

/// In the order of convert().
void change(Steps& steps, const Mesh& mesh, const Layout& from, const Layout& to) {
  const std::size_t axes = mesh.axis_count();
  Axes scattered, summed, gathered;
  for (std::size_t a = 0; a < axes; ++a) {
    if (mesh.axis_sizes()[a] == 1) continue;
    if (is_whole(from.axes[a]) && to.axes[a] >= 0) steps.cut(a);
    if (from.axes[a] == kPartial && to.axes[a] >= 0) scattered.add(a);
    if (from.axes[a] == kPartial && is_whole(to.axes[a])) summed.add(a);
    if (from.axes[a] >= 0 && is_whole(to.axes[a])) gathered.add(a);
  }
  gathered.reverse();
  in_cheapest_order(steps, scattered, [](Steps& here, const Axes& order) {
    for (std::size_t k = 0; k < order.size(); ++k) here.reduce_scatter(order[k]);
  });
  for (std::size_t a = 0; a < axes; ++a)
    if (from.axes[a] >= 0 && to.axes[a] >= 0 && from.axes[a] != to.axes[a]) steps.exchange(a);
  in_cheapest_order(steps, summed,
                    [](Steps& here, const Axes& order) { sum_in_order(here, order, 0); });
  in_cheapest_order(steps, gathered, [](Steps& here, const Axes& order) {
    for (std::size_t k = 0; k < order.size(); ++k) here.all_gather(order[k]);
  });
}

}  // namespace

std::vector<std::int64_t> in_proportion(std::int64_t size, std::span<const double> rates) {
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  std::vector<std::int64_t> parts;
  std::vector<std::size_t> by_remainder(rates.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::vector<double> remainders;
  for (const double rate : rates) {
    const double exact = static_cast<double>(size) * rate / all;
    parts.push_back(static_cast<std::int64_t>(exact));
    remainders.push_back(exact - static_cast<double>(parts.back()));
  }
  std::ranges::stable_sort(by_remainder, std::greater(),
                           [&](std::size_t k) { return remainders[k]; });
  std::int64_t left = size - std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  for (std::size_t k = 0; left > 0; k = (k + 1) % parts.size(), --left) ++parts[by_remainder[k]];
  return parts;
}

Mesh::Mesh(std::vector<std::int64_t> axis_sizes, AxisTime time_us, std::optional<UnevenAxis> uneven)
    : axis_sizes_(std::move(axis_sizes)), time_us_(std::move(time_us)), uneven_(std::move(uneven)) {
  CHECK(axis_sizes_.size() <= kMostAxes, "a mesh of too many axes");
  CHECK(!uneven_ || static_cast<std::int64_t>(uneven_->grains.size()) == axis_sizes_[uneven_->axis],
        "grains for each position on the axis");
  for (std::size_t a = 0; a < axis_count(); ++a)
    largest_share_[a] =
        is_uneven(a) ? uneven_->largest_share() : 1 / static_cast<double>(axis_sizes_[a]);
}

std::int64_t UnevenAxis::all_grains() const {
  return std::accumulate(grains.begin(), grains.end(), std::int64_t{0});
}
double UnevenAxis::share(std::size_t position) const {
  return static_cast<double>(grains[position]) / static_cast<double>(all_grains());
}
double UnevenAxis::largest_share() const {
  return static_cast<double>(*std::ranges::max_element(grains)) / static_cast<double>(all_grains());
}

double piece(const Layout& layout, std::span<const std::int64_t> axis_sizes,
             const std::optional<UnevenAxis>& uneven, double share) {
  double part = 1;
  for (std::size_t a = 0; a < std::min(axis_sizes.size(), kMostAxes); ++a)
    if (layout.axes[a] >= 0)
      part *= uneven && uneven->axis == a ? share : 1 / static_cast<double>(axis_sizes[a]);
  return part;
}

double largest_piece(const Layout& layout, std::span<const std::int64_t> axis_sizes,
                     const std::optional<UnevenAxis>& uneven) {
  return piece(layout, axis_sizes, uneven, uneven ? uneven->largest_share() : 0);
}

double Mesh::largest_piece(const Layout& layout) const {
  return parallel::largest_piece(layout, axis_sizes_, uneven_);
}

std::int64_t Mesh::device_count() const {
  std::int64_t count = 1;
  for (const std::int64_t size : axis_sizes_) count *= size;
  return count;
}

double Mesh::us(Collective what, std::size_t axis, double bytes) const {
  if (axis_sizes_[axis] == 1 || bytes == 0) return 0;
  auto& known_us = known_us_[axis][static_cast<std::size_t>(what)];
  const auto [at, is_new] = known_us.try_emplace(bytes, 0.0);
  if (is_new) at->second = time_us_(what, axis, bytes);
  return at->second;
}

Conversion& Conversion::operator+=(const Conversion& other) {
  us += other.us;
  bytes_moved += other.bytes_moved;
  return *this;
}

Conversion& Conversion::operator*=(double times) {
  us *= times;
  bytes_moved *= times;
  return *this;
}

Conversion convert(const Mesh& mesh, double bytes, const Layout& from, const Layout& to) {
  if (from == to) return {};
  Steps steps(mesh, bytes, from);
  change(steps, mesh, from, to);
  return steps.done();
}

std::vector<ConversionStep> conversion_steps(const Mesh& mesh, double bytes, const Layout& from,
                                             const Layout& to) {
  std::vector<ConversionStep> told;
  Steps steps(mesh, bytes, from, &told);
  change(steps, mesh, from, to);
  return told;
}

Conversion convert_gradient(const Mesh& mesh, double bytes, const Layout& from, const Layout& to) {
  return convert(mesh, bytes, gradient_layout(to), gradient_layout(from));
}

}  // namespace soapstone::parallel
