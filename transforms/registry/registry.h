// All transforms: the only list of them.
#pragma once

#include <span>
#include <string_view>

#include "transforms/base/transform.h"

namespace soapstone::transforms {

/// Each once. They live as long as the program.
std::span<const Transform* const> transforms();
/// Null: there is none of that name.
const Transform* find_transform(std::string_view name);

}  // namespace soapstone::transforms
