// Graphs from text, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "core/text/text.h"
#include "ops/definition/registry.h"

namespace soapstone {

inline core::Graph graph_from(std::string_view text) {
  auto graph = core::parse_graph(text, ops::registry(), ops::infer_types);
  EXPECT_TRUE(graph) << graph.error().to_string();
  return *std::move(graph);
}

}  // namespace soapstone
