// What libraries would run on a card that is not here, as their heuristics answer for it.
#pragma once

#include <memory>
#include <optional>

#include "gpu/libraries/cudnn_proposal.h"
#include "gpu/targets/target.h"

namespace soapstone::gpu {

/// cuDNN, if it is on this machine together with a driver or the toolkit's stub; null if not.
std::shared_ptr<const Cudnn> cudnn_for_absent_cards();

class LibraryProposals {
 public:
  /// `cudnn` may be null: then nothing is known.
  LibraryProposals(const Target& target, std::shared_ptr<const Cudnn> cudnn);

  /// True if a library is known to have the launch, or cannot be asked.
  struct Answer {
    bool has_engine = true;
    CudnnProposal proposal;
    std::int64_t runs = 1;  ///< The library is called so often.
  };
  /// Products of matrices are cuBLASLt's, which answers only where its device is; all else that is
  /// no generated kernel is cuDNN's: its first proposal within the limit of workspaces.
  Answer ask(const core::Graph& graph, const runtime::Launch& launch) const;

 private:
  std::shared_ptr<const Cudnn> cudnn_;
  std::optional<CudnnDescriptor> device_;
};

}  // namespace soapstone::gpu
