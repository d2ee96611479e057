// Lists all single changes of one kind that a draft of a rule allows. The caller finds out whether
// the changed rule still has types.
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

/// All changes of the kind, in a deterministic order.
std::vector<MutationEdit> edits_of(MutationKind kind, const RuleDraft& draft);

/// Other values for one attribute, each close to the one it has.
std::vector<core::AttributeValue> other_values(MutationKind kind, const DraftNode& node,
                                               const core::AttributeSchema& attribute);
/// The kind of mutation that changes such an attribute; none: nobody would mistake its value.
std::optional<MutationKind> kind_of_attribute(core::AttributeRole role);

}  // namespace soapstone::verifier
