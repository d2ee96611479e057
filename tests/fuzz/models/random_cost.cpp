// See random_cost.h.
#include "tests/fuzz/models/random_cost.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cost/models/roofline.h"
#include "rules/sampling/sample.h"

namespace soapstone {
namespace {

/// FNV-1a; std::hash may differ between platforms.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

class RandomCost final : public cost::CostModel {
 public:
  RandomCost(std::uint64_t seed, const rules::Rule* favor) : seed_(seed) {
    if (favor == nullptr) return;
    for (const core::NodeId id : favor->source.order()) factor_[favor->source.node(id).op] *= 16;
    for (const core::NodeId id : favor->target.order()) factor_[favor->target.node(id).op] /= 16;
  }

  cost::GraphCost graph_cost(const core::Graph& graph) override {
    cost::GraphCost total;
    for (const core::NodeId id : graph.order()) {
      if (graph.is_constant_expression(id)) continue;
      total.total_us += node_us(graph, graph.node(id));
      ++total.launches;
    }
    total.estimated_us = total.total_us;
    return total;
  }

  bool is_monotone() const override { return true; }

  std::vector<Item> breakdown(const core::Graph& graph) override {
    std::vector<Item> items;
    for (const core::NodeId id : graph.order()) {
      const core::Node& node = graph.node(id);
      if (!graph.is_constant_expression(id))
        items.push_back({node.name, {node_us(graph, node), 0, true}, "random"});
    }
    return items;
  }

  std::string description() const override { return fmt::format("random, seed {}", seed_); }

 private:
  double node_us(const core::Graph& graph, const core::Node& node) const {
    std::string what(node.op->name);
    if (seed_ % 8 != 0) {
      what += fmt::format(" {}", node.local_hash);
      for (const core::TensorId input : node.inputs) {
        if (!input.valid()) continue;
        what += ' ';
        what += core::to_string(graph.tensor(input).type.shape, graph.symbols());
      }
    }
    const std::uint64_t drawn = rules::Random(hash_of(what) ^ seed_).next();
    const auto favored = factor_.find(node.op);
    const double factor = favored == factor_.end() ? 1 : favored->second.value;
    return cost::rounded_us(factor * std::exp2(8 * static_cast<double>(drawn >> 11) * 0x1p-53));
  }

  struct Factor {
    double value = 1;
    void operator*=(double by) { value *= by; }
    void operator/=(double by) { value /= by; }
  };
  std::uint64_t seed_;
  std::map<const core::OpSchema*, Factor> factor_;
};

}  // namespace

std::unique_ptr<cost::CostModel> make_random_cost(std::uint64_t seed, const rules::Rule* favor) {
  return std::make_unique<RandomCost>(seed, favor);
}

}  // namespace soapstone
