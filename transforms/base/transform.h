// One way to rewrite a graph: it finds the places by itself and makes the rules that they need.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/rewrite_sequence.h"

namespace soapstone::transforms {

/// Each stands beside its finder; registry.h has the list of all.
struct Transform {
  std::string_view name;     ///< As `--skip` and `--only` take it.
  std::string_view summary;  ///< What it does, for people: no capital, no stop.
  std::vector<RewriteSequence> (*find)(const core::Graph&);
  /// The names of its rules begin with one of these; empty ones count nothing.
  std::array<std::string_view, 2> prefixes = {};

  /// Whether a rule of that name may be one of its own.
  constexpr bool may_make(std::string_view rule) const {
    return std::ranges::any_of(prefixes, [&](std::string_view prefix) {
      return !prefix.empty() && rule.starts_with(prefix);
    });
  }
};

}  // namespace soapstone::transforms
