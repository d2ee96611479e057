// In which layout our kernels want to read and leave the tensors of a launch.
#pragma once

#include <span>

#include "runtime/launches/backend.h"

namespace soapstone::cpu {

/// See Backend::choose_layouts. Convolutions want and leave channels-last; what computes on single
/// elements or windows follows its inputs, as most of a network lies between convolutions; all
/// else is row-major.
void choose_layouts(const core::Graph& graph, const runtime::Launch& launch,
                    std::span<const runtime::Layout> stored, runtime::LaunchLayouts& wanted);

}  // namespace soapstone::cpu
