#include "transforms/pack/rows_of_cuts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/base/source_text.h"
#include "transforms/pack/blocks.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;
using Tensors = std::vector<TensorId>;

constexpr std::size_t kMostDepth = 4, kMostCutPieces = 200;
/// Of a matrix of zeros and ones.
constexpr std::int64_t kMostChoices = 1 << 18;

class RowsOfCuts {
 public:
  RowsOfCuts(const Graph& graph, const Node& join)
      : graph_(graph), join_(join), sizes_(graph, false) {}

  /// None: no operands of the join are such.
  std::optional<std::string> text() {
    const std::size_t axis = ops::axis_by_role(join_);
    if (!is_known(join_.outputs[0]) || axis + 1 != shape(join_.outputs[0]).size() ||
        join_.inputs.size() > kMostCutPieces)
      return std::nullopt;
    Texts parts;
    bool is_found = false;
    for (std::size_t k = 0; k < join_.inputs.size();) {
      Tensors row{join_.inputs[k]};
      while (k + row.size() < join_.inputs.size() &&
             do_the_same(row[0], join_.inputs[k + row.size()]))
        row.push_back(join_.inputs[k + row.size()]);
      k += row.size();
      const auto whole = row.size() > 1 ? whole_of(row) : std::nullopt;
      if (whole) parts.push_back(*whole);
      if (!whole)
        for (const TensorId id : row) parts.push_back(SourceText::name(id));
      is_found |= whole.has_value();
    }
    if (!is_found) return std::nullopt;
    source_.insert(graph_.tensor(join_.outputs[0]).producer);
    const std::string result = SourceText::name(join_.outputs[0]);
    target_.push_back(parts.size() == 1 ? fmt::format("    {} = {}\n", result, parts[0])
                                        : fmt::format("    {} = concat({}; axis={})\n", result,
                                                      list_of(parts), axis));
    SourceText source(graph_, sizes_);
    for (const NodeId id : source_) source.add(id);
    return rule_for(fmt::format("{}{}", kBlocksPrefix, join_.op->name), source, target_);
  }

 private:
  bool is_known(TensorId id) const {
    const core::TensorType& type = graph_.tensor(id).type;
    return type.shape_known && core::concrete(type.shape);
  }
  const core::Shape& shape(TensorId id) const { return graph_.tensor(id).type.shape; }
  std::int64_t width(TensorId id) const { return shape(id).back().constant(); }
  const Node* producer(TensorId id) const {
    const NodeId its = graph_.tensor(id).producer;
    return its.valid() && !graph_.is_constant_expression(id) ? &graph_.node(its) : nullptr;
  }

  /// Whether they are made by the same function of single elements.
  bool do_the_same(TensorId a, TensorId b) const {
    const Node *first = producer(a), *other = producer(b);
    if (first == nullptr || other == nullptr || first->op != other->op) return false;
    const ops::OpDefinition* const op = ops::definition_of(*first);
    return op != nullptr && op->op_class == ops::OpClass::kElementwise && is_known(a) &&
           is_known(b) && first->attributes == other->attributes &&
           first->inputs.size() == other->inputs.size();
  }

