// See cudnn_proposal.h.
#include "gpu/libraries/cudnn_proposal.h"

#include <algorithm>

namespace soapstone::gpu {

using cudnn::Attribute;
using cudnn::Type;

constexpr std::int64_t kMostKnobs = 64;

core::Result<CudnnProposal> proposal_of(const CudnnDescriptor& configuration) {
  CudnnProposal proposal;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t bytes,
                             configuration.integer(Attribute::kConfigurationWorkspace));
  proposal.workspace_bytes = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0));
  const auto shared = configuration.numbers(Attribute::kConfigurationSharedMemory, Type::kInt32, 1);
  if (shared && !shared->empty()) proposal.shared_bytes = shared->front();
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<CudnnDescriptor> choices,
                             configuration.descriptors(Attribute::kConfigurationKnobs,
                                                       cudnn::Descriptor::kKnobChoice, kMostKnobs));
  for (const CudnnDescriptor& choice : choices) {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<int> knob,
                               choice.numbers(Attribute::kKnobType, Type::kKnobType, 1));
    if (knob.empty() || knob[0] != cudnn::kKnobOfParts) continue;
    SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t parts, choice.integer(Attribute::kKnobValue));
    proposal.parts = static_cast<int>(std::max<std::int64_t>(parts, 1));
  }
  return proposal;
}

}  // namespace soapstone::gpu
