// Goes from the elements that a part gives back through the stages; each read adds the intervals
// of its digits to what is needed of the tensor that it reads.
#include "ops/partition/part_regions.h"

#include <algorithm>

#include "core/base/check.h"
#include "ops/definition/registry.h"
#include "ops/partition/digit_space.h"

namespace soapstone::ops {
namespace {

using analysis::Ranges;
using partition::Access;
using partition::DigitSpace;

class RegionWalk {
 public:
  RegionWalk(const PartitionSpace& space, const PartBox& box) : space_(*space.digits) {
    for (std::size_t l = 0; l < box.size(); ++l)
      if (box[l] != Interval{0, space.loops[l].size})
        for (Symbol symbol : space.loops[l].variables) cut_[symbol] = box[l];
    for (std::uint32_t t = 0; t < space_.dims().size(); ++t)
      needed_.emplace_back(space_.digits_of(t).size(), Interval{0, 0});
    is_read_.resize(needed_.size(), false);
    for (std::uint32_t output : space_.semantics().outputs) need(output, output_part(output));
    for (std::size_t s = space_.semantics().stages.size(); s-- > 0;)
      if (is_read_[space_.input_count() + s]) through(s);
  }

  /// The digits that an output's part has, which are fewer than what another output may need of it.
  std::vector<Interval> output_part(std::uint32_t output) const {
    std::vector<Interval> part;
    for (Symbol symbol : space_.index_of(output)) {
      const auto found = cut_.find(symbol);
      part.push_back(found == cut_.end() ? space_.stage_ranges().at(symbol) : found->second);
    }
    return part;
  }

  DigitRegion region(std::uint32_t tensor, const std::vector<Interval>& values) const {
    if (!is_read_[tensor]) return DigitRegion::none(space_.dims()[tensor]);
    std::vector<std::vector<DigitInterval>> dims(space_.dims()[tensor].size());
    const auto digits = space_.digits_of(tensor);
    for (std::size_t k = 0; k < digits.size(); ++k)
      dims[digits[k].dim].push_back({digits[k].size, values[k]});
    return DigitRegion(std::move(dims));
  }

  DigitRegion needed(std::uint32_t tensor) const { return region(tensor, needed_[tensor]); }

  /// Operations of all stages on what is needed of them.
  double flops() const {
    double flops = 0;
    for (std::size_t s = 0; s < space_.semantics().stages.size(); ++s) {
      const auto tensor = static_cast<std::uint32_t>(space_.input_count() + s);
      const auto count = static_cast<double>(needed(tensor).element_count());
      if (count > 0)
        flops += count * operations_of(space_.semantics().stages[s],
                                       [&](const Binder& b) { return length_of(b); });
    }
    return flops;
  }

 private:
  double length_of(const Binder& binder) const {
    double length = 1;
    for (const partition::VariableDigit& d : space_.digits_of(binder.variable)) {
      const auto found = cut_.find(d.symbol);
      length *= static_cast<double>(found == cut_.end() ? d.size
                                                        : found->second.high - found->second.low);
    }
    return space_.digits_of(binder.variable).empty() ? binder_length(binder) : length;
  }

  void need(std::uint32_t tensor, const std::vector<Interval>& values) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      Interval& known = needed_[tensor][k];
      known = is_read_[tensor] ? Interval{std::min(known.low, values[k].low),
                                          std::max(known.high, values[k].high)}
                               : values[k];
    }
    is_read_[tensor] = true;
  }

  void through(std::size_t s) {
    const auto tensor = static_cast<std::uint32_t>(space_.input_count() + s);
    Ranges ranges;
    const auto index = space_.index_of(tensor);
    for (std::size_t k = 0; k < index.size(); ++k) ranges[index[k]] = needed_[tensor][k];
    for (const Access& access : space_.accesses())
      if (access.stage == s) visit(access, ranges);
  }

