// The loops of vector_functions.h on 64-bit integers. Integers are indices and masks: few, so these
// loops need not be fast. They wrap around.
#include <array>
#include <utility>

#include "cpu/base/vector_functions.h"

namespace soapstone::cpu {
namespace {

using Unsigned = std::uint64_t;
template <std::int64_t (*kFunction)(std::int64_t, std::int64_t)>
void integer_loop(const std::int64_t* x, const std::int64_t* y, std::int64_t* z,
                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) z[i] = kFunction(x[i], y[i]);
}
std::int64_t wrap(Unsigned value) { return static_cast<std::int64_t>(value); }
std::int64_t add(std::int64_t x, std::int64_t y) { return wrap(Unsigned(x) + Unsigned(y)); }
std::int64_t sub(std::int64_t x, std::int64_t y) { return wrap(Unsigned(x) - Unsigned(y)); }
std::int64_t mul(std::int64_t x, std::int64_t y) { return wrap(Unsigned(x) * Unsigned(y)); }
std::int64_t min(std::int64_t x, std::int64_t y) { return y < x ? y : x; }
std::int64_t max(std::int64_t x, std::int64_t y) { return x < y ? y : x; }
std::int64_t less(std::int64_t x, std::int64_t y) { return x < y; }
std::int64_t less_or_equal(std::int64_t x, std::int64_t y) { return x <= y; }
std::int64_t equal(std::int64_t x, std::int64_t y) { return x == y; }

void integer_identity(const std::int64_t* x, std::int64_t* y, std::size_t count, float, float) {
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i];
}

constexpr std::array<std::pair<std::string_view, UnaryLoop<std::int64_t>>, 1> kUnary = {{
    {"cast", integer_identity},
}};
constexpr std::array<std::pair<std::string_view, BinaryLoop<std::int64_t>>, 8> kBinary = {{
    {"add", integer_loop<add>},
    {"sub", integer_loop<sub>},
    {"mul", integer_loop<mul>},
    {"min", integer_loop<min>},
    {"max", integer_loop<max>},
    {"less", integer_loop<less>},
    {"less_or_equal", integer_loop<less_or_equal>},
    {"equal", integer_loop<equal>},
}};

}  // namespace

template <>
UnaryLoop<std::int64_t> unary_loop(std::string_view op) {
  return find_loop(kUnary, op);
}
template <>
BinaryLoop<std::int64_t> binary_loop(std::string_view op) {
  return find_loop(kBinary, op);
}
template <>
void select_loop(const std::int64_t* c, const std::int64_t* x, const std::int64_t* y,
                 std::int64_t* z, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) z[i] = c[i] != 0 ? x[i] : y[i];
}

}  // namespace soapstone::cpu
