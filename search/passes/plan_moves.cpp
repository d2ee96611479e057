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
PlanMove before_products(std::vector<const transforms::Transform*> begun,
                         std::string_view needs = {}) {
  begun.insert(begun.end(),
               {&transforms::kProductOrders, &transforms::kLayoutChanges, &transforms::kMovedPads,
                &transforms::kFactors, &transforms::kReshapesBehindProducts});
  return {std::move(begun), true, needs};
}

}  // namespace

std::span<const PlanMove> plan_moves() {
  static const std::vector<PlanMove> kMoves{
      // What computes less.
      {{&transforms::kMirrors}},
      {{&transforms::kRowsOfCuts}},
      {{&transforms::kSlices}},
      {{&transforms::kSummedProducts}},
      {{&transforms::kRepetition}},
      {{&transforms::kSharedOperands}},
      // Products, and what stands around them.
      {{&transforms::kProductOrders}},
      {{&transforms::kLayoutChanges}},
      {{&transforms::kMovedPads}},
      {{&transforms::kFactors}},
      {{&transforms::kConstantTerms}},
      {{&transforms::kQuotients}},
      {{&transforms::kEinsums}},
      {{&transforms::kReshapesBehindProducts}},
      {{&transforms::kScaledProducts}},
      {{&transforms::kFactoredSums}},
      // Parts of the graph as one operator.
      {{&transforms::kCommonWindows, &transforms::kComposedWindows}},
      {{&transforms::kSteppedWindows}},
      {{&transforms::kLinearMaps}},
      {{&transforms::kAffineMaps}},
      {{&transforms::kJointAffineMaps}},
      {{&transforms::kLargeLinearMaps}},
      {{&transforms::kSiblingBatches}},
      {{&transforms::kUnevenConcats}},
      {{&transforms::kPassingParts}},
      {{&transforms::kBlockDiagonals}},
      {{&transforms::kNamedFunctions}},
      {{&transforms::kConcatsOfConcats}},
      {{&transforms::kReshapesWithRepeatedConstants}},
      // What merely makes room.
      {{&transforms::kJoinedReshapes, &transforms::kCommonNodes}, false},
      {{&transforms::kFlattenedRows}, false},
      {{&transforms::kRepetition}, false},
      {{&transforms::kSharedOperands}, false},
      {{&transforms::kFlattenedRows, &transforms::kRepetition, &transforms::kSharedOperands},
       false},
      {{&transforms::kFlatBatches}, false},
      {{&transforms::kShiftedJoins}, false},
      {{&transforms::kRestoredCuts}, false},
      {{&transforms::kOffsets, &transforms::kRowsOfProducts, &transforms::kJoinedReshapes}, false},
      {{&transforms::kAffineMapsWithOthers}, false}};
  return kMoves;
}

std::span<const std::vector<PlanMove>> plan_starts() {
  static const PlanMove kOnce{{&transforms::kJoinedReshapes, &transforms::kCommonNodes}, false},
      kRows{{&transforms::kFlattenedRows}, false},
      kLess{{&transforms::kMirrors, &transforms::kRowsOfCuts, &transforms::kSlices,
             &transforms::kSummedProducts, &transforms::kRepetition, &transforms::kSharedOperands}};
  static const std::vector<std::vector<PlanMove>> kStarts{
      {kOnce},
      {{{&transforms::kNamedFunctions}}, kOnce},
      {kOnce, kLess},
      {kOnce, kRows, kLess},
      {kOnce, kRows, {{&transforms::kRepetition, &transforms::kSharedOperands}, false}},
      {kOnce, {{&transforms::kFlatBatches}, false}},
      {kOnce, {{&transforms::kShiftedJoins}, false}},
      {kOnce, {{&transforms::kRestoredCuts}, false}},
      {kOnce,
       {{&transforms::kOffsets, &transforms::kRowsOfProducts, &transforms::kJoinedReshapes},
        false}}};
  return kStarts;
}

std::span<const PlanMove> plan_orders() {
  static const std::vector<PlanMove> kOrders{
      {{&transforms::kProductOrders, &transforms::kLayoutChanges, &transforms::kMovedPads,
        &transforms::kFactors, &transforms::kEinsums, &transforms::kReshapesBehindProducts}},
      before_products({&transforms::kCommonWindows, &transforms::kComposedWindows,
                       &transforms::kSteppedWindows, &transforms::kLinearMaps,
                       &transforms::kSiblingBatches}),
      before_products({&transforms::kEinsums, &transforms::kSiblingBatches,
                       &transforms::kCommonWindows, &transforms::kComposedWindows,
                       &transforms::kLinearMaps}),
      before_products({&transforms::kPassingParts, &transforms::kComposedWindows,
                       &transforms::kCommonWindows, &transforms::kBlockDiagonals,
                       &transforms::kLinearMaps}),
      before_products({&transforms::kScaledProducts}),
      before_products({&transforms::kCommonWindows, &transforms::kComposedWindows,
                       &transforms::kSteppedWindows, &transforms::kAffineMaps,
                       &transforms::kSiblingBatches}),
      before_products(
          {&transforms::kLinearMaps, &transforms::kFactoredSums, &transforms::kScaledProducts},
          transforms::kFactoredPrefix)};
  return kOrders;
}

}  // namespace soapstone::search
