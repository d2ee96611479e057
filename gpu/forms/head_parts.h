// What the heads of launches share, and the heads themselves: for operation_heads.h.
#pragma once

#include <initializer_list>

#include "gpu/forms/operation_heads.h"
#include "ops/definition/registry.h"

namespace soapstone::gpu {

core::Dims numbers_by_role(const core::Node& node, core::AttributeRole role);
bool has_roles(const core::Node& node, std::initializer_list<core::AttributeRole> roles);
bool flag_by_role(const core::Node& node, core::AttributeRole role);
core::Dims dims_of(const OperationDraft& draft, core::TensorId id);
/// An intermediate tensor of the same shape.
std::uint32_t add_virtual_like(OperationDraft& draft, std::uint32_t tensor);

bool is_convolution(const core::Node& node);
core::Result<std::uint32_t> append_convolution(OperationDraft& draft, const core::Node& node);
bool is_pool(const core::Node& node);
core::Result<std::uint32_t> append_pool(OperationDraft& draft, const core::Node& node);
/// The mean of each image, as a pool with one window.
core::Result<std::uint32_t> append_whole_pool(OperationDraft& draft, const core::Node& node);

/// A sum, mean or maximum over whole dimensions.
core::Result<std::uint32_t> append_reduction(OperationDraft& draft, core::NodeId id);
bool is_norm(const core::Node& node, const ops::OpDefinition& definition);
/// Over the dimensions from the axis on. Layer norms subtract the mean: they have one stage more.
core::Result<std::uint32_t> append_norm(OperationDraft& draft, core::NodeId id);

}  // namespace soapstone::gpu
