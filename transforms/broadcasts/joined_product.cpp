#include "transforms/broadcasts/joined_product.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "transforms/broadcasts/repeated_operator.h"
#include "transforms/broadcasts/repetition.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::TensorId;

Sizes without(Sizes shape, std::size_t axis) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return shape;
}

/// The sum of the product and of numbers of each column, if nothing else reads it.
void find_bias(const Graph& graph, JoinedProduct& found) {
  const TensorId product = found.product->outputs[0];
  if (graph.is_output(product) || graph.consumers(product).size() != 1) return;
  const Node& node = graph.node(graph.consumers(product)[0]);
  if (ops::arithmetic_of(*node.op) != ops::Arithmetic::kSum || node.inputs[0] == node.inputs[1])
    return;
  const TensorId other = node.inputs[node.inputs[0] == product ? 1 : 0];
  const core::Shape& columns = graph.tensor(product).type.shape;
  if (!graph.is_constant_expression(other) ||
      graph.tensor(other).type.shape != core::Shape{columns.back()})
    return;
  found.bias = &node;
  found.offset = other;
}

/// A tensor that is multiplied by rows of the matrix: added, or subtracted.
struct WeightRows {
  std::int64_t start;  ///< The first of these rows.
  bool is_negative;
};
struct RowSummand {
  TensorId id;
  Repeated tensor;
  std::vector<bool> left_out;  ///< In the source.
  std::vector<WeightRows> factors;
  bool is_shared = false;
};
/// What is multiplied in one go.
struct RowGroup {
  bool is_constant, is_shared;
  Sizes rows;  ///< Of the base.
  std::vector<std::optional<Repetition>> selections;
  std::vector<RowSummand> summands = {};
};

class ProductWriter {
 public:
  ProductWriter(const Graph& graph, const JoinedProduct& found,
                const std::vector<JoinedPart>& parts, std::size_t weight)
      : graph_(graph), found_(found), parts_(parts), weight_(weight),
        shape_(known_sizes(graph.tensor(found.join->outputs[0]).type.shape)),
        is_image_(found.product->op->has_operand(core::OperandRole::kImage)),
        columns_(
            known_sizes(graph.tensor(found.product->inputs[1]).type.shape)[is_image_ ? 0 : 1]) {}

