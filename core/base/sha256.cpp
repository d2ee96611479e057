// See sha256.h. The constants are computed from their definition: the first 32 bits of the
// fractional parts of square roots and cube roots of the first primes.
#include "core/base/sha256.h"

#include <array>
#include <bit>
#include <cstdint>

namespace soapstone::core {
namespace {

__extension__ typedef unsigned __int128 Wide;
using Words = std::array<std::uint32_t, 8>;

constexpr std::size_t kBlock = 64, kRounds = 64;

constexpr bool is_prime(std::uint64_t n) {
  for (std::uint64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return true;
}

/// ⌊p^(1/degree) · 2^32⌋, of which the lower half are the first 32 fractional bits.
constexpr std::uint64_t scaled_root(std::uint64_t p, int degree) {
  // x^degree ≤ p · 2^(32·degree), bit by bit; below 2^37 the cube fits into 128 bits.
  const Wide wanted = Wide{p} << (32 * degree);
  std::uint64_t x = 0;
  for (int bit = 36; bit >= 0; --bit) {
    const std::uint64_t next = x | (std::uint64_t{1} << bit);
    Wide power = 1;
    for (int k = 0; k < degree; ++k) power *= next;
    if (power <= wanted) x = next;
  }
  return x;
}

template <std::size_t count>
constexpr std::array<std::uint32_t, count> root_bits(int degree) {
  std::array<std::uint32_t, count> bits{};
  std::uint64_t p = 2;
  for (std::uint32_t& word : bits) {
    while (!is_prime(p)) ++p;
    word = static_cast<std::uint32_t>(scaled_root(p++, degree));
  }
  return bits;
}

const Words kStart = root_bits<8>(2);
const std::array<std::uint32_t, kRounds> kRoundConstants = root_bits<kRounds>(3);

std::array<std::uint32_t, kRounds> schedule(std::string_view block) {
  std::array<std::uint32_t, kRounds> words{};
  for (std::size_t t = 0; t < 16; ++t)
    for (std::size_t k = 0; k < 4; ++k)
      words[t] = words[t] << 8 | static_cast<unsigned char>(block[4 * t + k]);
  for (std::size_t t = 16; t < kRounds; ++t) {
    const std::uint32_t a = words[t - 15], b = words[t - 2];
    const std::uint32_t s0 = std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3;
    const std::uint32_t s1 = std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10;
    words[t] = words[t - 16] + s0 + words[t - 7] + s1;
  }
  return words;
}

void add_block(std::string_view block, Words& state) {
  const auto words = schedule(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < kRounds; ++t) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRoundConstants[t] + words[t];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const Words added{a, b, c, d, e, f, g, h};
  for (std::size_t k = 0; k < state.size(); ++k) state[k] += added[k];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  Words state = kStart;
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock))
    add_block(bytes.substr(0, kBlock), state);
  std::string last(bytes);
  last += static_cast<char>(0x80);
  while (last.size() % kBlock != kBlock - 8) last += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) last += static_cast<char>(bits >> shift & 0xff);
  for (std::string_view rest = last; !rest.empty(); rest.remove_prefix(kBlock))
    add_block(rest.substr(0, kBlock), state);
  std::string digest;
  for (const std::uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) digest += "0123456789abcdef"[word >> shift & 0xf];
  return digest;
}

}  // namespace soapstone::core
