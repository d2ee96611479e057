// See plan_moves.h.
#include "search/passes/plan_moves.h"

#include <utility>

#include "rules/batching/towers.h"
#include "rules/blocks/blocks.h"
#include "rules/blocks/passing_parts.h"
#include "rules/blocks/rows_of_cuts.h"
#include "rules/contractions/constant_terms.h"
#include "rules/contractions/contractions.h"
#include "rules/contractions/factored_sums.h"
#include "rules/contractions/factors.h"
#include "rules/contractions/flat_batches.h"
#include "rules/contractions/offsets.h"
#include "rules/contractions/quotients.h"
#include "rules/contractions/shared_operands.h"
#include "rules/demand/demand.h"
#include "rules/demand/readings.h"
#include "rules/demand/restored_cuts.h"
#include "rules/linear_maps/linear_maps.h"
#include "rules/moves/moved_pads.h"
#include "rules/moves/moves.h"
#include "rules/moves/plain_moves.h"
#include "rules/moves/steps_of_products.h"
#include "rules/moves/uneven_joins.h"
#include "rules/recognition/recognition.h"
#include "rules/repetition/common_nodes.h"
#include "rules/repetition/flattened_rows.h"
#include "rules/repetition/repetition.h"
#include "rules/windows/composed.h"
#include "rules/windows/mirrors.h"
#include "rules/windows/shifts.h"
#include "rules/windows/stepped.h"
#include "rules/windows/windows.h"

namespace soapstone::search {
namespace {

/// These, and then what is done to products and around them.
PlanMove before_products(std::vector<PlanFinder> finders, std::string_view needs = {}) {
  finders.insert(finders.end(),
                 {rules::find_contractions, rules::find_moves, rules::find_moved_pads,
                  rules::find_factors, rules::find_steps_of_products});
  return {std::move(finders), true, needs};
}

}  // namespace

std::span<const PlanMove> plan_moves() {
  static const std::vector<PlanMove> kMoves{
      // What computes less.
      {{rules::find_mirrors}},
      {{rules::find_rows_of_cuts}},
      {{rules::find_demand}},
      {{rules::find_readings}},
      {{rules::find_repetition}},
      {{rules::find_shared_operands}},
      // Products, and what stands around them.
      {{rules::find_contractions}},
      {{rules::find_moves}},
      {{rules::find_moved_pads}},
      {{rules::find_factors}},
      {{rules::find_constant_terms}},
      {{rules::find_quotients}},
      {{rules::find_strided_products}},
      {{rules::find_steps_of_products}},
      {{rules::find_scaled_products}},
      {{rules::find_factored_sums}},
      // Parts of the graph as one operator.
      {{rules::find_windows, rules::find_composed_windows}},
      {{rules::find_stepped_windows}},
      {{rules::find_linear_maps}},
      {{rules::find_affine_maps}},
      {{rules::find_joint_maps}},
      {{rules::find_large_maps}},
      {{rules::find_towers}},
      {{rules::find_uneven_joins}},
      {{rules::find_passing_parts}},
      {{rules::find_blocks}},
      {{rules::find_named_functions}},
      {{rules::find_joined_joins}},
      {{rules::find_steps_with_repeated_constants}},
      // What merely makes room.
      {{rules::find_joined_reshapes, rules::find_common_nodes}, false},
      {{rules::find_flattened_rows}, false},
      {{rules::find_repetition}, false},
      {{rules::find_shared_operands}, false},
      {{rules::find_flattened_rows, rules::find_repetition, rules::find_shared_operands}, false},
      {{rules::find_flat_batches}, false},
      {{rules::find_shifted_joins}, false},
      {{rules::find_restored_cuts}, false},
      {{rules::find_offsets, rules::find_rows_of_products, rules::find_joined_reshapes}, false},
      {{rules::find_maps_with_others}, false}};
  return kMoves;
}

std::span<const std::vector<PlanMove>> plan_starts() {
  static const PlanMove kOnce{{rules::find_joined_reshapes, rules::find_common_nodes}, false},
      kRows{{rules::find_flattened_rows}, false},
      kLess{{rules::find_mirrors, rules::find_rows_of_cuts, rules::find_demand,
             rules::find_readings, rules::find_repetition, rules::find_shared_operands}};
  static const std::vector<std::vector<PlanMove>> kStarts{
      {kOnce},
      {{{rules::find_named_functions}}, kOnce},
      {kOnce, kLess},
      {kOnce, kRows, kLess},
      {kOnce, kRows, {{rules::find_repetition, rules::find_shared_operands}, false}},
      {kOnce, {{rules::find_flat_batches}, false}},
      {kOnce, {{rules::find_shifted_joins}, false}},
      {kOnce, {{rules::find_restored_cuts}, false}},
      {kOnce,
       {{rules::find_offsets, rules::find_rows_of_products, rules::find_joined_reshapes}, false}}};
  return kStarts;
}

std::span<const PlanMove> plan_orders() {
  static const std::vector<PlanMove> kOrders{
      {{rules::find_contractions, rules::find_moves, rules::find_moved_pads, rules::find_factors,
        rules::find_strided_products, rules::find_steps_of_products}},
      before_products({rules::find_windows, rules::find_composed_windows,
                       rules::find_stepped_windows, rules::find_linear_maps, rules::find_towers}),
      before_products({rules::find_strided_products, rules::find_towers, rules::find_windows,
                       rules::find_composed_windows, rules::find_linear_maps}),
      before_products({rules::find_passing_parts, rules::find_composed_windows, rules::find_windows,
                       rules::find_blocks, rules::find_linear_maps}),
      before_products({rules::find_scaled_products}),
      before_products({rules::find_windows, rules::find_composed_windows,
                       rules::find_stepped_windows, rules::find_affine_maps, rules::find_towers}),
      before_products(
          {rules::find_linear_maps, rules::find_factored_sums, rules::find_scaled_products},
          rules::kFactoredPrefix)};
  return kOrders;
}

}  // namespace soapstone::search