  void visit(const Access& access, const Ranges& index) {
    Ranges ranges = index;
    if (!space_.add_binders(access.binders, ranges)) return;
    for (const Binder& b : access.binders)
      for (const partition::VariableDigit& d : space_.digits_of(b.variable))
        if (const auto found = cut_.find(d.symbol); found != cut_.end())
          ranges[d.symbol] = found->second;
    if (!analysis::narrow(access.selections, ranges)) return;
    // At a border a window sees padding: the kernel is taken whole all the same, so that all parts
    // have one shape. So bounds narrow the index only.
    Ranges inside = ranges;
    if (!analysis::narrow(access.bounds, inside)) return;
    for (const auto& [symbol, whole] : index) ranges[symbol] = inside.at(symbol);
    add(access, ranges);
  }

  void add(const Access& access, const Ranges& ranges) {
    const auto digits = space_.digits_of(access.tensor);
    std::vector<Interval> values;
    for (const partition::DimDigit& d : digits) values.push_back({0, d.size});
    for (const analysis::Digits& group : space_.groups_of(access, ranges)) {
      std::int64_t count = 1;
      for (std::size_t k = group.first; k <= group.last; ++k) count *= digits[k].size;
      const Interval all = analysis::interval_of(group.position, ranges);
      const Interval inside{std::max<std::int64_t>(all.low, 0), std::min(all.high, count)};
      if (analysis::is_empty(inside)) return;  // what a guard excludes is not read
      place(inside, group, digits, values);
    }
    need(access.tensor, values);
  }

  /// The smallest intervals of digits first … last that hold positions `inside`: digits where both
  /// ends agree, then one interval, then all of what is further in.
  static void place(Interval inside, const analysis::Digits& group,
                    std::span<const partition::DimDigit> digits, std::vector<Interval>& values) {
    std::int64_t stride = 1;
    for (std::size_t k = group.first; k <= group.last; ++k) stride *= digits[k].size;
    std::int64_t low = inside.low, high = inside.high - 1;
    for (std::size_t k = group.first; k <= group.last; ++k) {
      stride /= digits[k].size;
      values[k] = {low / stride, high / stride + 1};
      if (low / stride != high / stride) break;
      low %= stride;
      high %= stride;
    }
  }

  const DigitSpace& space_;
  Ranges cut_;  // digits that run over a part of their values
  std::vector<std::vector<Interval>> needed_;
  std::vector<bool> is_read_;
};

bool is_first(const PartitionSpace& space, const PartBox& box, std::size_t input) {
  for (std::size_t l = 0; l < box.size(); ++l)
    if (box[l].low > 0 && std::ranges::count(space.loops[l].once, input) > 0) return false;
  return true;
}

void check_box(const PartitionSpace& space, const PartBox& box) {
  CHECK(space.digits, "the node cannot be analyzed");
  CHECK(box.size() == space.loops.size(), "a part needs an interval for each loop");
  for (std::size_t l = 0; l < box.size(); ++l)
    CHECK(box[l].low >= 0 && box[l].low < box[l].high && box[l].high <= space.loops[l].size,
          "an interval of a part is empty or beyond its loop");
}

}  // namespace

PartBox whole_box(const PartitionSpace& space) {
  PartBox box;
  for (const Loop& loop : space.loops) box.push_back({0, loop.size});
  return box;
}

PartRegions part_regions(const PartitionSpace& space, const PartBox& box) {
  check_box(space, box);
  const RegionWalk walk(space, box);
  PartRegions regions;
  for (std::uint32_t k = 0; k < space.digits->input_count(); ++k) {
    regions.inputs.push_back(is_first(space, box, k) ? walk.needed(k)
                                                     : DigitRegion::none(space.digits->dims()[k]));
  }
  for (std::uint32_t output : space.digits->semantics().outputs)
    regions.outputs.push_back(walk.region(output, walk.output_part(output)));
  return regions;
}

Work work_of_part(const core::Graph& graph, core::NodeId node, const PartitionSpace& space,
                  const PartBox& box) {
  const PartRegions regions = part_regions(space, box);
  ElementCounts counts;
  for (const DigitRegion& r : regions.inputs)
    counts.read.push_back(static_cast<double>(r.element_count()));
  for (const DigitRegion& r : regions.outputs)
    counts.written.push_back(static_cast<double>(r.element_count()));
  return work_of(graph, node, counts, [&] { return RegionWalk(space, box).flops(); });
}

}  // namespace soapstone::ops
