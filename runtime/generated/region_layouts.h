// Tensors of a region that lie in memory otherwise than row-major.
#pragma once

#include "runtime/generated/region.h"
#include "runtime/launches/layout.h"

namespace soapstone::runtime::generated {

/// From now on the tensor `id` of the region, an input or output, lies in this layout: a stage that
/// changes the order of elements stands between its memory and the stages that compute with it.
void arrange(Region& region, core::TensorId id, const core::Dims& dims, runtime::Layout layout);

/// The region that copies a tensor from one layout into another; the copy is called `to_id`.
Region conversion_region(const core::TensorType& type, core::TensorId from_id, runtime::Layout from,
                         core::TensorId to_id, runtime::Layout to);

}  // namespace soapstone::runtime::generated
