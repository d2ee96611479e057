// How much memory this process may take. The limit is the kernel's own (RLIMIT_DATA), so that an
// allocation which nobody foresaw fails as std::bad_alloc instead of taking the machine down, and
// so that every folder can ask for it without a global of ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace soapstone::core {

/// Half of the machine's memory, or of the control group's if that has less.
std::uint64_t default_memory_limit();

/// Sets the limit for this process and for what it starts. A lower one that is there already stays.
/// In builds with sanitizers, allocations beyond it succeed.
void limit_memory(std::uint64_t bytes);

/// The limit in force; the machine's memory if there is none.
std::uint64_t memory_limit();

/// Gives memory that was freed back to the system: worth its few milliseconds after work that has
/// left much of it in pieces. Nothing where the C library cannot.
void give_back_freed_memory();

/// Whether something of that size fits into the limit beside nothing else.
/// Errors: kUnsupported: `what` needs so many GiB, and how to allow them.
Status check_fits_memory(std::uint64_t bytes, std::string_view what);

/// `8.0 GiB`, `12 KiB`.
std::string memory_text(std::uint64_t bytes);

}  // namespace soapstone::core
