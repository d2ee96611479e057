// See kernel_plan.h.
#include "runtime/generated/kernel_plan.h"

#include <algorithm>

namespace soapstone::runtime::generated {
namespace {

constexpr std::int64_t kWorthSharing = 32;  // terms: as many as a warp has threads
constexpr std::int64_t kWorthBlock = 2048;
constexpr std::int64_t kVectorBytes = 16;
constexpr int kMostThreads = 256, kFewestThreads = 64;
constexpr std::int64_t kManyBlocks = 264;  // two for each multiprocessor of an H100
constexpr std::int64_t kMostAtOnce = 192;  // elements of all tensors: 240 were seen to spill
// Registers for values of rows: those that a thread may be given, and those that cost nothing.
constexpr std::int64_t kRegistersOfBlock = 16384, kMostHeld = 64, kFewHeld = 32;

bool has_inner_loops(const Region& region, const KernelPlan& plan) {
  return std::any_of(region.stages.begin(), region.stages.end(), [&](const RegionStage& stage) {
    const bool is_row =
        std::find(plan.rows.begin(), plan.rows.end(), stage.tensor) != plan.rows.end();
    return stage.longest_loop > 1 && !is_row;
  });
}

/// The most elements that fit into a vector load of the narrowest floating type stored or read,
/// and with those of all tensors into registers.
std::int64_t widest(const Region& region) {
  std::int64_t bytes = kVectorBytes, tensors = 0;
  for (const RegionTensor& tensor : region.tensors) {
    if (!tensor.id.valid()) continue;
    ++tensors;
    bytes = std::min<std::int64_t>(bytes,
                                   static_cast<std::int64_t>(core::size_bytes(tensor.data_type)));
  }
  std::int64_t width = std::min<std::int64_t>(kVectorBytes / bytes, 8);
  while (width > 1 && width * tensors > kMostAtOnce) width /= 2;
  return width;
}

/// Blocks that the kernel would have.
std::int64_t blocks_of(const KernelPlan& plan) {
  const auto needed = [](std::int64_t count, std::int64_t of_block) {
    return (count + of_block - 1) / of_block;
  };
  if (plan.row_count > 0) return needed(plan.row_count, plan.threads / plan.lanes);
  std::int64_t blocks = 0;
  for (const Segment& s : plan.segments) blocks += needed(s.elements, plan.threads * plan.width);
  return blocks;
}

void choose_shape(const Region& region, const KernelOptions& options, KernelPlan& plan) {
  plan.threads = options.threads > 0 ? options.threads : kMostThreads;
  const bool is_scalar = has_inner_loops(region, plan) || (plan.row_count > 0 && plan.lanes == 1);
  plan.width = is_scalar ? 1 : options.width > 0 ? options.width : widest(region);
  if (options.threads > 0) return;
  while (plan.threads > kFewestThreads && plan.threads > plan.lanes &&
         blocks_of(plan) < kManyBlocks)
    plan.threads /= 2;
}

/// What the kernel's text asks of the tensors; `holds_all`: if lanes keep whatever they can.
Readings readings_of(const Region& region, const KernelPlan& plan, bool holds_all = false) {
  IndexSpace space;
  ExpressionText text(region, space, {plan.rows.begin(), plan.rows.end()});
  if (holds_all) text.hold_columns(std::nullopt);
  if (plan.row_count > 0) {
    const Affine row = IndexSpace::value_of(space.add("row", 0, plan.row_count));
    text.block(static_cast<double>(plan.row_count), [&] { write_row(text, space, plan, row); });
  }
  for (const Segment& segment : plan.segments) {
    const Affine element = IndexSpace::value_of(space.add("element", 0, segment.elements));
    text.block(static_cast<double>(segment.elements), [&] {
      for (std::uint32_t tensor : segment.tensors) text.store(tensor, element);
    });
  }
  return text.readings();
}

std::vector<double> computed_by(const Region& region, const Readings& readings) {
  std::vector<double> computed;
  for (const RegionStage& stage : region.stages) {
    const auto found = readings.computed.find(stage.tensor);
    const auto elements =
        static_cast<double>(std::max<std::int64_t>(region.tensors[stage.tensor].elements, 1));
    computed.push_back(found == readings.computed.end() ? 0 : found->second / elements);
  }
  return computed;
}

/// Sums and maxima that are worth sharing, or that are needed more than once.
std::vector<std::uint32_t> rows_of(const Region& region, const KernelPlan& map) {
  std::vector<std::uint32_t> rows;
  for (std::size_t s = 0; s < region.stages.size(); ++s) {
    const RegionStage& stage = region.stages[s];
    if (stage.longest_loop > 1 && !stage.is_contraction &&
        (stage.longest_loop >= kWorthSharing || map.computed[s] > 1))
      rows.push_back(stage.tensor);
  }
  return rows;
}

class RowPlanner {
 public:
  RowPlanner(const Region& region, const KernelOptions& options)
      : region_(region), options_(options) {}

