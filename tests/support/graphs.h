// Graphs from text, for tests of every folder above ops/.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "core/text/text.h"
#include "ops/definition/registry.h"

namespace soapstone {

/// The graph that the text states. A text that does not parse fails the test and gives an empty
/// graph.
inline core::Graph graph_of(std::string_view text) {
  auto graph = core::parse_graph(text, ops::registry(), ops::infer_types);
  if (!graph) ADD_FAILURE() << graph.error().to_string() << "\nin\n" << text;
  return graph ? *std::move(graph) : core::Graph();
}

}  // namespace soapstone
