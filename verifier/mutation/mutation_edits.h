// All single changes of one kind that a draft of a rule allows. Whether the result still has types
// is not asked here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verifier/mutation/mutation.h"
#include "verifier/mutation/rule_draft.h"

namespace soapstone::verifier {

struct MutationEdit {
  std::string what;
  std::function<void(RuleDraft&)> apply;
};

/// In a deterministic order.
std::vector<MutationEdit> edits_of(MutationKind kind, const RuleDraft& draft);

/// Other values for one attribute, each close to the one it has.
std::vector<core::AttributeValue> other_values(MutationKind kind, const DraftNode& node,
                                               std::string_view attribute);
/// The kind to which a change of the attribute belongs; none for an attribute nobody would mistake.
std::optional<MutationKind> kind_of_attribute(const core::OpSchema& op, std::string_view attribute);

}  // namespace soapstone::verifier
