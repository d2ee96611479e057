// The hash of everything that must be the same in every run, process and machine: XXH64 for bytes
// (after its published specification, so that core/ needs no library) and a mixer for numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace soapstone::core {

/// XXH64 of the bytes. Complexity: linear, some gigabytes per second.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);
std::uint64_t hash_text(std::string_view text);

/// Spreads every bit of the argument over the whole result; a bijection.
constexpr std::uint64_t hash_mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Appends `value` to what `seed` stands for; the order of appending matters.
constexpr std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value) {
  const std::uint64_t rotated = (seed << 23) | (seed >> 41);
  return hash_mix(rotated * 0x9e3779b185ebca87u + (value ^ 0x165667b19e3779f9u));
}

}  // namespace soapstone::core
