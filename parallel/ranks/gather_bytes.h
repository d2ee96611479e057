// Bytes that ranks of the host's memory tell each other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::parallel {

using Bytes = std::vector<std::byte>;

/// The bytes that every rank gave, by rank; sizes may differ. All ranks call it, in one order with
/// their other calls. Errors: kUnavailable.
core::Result<std::vector<Bytes>> gather_bytes(runtime::Collectives& ranks,
                                              std::span<const std::byte> mine);

}  // namespace soapstone::parallel
