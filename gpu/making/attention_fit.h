// Which attention is one launch: what backends tell cover().
#pragma once

#include "gpu/kernels/attention_groups.h"
#include "gpu/making/kernel_request.h"

namespace soapstone::gpu {

/// Attention for which cuDNN proposes engines on the device of the context, which must outlive the
/// answer. Each kind of launch is asked for once. Safe from several threads.
LaunchFit attention_of_cudnn(const MakerContext& context);

/// Attention for which cuDNN is known to have engines on cards from A100 on: 16-bit elements, and
/// heads of a size that its kernels load. For cards that are not here.
bool is_attention_of_known_cards(const core::Graph& graph, const runtime::Launch& launch);

}  // namespace soapstone::gpu