  std::optional<KernelPlan> plan(std::vector<std::uint32_t> rows) {
    plan_.rows = std::move(rows);
    plan_.row_count = region_.tensors[plan_.rows[0]].elements;
    for (std::uint32_t t : plan_.rows)
      if (region_.tensors[t].elements != plan_.row_count) return std::nullopt;
    if (plan_.row_count == 0) return std::nullopt;
    look_at_rows();
    for (std::uint32_t t : region_.outputs) {
      auto store = store_of(t);
      if (!store) return std::nullopt;
      plan_.stores.push_back(*std::move(store));
    }
    choose_lanes();
    choose_shape(region_, options_, plan_);
    const Readings readings = choose_held();
    if (!readings.is_complete) return std::nullopt;
    plan_.computed = computed_by(region_, readings);
    return plan_;
  }

 private:
  /// Where the terms of rows lie: in the tensors that will be stored, and side by side or not.
  void look_at_rows() {
    for (std::uint32_t t : plan_.rows) {
      IndexSpace space;
      const std::uint32_t row = space.add("row", 0, plan_.row_count);
      ExpressionText text(region_, space, {plan_.rows.begin(), plan_.rows.end()});
      text.reduced_by_lanes(t, IndexSpace::value_of(row), 1, 1);
      for (const auto& [tensor, position] : text.readings().first) {
        if (!region_.tensors[tensor].stage) is_contiguous_ |= steps_by_one(space, position, row);
        if (auto place =
                place_in(space, position, row, region_.tensors[tensor].elements, plan_.row_count))
          places_.try_emplace(tensor, *std::move(place));
      }
      plan_.row_length =
          std::max(plan_.row_length, region_.stages[*region_.tensors[t].stage].longest_loop);
    }
  }

  std::optional<RowStore> store_of(std::uint32_t tensor) {
    const std::int64_t elements = region_.tensors[tensor].elements;
    if (std::find(plan_.rows.begin(), plan_.rows.end(), tensor) != plan_.rows.end())
      return RowStore{tensor, 1, {{true, 1, 1, plan_.row_count}}};
    IndexSpace space;
    const std::uint32_t at = space.add("at", 0, elements);
    ExpressionText text(region_, space, {plan_.rows.begin(), plan_.rows.end()});
    text.element(tensor, IndexSpace::value_of(at));
    std::optional<Place> place;
    for (const auto& [row, positions] : text.readings().rows)
      for (const Affine& position : positions) {
        const auto found = place_of_row(space, position, at, elements, plan_.row_count);
        if (!found || (place && place->digits != found->digits)) return std::nullopt;
        place = found;
      }
    if (!place)
      if (const auto found = places_.find(tensor); found != places_.end()) place = found->second;
    if (!place) return std::nullopt;
    return RowStore{tensor, place->columns, std::move(place->digits)};
  }

  void choose_lanes() {
    plan_.lanes = options_.lanes;
    if (plan_.lanes != 0) return;
    plan_.lanes = !is_contiguous_ || plan_.row_length < kWorthSharing ? 1
                  : plan_.row_length < kWorthBlock                    ? 32
                  : options_.threads > 0                              ? options_.threads
                                                                      : kMostThreads;
  }

  /// Values that a later loop needs again are held if registers are enough for all of them.
  Readings choose_held() {
    if (options_.values == RowValues::kReadAgain) return readings_of(region_, plan_);
    const std::int64_t most = std::min(kRegistersOfBlock / plan_.threads,
                                       options_.values == RowValues::kHeld ? kMostHeld : kFewHeld);
    Readings readings = readings_of(region_, plan_, true);
    std::int64_t registers = 0;
    for (const auto& [value, facts] : readings.held) {
      if (facts.uses == 0) continue;
      registers += facts.registers;
      plan_.held.insert(value);
    }
    if (registers <= most) return readings;
    plan_.held.clear();
    return readings_of(region_, plan_);
  }

  const Region& region_;
  const KernelOptions& options_;
  KernelPlan plan_;
  std::map<std::uint32_t, Place> places_;
  bool is_contiguous_ = false;
};

}  // namespace

std::int64_t dividing(std::int64_t width, std::int64_t count) {
  while (count % width != 0) width /= 2;
  return width;
}

void write_row(ExpressionText& text, IndexSpace& space, const KernelPlan& plan, const Affine& row) {
  if (!plan.held.empty()) text.hold_columns(plan.held);
  for (std::uint32_t t : plan.rows)
    text.define(t, row, text.reduced_by_lanes(t, row, plan.lanes, plan.width));
  for (const RowStore& store : plan.stores)
    text.over_columns(store.columns, plan.lanes, dividing(plan.width, store.columns),
                      [&](const Affine& column) {
                        text.store(store.tensor, position_at(space, store.place, row, column));
                      });
}

KernelPlan plan_map(const Region& region, const KernelOptions& options) {
  KernelPlan plan;
  for (std::uint32_t t : region.outputs) {
    const std::int64_t elements = region.tensors[t].elements;
    if (elements == 0) continue;
    auto at = std::find_if(plan.segments.begin(), plan.segments.end(),
                           [&](const Segment& s) { return s.elements == elements; });
    if (at == plan.segments.end()) at = plan.segments.insert(at, Segment{elements, {}});
    at->tensors.push_back(t);
  }
  choose_shape(region, options, plan);
  plan.computed = computed_by(region, readings_of(region, plan));
  return plan;
}

std::optional<KernelPlan> plan_kernel(const Region& region, const KernelOptions& options) {
  KernelPlan map = plan_map(region, options);
  const std::vector<std::uint32_t> rows = rows_of(region, map);
  if (rows.empty()) return map;
  return RowPlanner(region, options).plan(rows);
}

}  // namespace soapstone::runtime::generated
