// See registry.h.
#include "transforms/registry/registry.h"

#include <algorithm>

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
#include "transforms/restrict/separation.h"

namespace soapstone::transforms {

std::span<const Transform* const> transforms() {
  static constexpr const Transform* kAll[] = {&kCommonNodes,
                                              &kIdleLayoutChanges,
                                              &kJoinedReshapes,
                                              &kConcatsOfConcats,
                                              &kRowsOfProducts,
                                              &kLayoutChanges,
                                              &kMovedPads,
                                              &kReshapesBehindProducts,
                                              &kReshapesWithRepeatedConstants,
                                              &kUnevenConcats,
                                              &kRepetition,
                                              &kFlattenedRows,
                                              &kMirrors,
                                              &kSlices,
                                              &kSummedProducts,
                                              &kRestoredCuts,
                                              &kSeparation,
                                              &kProductOrders,
                                              &kScaledProducts,
                                              &kEinsums,
                                              &kFactoredSums,
                                              &kSharedOperands,
                                              &kFlatBatches,
                                              &kFactors,
                                              &kOffsets,
                                              &kQuotients,
                                              &kConstantTerms,
                                              &kLinearMaps,
                                              &kLargeLinearMaps,
                                              &kAffineMaps,
                                              &kJointAffineMaps,
                                              &kAffineMapsWithOthers,
                                              &kCommonWindows,
                                              &kComposedWindows,
                                              &kSteppedWindows,
                                              &kShiftedJoins,
                                              &kSiblingBatches,
                                              &kBlockDiagonals,
                                              &kPassingParts,
                                              &kRowsOfCuts,
                                              &kNamedFunctions};
  return kAll;
}

const Transform* find_transform(std::string_view name) {
  const auto all = transforms();
  const auto found = std::ranges::find(all, name, &Transform::name);
  return found == all.end() ? nullptr : *found;
}

}  // namespace soapstone::transforms
