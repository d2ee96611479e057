// The nodes whose results were known when a model with open sizes was read at some sizes: a file
// for all sizes computes them again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/literal.h"
#include "models/onnx/format/onnx_protobuf.h"

namespace soapstone::models {

/// A tensor whose value was known. Large values are not kept: a mask may be as large as all the
/// weights.
struct KnownTensor {
  std::uint64_t hash = 0;  ///< Literal::hash(), thus of type and shape, too.
  core::LiteralPtr value;  ///< Null: it has more than kMostKept elements.
  static constexpr std::int64_t kMostKept = 64;
};

struct FoldedNode {
  onnx::NodeProto proto;
  /// One for each input of the proto: its value if it is a constant of the file; null: its value is
  /// the result of another folded node, or only its type was asked for.
  std::vector<core::LiteralPtr> constants;
  std::vector<KnownTensor> results;  ///< In the order of the proto.
  /// The numbers that the results hold may depend on open sizes, not only how often they do.
  bool varies = false;
};

class FoldedNodes {
 public:
  void add(FoldedNode node) {
    node.varies = depends_on_sizes(node);
    for (int k = 0; k < node.proto.output_size(); ++k) {
      const std::string& name = node.proto.output(k);
      if (name.empty()) continue;
      places_.insert_or_assign(name, Place{nodes_.size(), static_cast<std::size_t>(k)});
      by_hash_.emplace(node.results[static_cast<std::size_t>(k)].hash, name);
    }
    nodes_.push_back(std::move(node));
  }

  /// Null: no such node has a result of that name.
  const FoldedNode* producer(const std::string& name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &nodes_[found->second.node];
  }
  const KnownTensor* result(const std::string& name) const {
    const auto found = places_.find(name);
    if (found == places_.end()) return nullptr;
    return &nodes_[found->second.node].results[found->second.output];
  }
  /// Whether a value with that hash may hold other numbers at other sizes.
  bool varies(std::uint64_t hash) const {
    const auto [begin, end] = by_hash_.equal_range(hash);
    return std::any_of(begin, end,
                       [&](const auto& entry) { return producer(entry.second)->varies; });
  }
  /// Names of the results with that hash.
  std::vector<std::string> with_hash(std::uint64_t hash) const {
    std::vector<std::string> names;
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) names.push_back(it->second);
    return names;
  }

 private:
  /// Whether input k of the node says how large its results are, and not what they hold.
  static bool says_shape(const onnx::NodeProto& node, int k) {
    const std::string& type = node.op_type();
    if (type == "ConstantOfShape") return true;
    return k > 0 && (type == "Expand" || type == "Reshape" || type == "Tile" ||
                     type == "Unsqueeze" || type == "Squeeze");
  }
  bool depends_on_sizes(const FoldedNode& node) const {
    for (int k = 0; k < node.proto.input_size(); ++k) {
      const std::string& name = node.proto.input(k);
      if (name.empty() || says_shape(node.proto, k) || node.constants[static_cast<std::size_t>(k)])
        continue;
      const FoldedNode* before = producer(name);
      if (before == nullptr || before->varies || takes_part(node.proto)) return true;
    }
    return false;
  }
  /// Whether results may lack elements of the first input, or which they have depends on its size.
  static bool takes_part(const onnx::NodeProto& node) {
    static constexpr std::string_view kParts[] = {"Slice",     "Gather",    "Trilu", "Split",
                                                  "Range",     "NonZero",   "Size",  "Shape",
                                                  "ReduceSum", "ReduceProd"};
    return std::ranges::find(kParts, node.op_type()) != std::end(kParts);
  }

  struct Place {
    std::size_t node = 0, output = 0;
  };
  std::vector<FoldedNode> nodes_;
  std::unordered_map<std::string, Place> places_;
  std::unordered_multimap<std::uint64_t, std::string> by_hash_;
};

}  // namespace soapstone::models