  std::optional<SummedProduct> run() {
    std::int64_t start = 0;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const TensorId id = found_.join->inputs[k];
      if (parts_[k].terms.empty()) {
        add({id, parts_[k].tensor, {}, {{start, false}}, parts_[k].is_shared});
      } else {
        const bool is_difference =
            ops::arithmetic_of(*producer(id).op) == ops::Arithmetic::kDifference;
        for (std::size_t j = 0; j < parts_[k].terms.size(); ++j) {
          const auto& term = parts_[k].terms[j];
          add({term.id, term.tensor, term.left_out, {{start, is_difference && j == 1}}, false});
        }
      }
      start += parts_[k].tensor.shape[found_.axis];
    }
    if (groups_.size() < 2) return std::nullopt;
    SummedProduct result;
    result.result = sum();
    SizeNames sizes;
    for (const RowGroup& group : groups_)
      for (const RowSummand& summand : group.summands) {
        for (const std::int64_t n : without(summand.tensor.shape, found_.axis)) sizes.leave_open(n);
        for (const std::int64_t n : summand.tensor.base_shape) sizes.leave_open(n);
        sizes.fix(summand.tensor.shape[found_.axis]);
      }
    sizes.leave_open(columns_);
    sizes.fix(start);
    result.texts =
        in_both_ways(sizes, [&](const SizeNames& names) { return text(names, result.result); });
    if (found_.reshape != nullptr)
      result.result =
          Repeated::plain(known_sizes(graph_.tensor(found_.product->outputs[0]).type.shape), 0);
    return result;
  }

 private:
  const Node& producer(TensorId id) const { return graph_.node(graph_.tensor(id).producer); }

  void add(RowSummand summand) {
    RowGroup group{.is_constant = graph_.is_constant_expression(summand.id),
                   .is_shared = summand.is_shared,
                   .rows = without(summand.tensor.base_shape, found_.axis),
                   .selections = summand.tensor.axes};
    for (auto& axis : group.selections)
      if (axis && !axis->indices.valid()) axis.reset();
    const auto known = std::ranges::find_if(groups_, [&](const RowGroup& other) {
      return !group.is_shared && !other.is_shared && other.is_constant == group.is_constant &&
             other.rows == group.rows && other.selections == group.selections;
    });
    if (known == groups_.end()) {
      group.summands.push_back(std::move(summand));
      groups_.push_back(std::move(group));
      return;
    }
    const auto same = std::ranges::find_if(known->summands, [&](const RowSummand& other) {
      return other.tensor.base == summand.tensor.base && other.tensor.axes == summand.tensor.axes;
    });
    if (same != known->summands.end())
      same->factors.push_back(summand.factors[0]);
    else
      known->summands.push_back(std::move(summand));
  }

  /// The join's rows times the matrix, as a repetition of the sum of all groups' products.
  Repeated sum() const {
    Sizes shape = shape_;
    shape[found_.axis] = columns_;
    Repeated sum = Repeated::plain(shape, 0);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto is_one = [&](const RowGroup& group) {
        return group.rows[d - (d > found_.axis ? 1 : 0)] == 1 && !group.selections[d];
      };
      if (d == found_.axis || shape[d] == 1 || !std::ranges::all_of(groups_, is_one)) continue;
      sum.axes[d] = Repetition();
      sum.base_shape[d] = 1;
    }
    return sum;
  }

  std::string text(const SizeNames& sizes, const Repeated& sum) const {
    RepetitionText text(graph_, sizes);
    const TensorId weight = found_.product->inputs[1];
    const core::TensorType& type = graph_.tensor(weight).type;
    const std::string w = text.input("x" + std::to_string(weight_), type, known_sizes(type.shape));
    const std::string from = source(text, w);
    // A shared product has no bias, so that it stays one that others have.
    const auto smallest = std::ranges::min_element(groups_, {}, [](const RowGroup& group) {
      return std::pair(group.is_shared, product_of(group.rows));
    });
    Names products;
    for (const RowGroup& group : groups_)
      products.push_back(product(text, group, w, &group == &*smallest));
    std::string all = products[0];
    for (std::size_t k = 1; k < products.size(); ++k)
      all = text.target().line(fmt::format("add({}, {})", all, products[k]));
    all = text.repeated(text.target(), sum, all);
    if (found_.reshape != nullptr) {
      const Sizes to = known_sizes(graph_.tensor(found_.product->outputs[0]).type.shape);
      all = text.target().line(
          fmt::format("reshape({}; shape=[{}])", all, list_of(text.sizes().texts(to))));
    }
    return text.finished(fmt::format("{}parts_of_{}", kRepetitionPrefix, found_.product->op->name),
                         {from}, {all});
  }

  std::string named(RepetitionText& text, TensorId id, const Repeated& tensor) const {
    return text.input(tensor.base_name(), graph_.tensor(id).type, tensor.base_shape);
  }

  std::string source(RepetitionText& text, const std::string& w) const {
    SideText& side = text.source();
    Names joined;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const TensorId id = found_.join->inputs[k];
      const JoinedPart& part = parts_[k];
      Names operands;
      for (const auto& term : part.terms)
        operands.push_back(
            text.repeated(side, term.tensor, named(text, term.id, term.tensor), term.left_out));
      joined.push_back(operands.empty()
                           ? text.repeated(side, part.tensor, named(text, id, part.tensor))
                           : side.line(text.call(producer(id), operands, {})));
    }
    std::string rows = side.line(text.call(*found_.join, joined, {}));
    if (found_.reshape != nullptr)
      rows =
          side.line(text.call(*found_.reshape, {rows},
                              known_sizes(graph_.tensor(found_.reshape->outputs[0]).type.shape)));
    Names operands{rows, w};
    if (is_image_ && found_.offset.valid()) operands.push_back(offset(text));
    const std::string product = side.line(text.call(*found_.product, operands, {}));
    if (found_.bias == nullptr) return product;
    operands = {product, offset(text)};
    if (found_.bias->inputs[0] == found_.offset) std::ranges::reverse(operands);
    return side.line(text.call(*found_.bias, operands, {}));
  }

  std::string offset(RepetitionText& text) const {
    return text.input("b", graph_.tensor(found_.offset).type, {columns_});
  }

  std::string product(RepetitionText& text, const RowGroup& group, const std::string& w,
                      bool has_offset) const {
    SideText& side = text.target();
    Names rows, weights;
    for (const RowSummand& summand : group.summands) {
      rows.push_back(named(text, summand.id, summand.tensor));
      weights.push_back(weight_of(side, summand, w));
    }
    const auto joined = [&](const Names& names, std::size_t axis) {
      return names.size() == 1
                 ? names[0]
                 : side.line(fmt::format("concat({}; axis={})", fmt::join(names, ", "), axis));
    };
    has_offset = has_offset && found_.offset.valid();
    Names operands{joined(rows, found_.axis), joined(weights, is_image_ ? 1 : 0)};
    if (is_image_ && has_offset) operands.push_back(offset(text));
    std::string base = side.line(text.call(*found_.product, operands, {}));
    if (!is_image_ && has_offset) base = side.line(fmt::format("add({}, {})", base, offset(text)));
    Repeated selected = Repeated::plain(shape_, 0);
    selected.base_shape = group.rows;
    selected.base_shape.insert(
        selected.base_shape.begin() + static_cast<std::ptrdiff_t>(found_.axis), columns_);
    selected.axes = group.selections;
    return text.repeated(side, selected, base);
  }

  std::string weight_of(SideText& side, const RowSummand& summand, const std::string& w) const {
    std::string sum;
    for (const WeightRows& factor : summand.factors) {
      const std::string rows = side.line(
          fmt::format("slice({}; axes=[{}], starts=[{}], sizes=[{}], steps=[1])", w,
                      is_image_ ? 1 : 0, factor.start, summand.tensor.shape[found_.axis]));
      if (sum.empty())
        sum = factor.is_negative ? side.line(fmt::format("neg({})", rows)) : rows;
      else
        sum = side.line(fmt::format("{}({}, {})", factor.is_negative ? "sub" : "add", sum, rows));
    }
    return sum;
  }

  const Graph& graph_;
  const JoinedProduct& found_;
  const std::vector<JoinedPart>& parts_;
  std::size_t weight_;
  Sizes shape_;    ///< Of the join.
  bool is_image_;  ///< The kernel has its rows along its second dimension.
  std::int64_t columns_;
  std::vector<RowGroup> groups_;
};

}  // namespace

