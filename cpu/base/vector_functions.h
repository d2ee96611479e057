// Functions of floats on whole arrays, written as plain loops that the compiler turns into vector
// code for each instruction set. Errors: a few units in the last place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace soapstone::cpu {

/// y[i] = f(x[i]); x and y may be the same array. `a` and `b` are the function's parameters.
template <class T>
using UnaryLoop = void (*)(const T* x, T* y, std::size_t count, float a, float b);
/// z[i] = f(x[i], y[i]); z may be x or y.
template <class T>
using BinaryLoop = void (*)(const T* x, const T* y, T* z, std::size_t count);

/// By operator name, on floats or 64-bit integers; `gelu_tanh` for gelu with approximate = tanh;
/// `square` and `cube` for pow.
/// Parameters: leaky_relu and elu: alpha; clip: min, max; hard_sigmoid: alpha, beta. Null: no such
/// loop.
template <class T>
UnaryLoop<T> unary_loop(std::string_view op);
template <class T>
BinaryLoop<T> binary_loop(std::string_view op);

/// Finds a loop in a table of names and loops.
template <class Table>
auto find_loop(const Table& table, std::string_view op) -> typename Table::value_type::second_type {
  for (const auto& [name, loop] : table) {
    if (name == op) return loop;
  }
  return nullptr;
}

/// z[i] = c[i] ≠ 0 ? x[i] : y[i]; z may be any of them.
template <class T>
void select_loop(const T* c, const T* x, const T* y, T* z, std::size_t count);

/// y[i] = a·x[i] + b
void scale_shift_loop(const float* x, float* y, std::size_t count, float a, float b);
/// y[i] = a[i]·x[i] + b[i]
void scale_shift_loop(const float* x, float* y, std::size_t count, const float* a, const float* b);
/// y[i] = x[i] / √(mean of x² + epsilon) · scale[i]
void rms_norm_row(const float* x, const float* scale, float* y, std::size_t count, float epsilon);

}  // namespace soapstone::cpu
