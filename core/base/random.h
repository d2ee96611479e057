// Real numbers from random bits, the same for every standard library.
#pragma once

#include <cmath>
#include <numbers>
#include <random>

namespace soapstone::core {

/// Within (0, 1).
inline double draw_uniform(std::mt19937_64& engine) {
  return (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53;
}

/// Normal with mean 0 and variance 1, by Box and Muller.
inline double draw_normal(std::mt19937_64& engine) {
  const double radius = std::sqrt(-2 * std::log(draw_uniform(engine)));
  return radius * std::cos(2 * std::numbers::pi * draw_uniform(engine));
}

}  // namespace soapstone::core