std::optional<JoinedProduct> joined_product(const Graph& graph, const Node& node) {
  JoinedProduct found{.product = &node};
  const bool is_image = is_convolution_of_points(graph, node);
  if (!is_image && (!is_product(node) || graph.tensor(node.inputs[1]).type.shape.size() != 2))
    return std::nullopt;
  core::NodeId before = graph.tensor(node.inputs[0]).producer;
  if (!is_image && before.valid() && graph.node(before).op->movement == Movement::kReshape) {
    found.reshape = &graph.node(before);
    before = graph.tensor(found.reshape->inputs[0]).producer;
  }
  if (!before.valid() || graph.node(before).op->movement != Movement::kJoin) return std::nullopt;
  found.join = &graph.node(before);
  const core::Shape& shape = graph.tensor(found.join->outputs[0]).type.shape;
  found.axis = ops::axis_by_role(*found.join);
  const std::size_t summed = is_image ? 1 : shape.size() - 1;
  if (found.axis != summed ||
      (!is_image && shape.back() != graph.tensor(node.inputs[0]).type.shape.back()))
    return std::nullopt;
  if (!is_image)
    find_bias(graph, found);
  else if (node.inputs.size() > 2)
    found.offset = node.inputs[2];
  return found;
}

std::optional<SummedProduct> summed_product(const Graph& graph, const JoinedProduct& found,
                                            const std::vector<JoinedPart>& parts,
                                            std::size_t weight) {
  return ProductWriter(graph, found, parts, weight).run();
}

std::vector<std::string> shared_product(const Graph& graph, const JoinedProduct& found,
                                        std::size_t part, std::size_t count) {
  const auto shape_of = [&](TensorId id) { return known_sizes(graph.tensor(id).type.shape); };
  const TensorId rows = found.join->inputs[part], weight = found.product->inputs[1];
  const std::size_t axis = is_product(*found.product) ? 0 : 1;
  std::int64_t start = 0;
  for (std::size_t k = 0; k < part; ++k) start += shape_of(found.join->inputs[k])[found.axis];
  SizeNames sizes;
  for (const std::int64_t n : shape_of(rows)) sizes.leave_open(n);
  for (const std::int64_t n : shape_of(weight)) sizes.leave_open(n);
  sizes.fix(shape_of(rows)[found.axis]);
  sizes.fix(shape_of(weight)[axis]);
  return in_both_ways(sizes, [&](const SizeNames& names) {
    const RepetitionText text(graph, names);
    const auto product = [&](const std::string& piece, std::size_t k) {
      return fmt::format(
          "    {0} = slice(w; axes=[{1}], starts=[{2}], sizes=[{3}], steps=[1])\n    y{4} = {5}\n",
          piece, axis, start, shape_of(rows)[found.axis], k,
          text.call(*found.product, {"x", piece}, {}));
    };
    std::string source, aliases;
    for (std::size_t k = 0; k < count; ++k) {
      source += product(fmt::format("s{}", k), k);
      if (k > 0) aliases += fmt::format("    y{} = y0\n", k);
    }
    return fmt::format("rule {}shared_{}\n  x: {}\n  w: {}\n  placed\n  source\n{}  target\n{}{}",
                       kRepetitionPrefix, found.product->op->name,
                       declared(graph.tensor(rows).type, names.texts(shape_of(rows))),
                       declared(graph.tensor(weight).type, names.texts(shape_of(weight))), source,
                       product("t", 0), aliases);
  });
}

}  // namespace soapstone::transforms
