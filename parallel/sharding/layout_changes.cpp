#include "parallel/sharding/layout_changes.h"

#include <algorithm>

namespace soapstone::parallel {

double LayoutChanges::bytes_on_device(const TensorWork& tensor, const Layout& layout) const {
  return tensor.bytes / tensor.turns * mesh_.largest_piece(layout);
}

LayoutChange LayoutChanges::change(const TensorWork& tensor, const Layout& from, const Layout& to,
                                   Keeping keeping) const {
  LayoutChange change;
  // A weight shares a bucket with others, and pays its share of the bucket's time. What is made in
  // turns pays for each.
  const double bytes = tensor.is_weight ? std::max(tensor.bytes, options_.bucket_bytes)
                                        : tensor.bytes / tensor.turns;
  change.forward = convert(mesh_, bytes, from, to);
  if (tensor.has_gradient) change.backward = convert_gradient(mesh_, bytes, from, to);
  if (bytes > 0) {
    change.forward *= tensor.bytes / bytes;
    change.backward *= tensor.bytes / bytes;
  }
  if (!tensor.is_weight) keep(tensor, from, to, keeping, change);
  return change;
}

/// Partial sums are not kept. Where the whole forward pass runs again, so do changes of layout, and
/// the memory is that of the segment that runs.
void LayoutChanges::keep(const TensorWork& tensor, const Layout& from, const Layout& to,
                         Keeping keeping, LayoutChange& change) const {
  if (!keeping.holds && (!keeping.rereads || change.forward.us == 0)) return;
  const bool is_partial = std::ranges::count(from.axes, kPartial) > 0;
  const double before = keeping.holds ? bytes_on_device(tensor, from) : 0;
  const double behind = bytes_on_device(tensor, to);
  const bool is_free = change.forward.us == 0 || !keeping.rereads || options_.recomputes;
  const double again_us = is_free ? 0 : change.forward.us * options_.weights.backward;
  const bool keeps_before = !is_partial && (is_free ? before < behind
                                                    : (options_.keeps_pieces && before < behind) ||
                                                          before * price_of_memory() + again_us <
                                                              behind * price_of_memory());
  change.kept_bytes = keeps_before ? before : behind;
  if (keeps_before && !is_free) change.again = change.forward;
  if (options_.recomputes && !keeping.holds) change.kept_bytes = 0;
}

bool LayoutChanges::is_allowed(const TensorWork& tensor, const Layout& from,
                               const Layout& to) const {
  if (options_.cuts_weights || !tensor.is_weight) return true;
  for (std::size_t a = 0; a < mesh_.axis_count(); ++a)
    if (from.axes[a] >= 0 && to.axes[a] < 0) return false;
  return true;
}

double LayoutChanges::weight_passes() const {
  return options_.is_training && !options_.gathers_once ? 2 : 1;
}

double LayoutChanges::cost(const TensorWork& tensor, const Layout& from, const Layout& to,
                           Keeping keeping) const {
  if (!is_allowed(tensor, from, to)) return kImpossible;
  const LayoutChange made = change(tensor, from, to, keeping);
  const StepWeights& weights = options_.weights;
  if (tensor.is_weight) {
    if (made.forward.us == 0) return weights.sums * made.backward.us;
    return weights.gathered * made.forward.us +
           weights.exchanged_backward *
               ((weight_passes() - 1) * made.forward.us + made.backward.us);
  }
  const double again = options_.recomputes ? weights.backward : 0;
  const double us = made.forward.us * (weights.forward + again) +
                    (made.again.us + made.backward.us) * weights.backward;
  if (options_.recomputes) return us;
  return us + made.kept_bytes * price_of_memory();
}

}  // namespace soapstone::parallel
