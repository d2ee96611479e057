// Which attention is one launch: what backends tell cover().
#pragma once

#include "gpu/kernels/attention_groups.h"
#include "gpu/making/kernel_request.h"

namespace soapstone::gpu {

/// Attention for which cuDNN proposes engines on the device of the context, which must outlive the
/// answer. Each kind of launch is asked for once. Safe from several threads.
LaunchFit attention_of_cudnn(const MakerContext& context);

/// Attention for which cuDNN has engines on cards from A100 on: elements of 16 bits, and heads of
/// eight times as many numbers as any. For cards that are not here.
bool is_attention_of_known_cards(const core::Graph& graph, const runtime::Launch& launch);

}  // namespace soapstone::gpu
