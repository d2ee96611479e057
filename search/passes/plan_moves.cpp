// See plan_moves.h.
#include "search/passes/plan_moves.h"

#include <utility>

#include "transforms/affine/linear_maps.h"
#include "transforms/broadcasts/common_nodes.h"
#include "transforms/broadcasts/flattened_rows.h"
#include "transforms/broadcasts/repetition.h"
#include "transforms/contract/constant_terms.h"
#include "transforms/contract/contractions.h"
#include "transforms/contract/factored_sums.h"
#include "transforms/contract/factors.h"
#include "transforms/contract/flat_batches.h"
#include "transforms/contract/offsets.h"
#include "transforms/contract/quotients.h"
#include "transforms/contract/shared_operands.h"
#include "transforms/layout_changes/moved_pads.h"
#include "transforms/layout_changes/moves.h"
#include "transforms/layout_changes/plain_moves.h"
#include "transforms/layout_changes/steps_of_products.h"
#include "transforms/layout_changes/uneven_joins.h"
#include "transforms/pack/blocks.h"
#include "transforms/pack/passing_parts.h"
#include "transforms/pack/rows_of_cuts.h"
#include "transforms/pack/towers.h"
#include "transforms/receptive/composed.h"
#include "transforms/receptive/mirrors.h"
#include "transforms/receptive/shifts.h"
#include "transforms/receptive/stepped.h"
#include "transforms/receptive/windows.h"
#include "transforms/recognize/recognition.h"
#include "transforms/restrict/demand.h"
#include "transforms/restrict/readings.h"
#include "transforms/restrict/restored_cuts.h"

namespace soapstone::search {
namespace {

/// These, and then what is done to products and around them.
PlanMove before_products(std::vector<PlanFinder> finders, std::string_view needs = {}) {
  finders.insert(finders.end(), {transforms::find_contractions, transforms::find_moves,
                                 transforms::find_moved_pads, transforms::find_factors,
                                 transforms::find_steps_of_products});
  return {std::move(finders), true, needs};
}

}  // namespace

std::span<const PlanMove> plan_moves() {
  static const std::vector<PlanMove> kMoves{
      // What computes less.
      {{transforms::find_mirrors}},
      {{transforms::find_rows_of_cuts}},
      {{transforms::find_demand}},
      {{transforms::find_readings}},
      {{transforms::find_repetition}},
      {{transforms::find_shared_operands}},
      // Products, and what stands around them.
      {{transforms::find_contractions}},
      {{transforms::find_moves}},
      {{transforms::find_moved_pads}},
      {{transforms::find_factors}},
      {{transforms::find_constant_terms}},
      {{transforms::find_quotients}},
      {{transforms::find_strided_products}},
      {{transforms::find_steps_of_products}},
      {{transforms::find_scaled_products}},
      {{transforms::find_factored_sums}},
      // Parts of the graph as one operator.
      {{transforms::find_windows, transforms::find_composed_windows}},
      {{transforms::find_stepped_windows}},
      {{transforms::find_linear_maps}},
      {{transforms::find_affine_maps}},
      {{transforms::find_joint_maps}},
      {{transforms::find_large_maps}},
      {{transforms::find_towers}},
      {{transforms::find_uneven_joins}},
      {{transforms::find_passing_parts}},
      {{transforms::find_blocks}},
      {{transforms::find_named_functions}},
      {{transforms::find_joined_joins}},
      {{transforms::find_steps_with_repeated_constants}},
      // What merely makes room.
      {{transforms::find_joined_reshapes, transforms::find_common_nodes}, false},
      {{transforms::find_flattened_rows}, false},
      {{transforms::find_repetition}, false},
      {{transforms::find_shared_operands}, false},
      {{transforms::find_flattened_rows, transforms::find_repetition,
        transforms::find_shared_operands},
       false},
      {{transforms::find_flat_batches}, false},
      {{transforms::find_shifted_joins}, false},
      {{transforms::find_restored_cuts}, false},
      {{transforms::find_offsets, transforms::find_rows_of_products,
        transforms::find_joined_reshapes},
       false},
      {{transforms::find_maps_with_others}, false}};
  return kMoves;
}

std::span<const std::vector<PlanMove>> plan_starts() {
  static const PlanMove kOnce{{transforms::find_joined_reshapes, transforms::find_common_nodes},
                              false},
      kRows{{transforms::find_flattened_rows}, false},
      kLess{{transforms::find_mirrors, transforms::find_rows_of_cuts, transforms::find_demand,
             transforms::find_readings, transforms::find_repetition,
             transforms::find_shared_operands}};
  static const std::vector<std::vector<PlanMove>> kStarts{
      {kOnce},
      {{{transforms::find_named_functions}}, kOnce},
      {kOnce, kLess},
      {kOnce, kRows, kLess},
      {kOnce, kRows, {{transforms::find_repetition, transforms::find_shared_operands}, false}},
      {kOnce, {{transforms::find_flat_batches}, false}},
      {kOnce, {{transforms::find_shifted_joins}, false}},
      {kOnce, {{transforms::find_restored_cuts}, false}},
      {kOnce,
       {{transforms::find_offsets, transforms::find_rows_of_products,
         transforms::find_joined_reshapes},
        false}}};
  return kStarts;
}

std::span<const PlanMove> plan_orders() {
  static const std::vector<PlanMove> kOrders{
      {{transforms::find_contractions, transforms::find_moves, transforms::find_moved_pads,
        transforms::find_factors, transforms::find_strided_products,
        transforms::find_steps_of_products}},
      before_products({transforms::find_windows, transforms::find_composed_windows,
                       transforms::find_stepped_windows, transforms::find_linear_maps,
                       transforms::find_towers}),
      before_products({transforms::find_strided_products, transforms::find_towers,
                       transforms::find_windows, transforms::find_composed_windows,
                       transforms::find_linear_maps}),
      before_products({transforms::find_passing_parts, transforms::find_composed_windows,
                       transforms::find_windows, transforms::find_blocks,
                       transforms::find_linear_maps}),
      before_products({transforms::find_scaled_products}),
      before_products({transforms::find_windows, transforms::find_composed_windows,
                       transforms::find_stepped_windows, transforms::find_affine_maps,
                       transforms::find_towers}),
      before_products({transforms::find_linear_maps, transforms::find_factored_sums,
                       transforms::find_scaled_products},
                      transforms::kFactoredPrefix)};
  return kOrders;
}

}  // namespace soapstone::search
