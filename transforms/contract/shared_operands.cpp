#include "transforms/contract/shared_operands.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/dimension_groups.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Of movements between what repeats and the product.
constexpr std::size_t kMostMovements = 4;

constexpr std::string_view kSharedDescription =
    "A product reads what several of its parts share instead of repetitions of it.";

/// An operand as what it repeats.
struct SharedOperand {
  std::vector<const Node*> movements;  ///< From the one that repeats to the operand.
  TensorId tensor;                     ///< What the first one repeats.
  /// By dimension of the operand: the dimensions of what the first one makes.
  std::vector<std::vector<std::size_t>> dims;
};

class SharedWriter {
 public:
  SharedWriter(const Graph& graph, const Node& product)
      : graph_(graph), product_(product), labels_(contraction_labels(graph, product)) {}

  std::optional<std::string> text(std::size_t shared) {
    if (labels_.size() != 3) return std::nullopt;
    const auto operand = shared_operand(product_.inputs[shared]);
    if (!operand || !divide(*operand, shared)) return std::nullopt;
    const std::size_t other = 1 - shared;
    const TensorId given = product_.inputs[other];
    const Sizes own = shape(operand->tensor);
    const std::string head =
        fmt::format("  x0: {}\n  x1: {}\n", declared(type(operand->tensor), names_of(own)),
                    declared(type(given), names_of(shape(given))));
    SideText source, target;
    std::string moved = "x0";
    for (const Node* movement : operand->movements)
      moved = source.line(call_of(graph_, *movement, {moved}));
    Names operands{"x1", "x1"};
    operands[shared] = moved;
    const std::string y = source.line(call_of(graph_, product_, operands));
    operands[shared] = target.reshaped("x0", names_of(own), names_of(kept_));
    operands[other] = target.reshaped("x1", names_of(shape(given)), names_of(sizes_of(other)));
    std::vector<std::string> letters{divided(labels_[other]), divided(labels_[other]),
                                     divided(labels_[2])};
    letters[shared] = kept_labels_;
    const std::string t =
        target.line(fmt::format("einsum({}, {}; equation=\"{},{}->{}\")", operands[0], operands[1],
                                letters[0], letters[1], letters[2]));
    const TensorId result = product_.outputs[0];
    return rule_text(fmt::format("{}{}", kSharedPrefix, product_.op->name), head, source, {y},
                     target,
                     {target.reshaped(t, names_of(sizes_of(labels_[2])), names_of(shape(result)))});
  }

 private:
  const core::TensorType& type(TensorId id) const { return graph_.tensor(id).type; }
  Sizes shape(TensorId id) const { return known_sizes(type(id).shape); }

  /// None: it repeats nothing, or its dimensions are others than what is repeated has, put
  /// together.
  std::optional<SharedOperand> shared_operand(TensorId id) const {
    SharedOperand found;
    for (TensorId at = id; found.movements.size() < kMostMovements;) {
      const NodeId producer = graph_.tensor(at).producer;
      if (!producer.valid() || graph_.is_constant_expression(at)) return std::nullopt;
      const Node& node = graph_.node(producer);
      if (node.op->is_opaque() || !has_known_sizes(graph_, node)) return std::nullopt;
      found.movements.insert(found.movements.begin(), &node);
      at = node.inputs[0];
      if (node.op->movement == Movement::kRepeat) {
        found.tensor = at;
        return follow(found) ? std::optional(std::move(found)) : std::nullopt;
      }
      if (node.op->movement != Movement::kReshape && node.op->movement != Movement::kPermute)
        return std::nullopt;
    }
    return std::nullopt;
  }

  /// Where the dimensions of what is repeated go.
  bool follow(SharedOperand& operand) const {
    const std::size_t rank = shape(operand.movements[0]->outputs[0]).size();
    for (std::size_t d = 0; d < rank; ++d) operand.dims.push_back({d});
    for (const Node* node : operand.movements) {
      if (node == operand.movements[0]) continue;
      auto before = std::move(operand.dims);
      operand.dims.clear();
      if (node->op->movement == Movement::kPermute) {
        for (const core::Polynomial& d : ops::sizes_by_role(*node, AttributeRole::kPermutation))
          operand.dims.push_back(before[static_cast<std::size_t>(d.constant())]);
        continue;
      }
      const auto groups = dimension_groups(shape(node->inputs[0]), shape(node->outputs[0]));
      for (const auto& [of_from, of_to] : groups) {
        if (of_to.count() > 1) return false;
        std::vector<std::size_t> together;
        for (std::size_t d = of_from.first; d < of_from.end; ++d)
          together.insert(together.end(), before[d].begin(), before[d].end());
        if (of_to.count() == 1) operand.dims.push_back(std::move(together));
      }
    }
    return true;
  }

