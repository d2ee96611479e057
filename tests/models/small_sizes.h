// Sizes of built-in networks for tests that look at every node.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "models/networks/builders.h"

namespace soapstone::models {

/// Sizes at which a network has all of its nodes, and a test its patience.
inline std::map<std::string, std::int64_t> small_sizes(const ModelBuilder& builder) {
  const std::map<std::string, std::int64_t> small{
      {"batch", 2}, {"image", 64},      {"classes", 5},    {"width_percent", 7}, {"width", 4},
      {"seq", 5},   {"positions", 6},   {"layers", 1},     {"hidden", 8},        {"heads", 2},
      {"feed", 6},  {"vocabulary", 7},  {"kv_heads", 1},   {"inputs", 6},        {"outputs", 4},
      {"steps", 2}, {"group_width", 2}, {"window", 2},     {"dim", 4},           {"repeats", 1},
      {"dense", 0}, {"dense_feed", 6},  {"norm_groups", 2}};
  std::map<std::string, std::int64_t> sizes;
  for (const ModelParameter& p : builder.parameters)
    if (const auto found = small.find(p.name); found != small.end())
      sizes[p.name] = std::clamp(found->second, p.lowest, p.highest);
  if (builder.name == "inception_v3") sizes["image"] = 75;
  if (builder.name == "vgg") sizes["image"] = 32;
  if (builder.name == "unet") sizes["image"] = 16;
  return sizes;
}

/// Sizes at which all parts are as large as ever, but none is repeated more often than it takes to
/// have its neighbors: for tests of what differs.
inline std::map<std::string, std::int64_t> few_repeats(std::string_view network) {
  std::map<std::string, std::int64_t> sizes;
  for (const ModelBuilder& builder : builders())
    for (const ModelParameter& p : builder.parameters)
      if (builder.name == network && (p.name == "layers" || p.name == "steps"))
        sizes[p.name] = std::max<std::int64_t>(p.lowest, p.name == "layers" ? 2 : 4);
  return sizes;
}

}  // namespace soapstone::models
