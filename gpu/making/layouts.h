// In which layouts kernels of a GPU read and leave images.
#pragma once

#include <span>

#include "gpu/making/kernel_request.h"

namespace soapstone::gpu {

/// See Backend::choose_layouts. Convolutions want and leave images as the options say; generated
/// kernels read what is stored and leave images as they found them; all else is row-major.
void choose_layouts(const core::Graph& graph, const runtime::Launch& launch,
                    std::span<const runtime::Layout> stored, ImageLayout images,
                    runtime::LaunchLayouts& wanted);

}  // namespace soapstone::gpu