  /// Letters for the dimensions that are put together. False: nothing is gained, or a dimension
  /// that is repeated is summed, or stands nowhere else.
  bool divide(const SharedOperand& operand, std::size_t shared) {
    const Sizes repeated = shape(operand.movements[0]->outputs[0]);
    Sizes own = shape(operand.tensor);
    own.insert(own.begin(), repeated.size() - own.size(), 1);
    const std::string& labels = labels_[shared];
    if (operand.dims.size() != labels.size()) return false;
    char next = 'a';
    const auto fresh = [&] {
      while (std::ranges::any_of(
          labels_, [&](const std::string& all) { return all.find(next) != std::string::npos; }))
        ++next;
      return next++;
    };
    std::map<std::size_t, char> letter_of;
    bool is_put_together = false;
    for (std::size_t d = 0; d < labels.size(); ++d) {
      const char label = labels[d];
      if (letters_.contains(label)) return false;  // a diagonal
      std::string& its = letters_[label];
      for (const std::size_t part : operand.dims[d]) {
        if (repeated[part] == 1) continue;
        const char letter = fresh();
        if (letter > 'z') return false;
        its += letter;
        size_of_[letter] = repeated[part];
        letter_of[part] = letter;
        if (own[part] != 1) continue;
        is_put_together = is_put_together || operand.dims[d].size() > 1;
        const bool stands_elsewhere = labels_[1 - shared].find(label) != std::string::npos;
        if (!stands_elsewhere || labels_[2].find(label) == std::string::npos) return false;
      }
    }
    for (const auto& [part, letter] : letter_of) {
      if (own[part] == 1) continue;
      kept_.push_back(own[part]);
      kept_labels_ += letter;
    }
    return is_put_together && !kept_.empty() && take_letters(1 - shared);
  }

  /// Letters of the other operand, and their sizes. False: one of its dimensions is broadcast, or
  /// the result has a letter that neither has.
  bool take_letters(std::size_t operand) {
    const Sizes sizes = shape(product_.inputs[operand]);
    if (sizes.size() != labels_[operand].size()) return false;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const char label = labels_[operand][d];
      const auto known = letters_.find(label);
      if (known == letters_.end()) {
        letters_[label] = label;
        size_of_[label] = sizes[d];
        continue;
      }
      std::int64_t all = 1;
      for (const char letter : known->second) all *= size_of_.at(letter);
      if (all != sizes[d]) return false;
    }
    return std::ranges::all_of(labels_[2], [&](char label) { return letters_.contains(label); });
  }

  std::string divided(const std::string& labels) const {
    std::string all;
    for (const char label : labels) all += letters_.at(label);
    return all;
  }
  Sizes sizes_of(const std::string& labels) const {
    Sizes sizes;
    for (const char letter : divided(labels)) sizes.push_back(size_of_.at(letter));
    return sizes;
  }
  Sizes sizes_of(std::size_t operand) const { return sizes_of(labels_[operand]); }

  const Graph& graph_;
  const Node& product_;
  std::vector<std::string> labels_;      ///< Of the operands, and of the result.
  std::map<char, std::string> letters_;  ///< By letter of the product: those in its place.
  std::map<char, std::int64_t> size_of_;
  Sizes kept_;  ///< Of what is repeated, without dimensions of size 1.
  std::string kept_labels_;
};

}  // namespace

std::vector<RewriteSequence> find_shared_operands(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (graph.is_constant_expression(id) || !(is_product(node) || is_equation(node)) ||
        node.inputs.size() != 2 || !has_known_sizes(graph, node))
      continue;
    for (const std::size_t shared : {std::size_t{0}, std::size_t{1}}) {
      auto text = SharedWriter(graph, node).text(shared);
      if (!text) continue;
      plans.push_back({{RewriteStep{.results = node.outputs,
                                    .texts = {*std::move(text)},
                                    .description = kSharedDescription}}});
      break;
    }
  }
  return plans;
}

}  // namespace soapstone::transforms
