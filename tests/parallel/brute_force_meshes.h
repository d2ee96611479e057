// A tiny model in figures, and meshes of devices, as the brute force counts them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "tests/parallel/brute_force.h"

namespace soapstone::parallel::brute_force {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
inline constexpr double kBytes = 4, kBucketBytes = 25e6, kLaunchUs = 4;
inline constexpr std::size_t kAxes = 3;

/// An axis does this to a tensor, if it does not cut dimension 0 or 1.
inline constexpr int kWhole = -1;   ///< All have it and do the same with it.
inline constexpr int kSum = -2;     ///< Its sum along the axis is the tensor.
inline constexpr int kSpread = -3;  ///< All have it and do different things with it.
using Layout = std::array<int, kAxes>;
inline constexpr Layout kWholeEverywhere{kWhole, kWhole, kWhole};

inline bool is_cut(int use) { return use >= 0; }
inline bool is_same(int use) { return use == kWhole || use == kSpread; }

/// The gradient of what is spread is a sum; that of a summand is the same for all.
Layout gradient_of(Layout layout);

struct Rates {
  double flops_per_s = 0, bytes_per_s = 0;
};
double contraction_us(const Rates& rates, double flops, double bytes);
double passes_us(const Rates& rates, double bytes);

/// The figures of a model, whatever the devices.
struct Facts {
  std::vector<std::size_t> order;                      // of operators
  std::vector<bool> starts_launch;                     // by operator
  std::vector<bool> is_stored, is_kept, has_gradient;  // by tensor
  std::vector<std::vector<std::size_t>> readers;       // by tensor, in their order
};

Facts facts_of(const Model& model, bool is_training);

/// Devices that are alike in all that matters on a mesh.
struct Position {
  double share = 1;         ///< Of what the uneven axis cuts.
  std::int64_t grains = 1;  ///< The same as a whole number.
  Rates rates;
  auto key() const { return std::tuple(grains, rates.flops_per_s, rates.bytes_per_s); }
};

struct Mesh {
  std::array<std::int64_t, kAxes> sizes{1, 1, 1};
  std::optional<std::size_t> uneven;  ///< The axis whose positions have different shares.
  std::int64_t all_grains = 1;
  std::vector<Position> positions;  ///< One if it is even, at the rate of the slowest device.
  double update_bytes_per_s = 0;    ///< If it is even: of the slowest memory.
  std::array<double, kAxes> largest{1, 1, 1};  ///< Share of a device, by axis.
};

/// All devices have parts of one size, and wait for the slowest.
Mesh even_mesh(const Model& model, const Facts& facts, const Topology& machine,
               const std::array<std::int64_t, kAxes>& sizes);
/// The outermost axis has grains in proportion to the rates of devices, if those of a position are
/// alike: the most that divide `rows`, those of a microbatch, up to 8 a position.
std::optional<Mesh> uneven_mesh(const Model& model, const Facts& facts, const Topology& machine,
                                const std::array<std::int64_t, kAxes>& sizes, std::int64_t rows);

}  // namespace soapstone::parallel::brute_force
