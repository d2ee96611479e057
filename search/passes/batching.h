// Batches what a graph does side by side, pack by pack (rules/batching).
#pragma once

#include <functional>

#include "search/base/objective.h"
#include "search/base/types.h"
#include "verifier/admission.h"

namespace soapstone::search {

/// The candidate with those packs batched whose batches cost less; without new steps if none does.
/// A pack is one site. Rules are those of batching_rules() among the admission's; of a pack that
/// needs another one, or one that is not proved, only the steps before it are tried. Deterministic,
/// unless `stopped` says to leave the rest.
Candidate batch_towers(const Candidate& from, verifier::Admission& admission,
                       const Objective& objective, const ObjectiveStage& stage,
                       const std::function<bool()>& stopped);

}  // namespace soapstone::search
