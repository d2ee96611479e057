// Random graphs, see random_graph_text.h.
#pragma once

#include "tests/runtime/random_graph_text.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::runtime::test {

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : text_(seed) {}
  core::Graph make(std::size_t nodes) { return graph_of(text_.make(nodes)); }

 private:
  RandomGraphText text_;
};

}  // namespace soapstone::runtime::test
