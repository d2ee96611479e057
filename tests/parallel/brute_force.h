// The least time of a step by looking at all there is, for models of a few operators on a few
// devices. It shares nothing with the planner but the machine's facts (parallel/topology) and what
// runs in one launch (runtime/launches): what cuts ask and make, what changes of layout, gradients
// and exchanges of weights take is written down here once more, after docs/plans.md.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "parallel/topology/topology.h"

namespace soapstone::parallel::brute_force {

enum class Kind : std::uint8_t { kMatmul, kAdd, kRelu };

/// Makes tensor k + 1 if it is operator k; tensor 0 is the input of the model. All have two
/// dimensions and as many rows. A matmul has a weight.
struct Operator {
  Kind kind = Kind::kMatmul;
  std::vector<std::size_t> reads;
  std::int64_t columns = 1;  ///< Of its result.
  /// A matmul before it, whose weight it reads, too; none: it has a weight of its own.
  std::optional<std::size_t> weight_of = {};
};

struct Model {
  std::int64_t rows = 1, columns = 1;  ///< Of the input.
  std::vector<Operator> operators;
  std::int64_t columns_of(std::size_t tensor) const {
    return tensor == 0 ? columns : operators[tensor - 1].columns;
  }
};

struct ModelGraph {
  core::Graph graph;
  std::vector<bool> is_weight;  ///< By tensor.
};

struct ModelSize {
  std::size_t operators = 2;
  bool has_matmuls_alone = false;
  /// Matmuls read the weight of the first one of the same sizes. Half of them have as many columns
  /// as they read.
  bool shares_weights = false;
};

/// A third of the sizes are such as 3, 5, 6, 7 and 12. Every other model of other operators than
/// matmuls is a diamond.
Model random_model(std::mt19937& random, const ModelSize& size);
Topology random_machine(std::mt19937& random, std::int64_t devices, bool has_unlike_devices);
ModelGraph graph_of_model(const Model& model);
std::string to_string(const Model& model);

struct Options {
  bool is_training = false;
  bool cuts_unevenly = false;
  std::int64_t microbatches = 1;  ///< They divide the rows.
  /// Steps that take longer are not looked for.
  double limit_us = std::numeric_limits<double>::infinity();
};

struct Step {
  double us = std::numeric_limits<double>::infinity();  ///< Infinite: none within the limit.
  std::string plan;
  std::uint64_t timed = 0;  ///< Plans of which all was decided.
};

/// One stage, Adam, 32 bits, nothing computed again.
Step least_step(const Model& model, const Topology& machine, const Options& options);

}  // namespace soapstone::parallel::brute_force