  /// The tensors side by side along the last axis, once each is as wide as the same one of `as`:
  /// its name. None: they are nothing that is found at once.
  std::optional<std::string> whole_of(const Tensors& row) {
    const auto before = std::pair(source_, target_);
    auto whole = computed(row, row, 0);
    if (!whole) std::tie(source_, target_) = before;
    return whole;
  }
  std::optional<std::string> computed(const Tensors& row, const Tensors& as, std::size_t depth) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      const bool is_row = row[k].valid() && is_known(row[k]) && has_rows_of(row[k], as[k]) &&
                          !graph_.is_constant_expression(row[k]);
      if (!is_row) return std::nullopt;
    }
    if (auto whole = chosen(row, as)) return whole;
    const bool are_alike =
        std::ranges::all_of(row, [&](TensorId id) { return do_the_same(row[0], id); });
    if (!are_alike || depth == kMostDepth) return std::nullopt;
    const Node& first = *producer(row[0]);
    Texts operands;
    for (std::size_t k = 0; k < first.inputs.size(); ++k) {
      Tensors all;
      for (const TensorId id : row) all.push_back(producer(id)->inputs[k]);
      const auto operand = computed(all, as, depth + 1);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    for (const TensorId id : row) source_.insert(graph_.tensor(id).producer);
    return add_line(call_of(graph_, first, operands));
  }

  /// Whether the one is as large as the other one but for the last axis, along which it may have
  /// one place for all.
  bool has_rows_of(TensorId id, TensorId as) const {
    const core::Shape &its = shape(id), &wanted = shape(as);
    return its.size() == wanted.size() && !its.empty() &&
           std::equal(its.begin(), its.end() - 1, wanted.begin()) &&
           (width(id) == width(as) || width(id) == 1);
  }

  /// What a piece is cut from along the last axis; itself, if it is not cut.
  TensorId origin(TensorId piece) const {
    const Node* const node = producer(piece);
    if (node == nullptr) return piece;
    const auto last = static_cast<std::int64_t>(shape(piece).size()) - 1;
    const bool is_cut = node->op->movement == Movement::kCut && node->inputs.size() == 1 &&
                        ops::ints_by_role(*node, core::AttributeRole::kAxes) == core::Dims{last};
    const bool is_part = node->op->movement == Movement::kSplit &&
                         static_cast<std::int64_t>(ops::axis_by_role(*node)) == last;
    return is_cut || is_part ? node->inputs[0] : piece;
  }

  /// Pieces of one tensor: its product with what the pieces of a unit matrix are.
  std::optional<std::string> chosen(const Tensors& row, const Tensors& as) {
    const TensorId whole = origin(row[0]);
    if (!is_known(whole)) return std::nullopt;
    for (const TensorId id : row)
      if (origin(id) != whole && id != whole) return std::nullopt;
    std::int64_t total = 0;
    for (const TensorId id : as) total += width(id);
    const std::int64_t size = width(whole);
    if (std::ranges::count(row, whole) == std::ssize(row) || size * total > kMostChoices)
      return std::nullopt;
    const std::string unit = add_line(fmt::format("eye(; shape=[{}, {}])", size, size));
    Texts pieces;
    for (std::size_t k = 0; k < row.size(); ++k) {
      std::string piece = row[k] == whole ? unit : piece_of(unit, row[k]);
      if (width(row[k]) != width(as[k]))
        piece = add_line(fmt::format("expand({}; shape=[{}, {}])", piece, size, width(as[k])));
      pieces.push_back(std::move(piece));
    }
    const std::string choices = add_line(fmt::format("concat({}; axis=1)", list_of(pieces)));
    return add_line(fmt::format("matmul({}, {})", SourceText::name(whole), choices));
  }

  /// The columns of the unit matrix that the piece has of its tensor.
  std::string piece_of(const std::string& unit, TensorId piece) {
    const NodeId id = graph_.tensor(piece).producer;
    source_.insert(id);
    const Node& node = graph_.node(id);
    if (node.op->movement == Movement::kSplit) {
      std::int64_t start = 0;
      for (const TensorId part : node.outputs) {
        if (part == piece) break;
        start += width(part);
      }
      return add_line(fmt::format("slice({}; axes=[1], starts=[{}], sizes=[{}], steps=[1])", unit,
                                  start, width(piece)));
    }
    core::Node along = node;
    along.attributes.set(node.op->find_role(core::AttributeRole::kAxes)->name,
                         core::to_shape(core::Dims{1}));
    return add_line(call_of(graph_, along, {unit}));
  }

  std::string add_line(const std::string& call) {
    std::string result = fmt::format("n{}", target_.size() + 1);
    target_.push_back(fmt::format("    {} = {}\n", result, call));
    return result;
  }

  const Graph& graph_;
  const Node& join_;
  SizeTexts sizes_;
  std::set<NodeId> source_;
  Texts target_;  ///< Lines.
};

}  // namespace

std::vector<RewriteSequence> find_rows_of_cuts(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op->movement != Movement::kJoin || graph.is_constant_expression(id)) continue;
    if (auto text = RowsOfCuts(graph, node).text())
      plans.push_back({{{.results = {node.outputs[0]},
                         .texts = {*std::move(text)},
                         .description = "What is done to pieces side by side is done at once.",
                         .floats = FloatBehavior::kReassociates}}});
  }
  return plans;
}

}  // namespace soapstone::transforms
