// Numbers as people read them: grouped digits, three significant ones, units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace soapstone::cli {

/// 1234567 → `1,234,567`.
std::string grouped(std::uint64_t number);
/// 950 → `950 us`, 1234 → `1.23 ms`, 2.5e6 → `2.50 s`.
std::string time_text(double us);
/// 1536 → `1.54 kB`.
std::string bytes_text(double bytes);
/// 3.87e9 → `3.87 G`; for counts of parameters and operations.
std::string count_text(double count);
/// 3.87e9 → `3.87 Gflop`, 12 → `12 flop`.
std::string flops_text(double flops);
/// `1 view`, `2 views`.
std::string counted(std::uint64_t number, std::string_view noun);
/// 0.2345 → `23.5 %`.
std::string percent_text(double share);

}  // namespace soapstone::cli
