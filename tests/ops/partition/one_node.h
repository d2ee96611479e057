// A graph of one node and its loops, for tests of ops/partition.
#pragma once

#include <string>
#include <vector>

#include "ops/partition/part_regions.h"
#include "tests/ops/op_examples.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {

struct OneNode {
  core::Graph graph;
  core::NodeId node;
  PartitionSpace space;

  std::vector<Dims> input_dims() const {
    std::vector<Dims> dims;
    for (core::TensorId id : graph.node(node).inputs)
      dims.push_back(*core::concrete(graph.tensor(id).type.shape));
    return dims;
  }
  Dims output_dims(std::size_t output) const {
    return *core::concrete(graph.tensor(graph.node(node).outputs[output]).type.shape);
  }
};

/// `weights`: numbers of the inputs that are parameters.
inline OneNode one_node(std::string_view inputs, std::string_view call, std::size_t results = 1,
                        std::initializer_list<std::size_t> weights = {}) {
  core::Graph graph = graph_of(inputs, call, results);
  const core::NodeId node = graph.order()[0];
  std::vector<bool> is_weight(graph.node(node).inputs.size());
  for (std::size_t k : weights) is_weight[k] = true;
  PartitionSpace space = partition_space(graph, node, is_weight);
  return {std::move(graph), node, std::move(space)};
}

inline OneNode one_node(const OpExample& example) {
  std::size_t results = 1;
  for (std::size_t at = 0; (at = example.results.find("  ", at)) != std::string::npos; at += 2)
    ++results;
  return one_node(example.inputs, example.call, results);
}

/// The whole but for one loop.
inline PartBox part_of(const PartitionSpace& space, std::size_t loop, Interval values) {
  PartBox box = whole_box(space);
  box[loop] = values;
  return box;
}

/// Two equal parts and three unequal ones of 0 … size−1, as far as there are so many.
inline std::vector<std::vector<Interval>> cuts_of(std::int64_t size) {
  std::vector<std::vector<Interval>> cuts{{{0, size / 2}, {size / 2, size}}};
  if (size > 2) {
    const std::int64_t second = 1 + (size - 1) / 3;
    cuts.push_back({{0, 1}, {1, second}, {second, size}});
    if (second == 1) cuts.back() = {{0, 1}, {1, 2}, {2, size}};
  }
  return cuts;
}

}  // namespace soapstone::ops::test
