// Strategies that have a name: what each leaves free and what it fixes. All of them are planned by
// the same search, so that they differ in nothing but their freedom.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "parallel/planning/mesh_planner.h"

namespace soapstone::parallel {

struct NamedStrategy {
  std::string name;
  std::string description;  ///< One line.
  std::string source;
  Freedom freedom;
};

/// `best`, which is free in everything, comes first.
std::span<const NamedStrategy> named_strategies();

/// By its name, or as frameworks call it: ddp, fsdp. Errors: kUsage for an unknown name; the hint
/// lists all.
core::Result<const NamedStrategy*> named_strategy(std::string_view name);

}  // namespace soapstone::parallel
