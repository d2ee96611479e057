// Large pages of the system for large blocks of memory.
#pragma once

#include <cstddef>
#include <span>

namespace soapstone::core {

/// Asks the system to back memory that nobody has touched yet with large pages, which come at once
/// instead of 4 KiB at a time. Nothing for small blocks, or where the system has none.
void prefer_large_pages(std::span<std::byte> memory);

}  // namespace soapstone::core
