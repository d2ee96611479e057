// A few operators with made-up shape rules, so that core/ is tested without ops/; and random graphs
// of them.
#pragma once

#include <deque>
#include <random>

#include "core/text/text.h"

namespace soapstone::core {

class TinyCatalog final : public OpCatalog {
 public:
  TinyCatalog();
  const OpSchema* find(std::string_view name) const override;
  const OpSchema& operator[](std::string_view name) const { return *find(name); }

 private:
  struct Op final : OpSchema {};
  void add(std::string name, std::size_t min_inputs, std::size_t max_inputs,
           std::vector<AttributeSchema> attributes = {});
  std::deque<Op> ops_;
};

/// Elementwise operators keep the first input's type; an error where an axis is out of range.
Result<std::vector<TensorType>> infer_tiny(const OpSchema& op, const Attributes& attributes,
                                           std::span<const TensorType> inputs);

/// Adds a node with inferred types and the defaults of its schema.
TensorId append(GraphBuilder& builder, const OpSchema& op, std::vector<TensorId> inputs,
                Attributes attributes = {});

TensorType f32(Shape shape);
LiteralPtr constant(std::vector<float> values);

/// A valid graph of up to `nodes` nodes with names, symbols, constants and shared results.
Graph random_graph(const TinyCatalog& ops, std::mt19937_64& random, int nodes);

}  // namespace soapstone::core
