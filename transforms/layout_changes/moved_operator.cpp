// Everything is written as text, so that what a rule is and whether its types fit is decided in one
// place, the parser of rules.
#include "transforms/layout_changes/moved_operator.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/views/atoms.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;
using core::OperandRole;
using core::TensorId;
using ops::OpClass;

constexpr std::size_t kMostLetters = 26;

bool is_elementwise(const Node& node) {
  const auto names_dimensions = [](const core::AttributeSchema& schema) {
    return schema.role == AttributeRole::kAxis || schema.role == AttributeRole::kAxes ||
           schema.role == AttributeRole::kShape || schema.role == AttributeRole::kPermutation;
  };
  return ops::definition_of(node)->op_class == OpClass::kElementwise &&
         std::ranges::none_of(node.op->attributes, names_dimensions);
}
bool is_along_axes(const Node& node) {
  const OpClass kind = ops::definition_of(node)->op_class;
  return (kind == OpClass::kNormalization || kind == OpClass::kReduction) &&
         (node.op->find_role(AttributeRole::kAxis) != nullptr ||
          node.op->find_role(AttributeRole::kAxes) != nullptr);
}

class Mover {
 public:
  Mover(const Graph& graph, const Node& node, std::vector<MovedOperand> operands)
      : graph_(graph), node_(node), operands_(std::move(operands)) {
    for (MovedOperand& operand : operands_)
      if (std::ranges::count(operands_, operand.base, &MovedOperand::base) == 1)
        operand.view = from_factors(operand.view);
  }

  std::optional<MovedOperator> run(const std::optional<View>& wanted) {
    if (is_along_axes(node_)) return along_axes();
    if (is_elementwise(node_)) return index_elements() ? elementwise() : std::nullopt;
    if (is_convolution_of_points(graph_, node_)) return convolution_of_points();
    if (!is_equation(node_) && !is_product(node_)) return std::nullopt;
    if (!is_worth_contracting(wanted) || !index_contraction()) return std::nullopt;
    return contracted(wanted);
  }

  /// The node is a product of elements, of which those are summed.
  std::optional<MovedOperator> run_sum(const Node& sum, const std::optional<View>& wanted) {
    sum_ = &sum;
    if (!index_elements()) return std::nullopt;
    const core::AttributeValue* const keep = sum.attributes.find("keep_dims");
    const bool keeps = keep == nullptr || std::get<core::Polynomial>(*keep) != core::Polynomial(0);
    Letters left;
    const Places axes = axes_of(sum);
    for (std::size_t d = 0; d < indices_.result.size(); ++d) {
      const bool is_summed = std::ranges::find(axes, d) != axes.end();
      if (!is_summed) left.push_back(indices_.result[d]);
      if (is_summed && keeps) left.push_back(std::nullopt);
    }
    indices_.result = std::move(left);
    return contracted(wanted);
  }

 private:
  static Places axes_of(const Node& node) {
    Places axes;
    for (const core::Polynomial& d : ops::sizes_by_role(node, AttributeRole::kAxes))
      axes.push_back(static_cast<std::size_t>(d.constant()));
    return axes;
  }
  /// The last node of those that are moved.
  const Node& last() const { return sum_ != nullptr ? *sum_ : node_; }

  const core::TensorType& type(std::size_t operand) const {
    return graph_.tensor(node_.inputs[operand]).type;
  }
  bool is_constant(std::size_t operand) const {
    return graph_.is_constant_expression(node_.inputs[operand]);
  }

  // --- The source ---

  std::string base_name(std::size_t operand) const {
    return fmt::format("x{}", operands_[operand].base);
  }

  /// Declares the bases, writes the source; the operands of the target are the bases.
  std::string head() {
    std::string head;
    Names given;
    std::map<std::size_t, bool> declared_bases;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (declared_bases.emplace(operands_[k].base, true).second)
        head += fmt::format("  {}: {}\n", base_name(k),
                            declared(type(k), operands_[k].view.base_shape_text()));
      given.push_back(source_.viewed(base_name(k), operands_[k].view));
    }
    source_result_ = source_.line(call_of(graph_, node_, given));
    if (sum_ != nullptr) source_result_ = source_.line(call_of(graph_, *sum_, {source_result_}));
    return head;
  }

  MovedOperator finished(const std::string& head, const std::string& base, View result,
                         bool reassociates) {
    const std::string y = target_.viewed(base, result);
    return {rule_text(fmt::format("moves_of_{}", last().op->name), head, source_, {source_result_},
                      target_, {y}),
            std::move(result), reassociates};
  }

  // --- Along axes ---

  std::optional<MovedOperator> along_axes() {
    for (std::size_t k = 1; k < operands_.size(); ++k)
      if (node_.op->operand_role(k) != OperandRole::kFeatures || !operands_[k].view.is_identity())
        return std::nullopt;
    if (!operands_[0].view.is_permuted()) return std::nullopt;
    const core::AttributeSchema* const one = node_.op->find_role(AttributeRole::kAxis);
    Places axes;
    if (one != nullptr) {
      axes = {ops::axis_by_role(node_)};
    } else {
      axes = axes_of(node_);
    }
    const View coarse = operands_[0].view.coarsened();
    const std::string text_head = head();
    Sizes divided;
    for (const View::Factor& factor : coarse.factors()) divided.push_back(factor.size);
    Places places;
    for (const std::size_t axis : axes) {
      const auto& factors = coarse.dims()[axis];
      if (one != nullptr && factors.size() != 1) return std::nullopt;
      places.insert(places.end(), factors.begin(), factors.end());
    }
    std::ranges::sort(places);
    const bool has_features = operands_.size() > 1;
    if (places.empty() || (has_features && places[0] + 1 != divided.size())) return std::nullopt;
    return one != nullptr ? normalized(text_head, coarse, divided, places[0])
                          : reduced(text_head, coarse, divided, axes, places);
  }

  std::optional<MovedOperator> normalized(const std::string& text_head, const View& coarse,
                                          const Sizes& divided, std::size_t place) {
    Names given{target_.reshaped(base_name(0), coarse.base_shape_text(), names_of(divided))};
    for (std::size_t k = 1; k < operands_.size(); ++k) given.push_back(base_name(k));
    const std::string base =
        target_.line(call_with(given, AttributeRole::kAxis, std::to_string(place)));
    return finished(text_head, base, View(divided, coarse.factors(), coarse.dims()), false);
  }

  std::optional<MovedOperator> reduced(const std::string& text_head, const View& coarse,
                                       const Sizes& divided, const Places& axes,
                                       const Places& places) {
    const core::AttributeValue* const keep = node_.attributes.find("keep_dims");
    if (keep == nullptr || places.size() == divided.size()) return std::nullopt;
    const bool keeps = std::get<core::Polynomial>(*keep) != core::Polynomial(0);
    std::vector<View::Factor> left;
    Sizes base_shape;
    std::vector<std::size_t> number(divided.size());
    for (std::size_t f = 0; f < divided.size(); ++f) {
      number[f] = left.size();
      if (std::ranges::find(places, f) != places.end()) continue;
      left.push_back({divided[f]});
      base_shape.push_back(divided[f]);
    }
    std::vector<View::Factors> dims;
    for (std::size_t d = 0; d < coarse.dims().size(); ++d) {
      const bool is_axis = std::ranges::find(axes, d) != axes.end();
      if (is_axis && !keeps) continue;
      dims.emplace_back();
      if (is_axis) continue;
      for (const std::size_t f : coarse.dims()[d]) dims.back().push_back(number[f]);
    }
    const Names given{target_.reshaped(base_name(0), coarse.base_shape_text(), names_of(divided))};
    const std::string base = target_.line(call_with(
        given, AttributeRole::kAxes, fmt::format("[{}]", fmt::join(places, ", ")), "keep_dims"));
    return finished(text_head, base, View(base_shape, std::move(left), std::move(dims)), true);
  }

  /// The call with another value of that role; `cleared` is 0.
  std::string call_with(const Names& given, AttributeRole role, const std::string& value,
                        std::string_view cleared = {}) const {
    Names attributes;
    for (const core::AttributeSchema& schema : node_.op->attributes) {
      const core::AttributeValue* const old = node_.attributes.find(schema.name);
      if (old == nullptr) continue;
      std::string text = core::to_string(*old, graph_.symbols());
      if (schema.role == role) text = value;
      if (schema.name == cleared) text = "0";
      attributes.push_back(fmt::format("{}={}", schema.name, text));
    }
    return fmt::format("{}({}; {})", node_.op->name, fmt::join(given, ", "),
                       fmt::join(attributes, ", "));
  }

  // --- Indices of several operands ---

  bool index_elements() {
    const std::size_t rank = known_sizes(graph_.tensor(node_.outputs[0]).type.shape).size();
    const Sizes shape = known_sizes(graph_.tensor(node_.outputs[0]).type.shape);
    indices_.count = rank;
    for (std::size_t d = 0; d < rank; ++d)
      indices_.result.push_back(shape[d] == 1 ? std::nullopt : std::optional(d));
    for (const MovedOperand& operand : operands_) {
      const Sizes its = operand.view.shape();
      indices_.operands.emplace_back();
      for (std::size_t d = 0; d < its.size(); ++d)
        indices_.operands.back().push_back(its[d] == 1 ? std::nullopt
                                                       : std::optional(d + rank - its.size()));
    }
    return true;
  }

  bool index_contraction() {
    const auto equation = contraction_labels(graph_, node_);
    if (equation.size() != operands_.size() + 1) return false;
    std::map<char, std::size_t> number;
    const auto letters = [&](const std::string& labels, const Sizes& sizes) {
      Letters its;
      for (std::size_t d = 0; d < labels.size(); ++d) {
        const std::size_t n = number.emplace(labels[d], number.size()).first->second;
        its.push_back(sizes[d] == 1 ? std::nullopt : std::optional(n));
      }
      return its;
    };
    for (std::size_t k = 0; k < operands_.size(); ++k)
      indices_.operands.push_back(letters(equation[k], operands_[k].view.shape()));
    indices_.result =
        letters(equation.back(), known_sizes(graph_.tensor(node_.outputs[0]).type.shape));
    indices_.count = number.size();
    for (const Letters& its : indices_.operands)  // no diagonals
      for (std::size_t d = 0; d < its.size(); ++d)
        if (its[d] && std::ranges::count(its, its[d]) > 1) return false;
    return true;
  }

  // --- Elementwise ---

  std::optional<MovedOperator> elementwise() {
    const auto is_moved = [](const MovedOperand& operand) { return operand.view.is_permuted(); };
    if (std::ranges::none_of(operands_, is_moved)) return std::nullopt;
    const std::string text_head = head();
    std::optional<View> none;
    if (!atoms_.divide(none)) return std::nullopt;
    const Places all = atoms_.of(indices_.result);
    std::optional<Places> order;
    Sizes lying;  // of the operand that has that order
    for (std::size_t k = 0; k < operands_.size() && !order; ++k) {
      if (is_constant(k) || atoms_.base_order(k).size() != all.size()) continue;
      order = atoms_.base_order(k);
      lying = operands_[k].view.base_shape();
    }
    if (!order) return std::nullopt;
    std::vector<Places> orders{*order};
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      Places its = *order;
      const Places own = atoms_.base_order(k);
      std::erase_if(its, [&](std::size_t a) { return std::ranges::find(own, a) == own.end(); });
      if (its != own && !is_constant(k)) return std::nullopt;
      orders.push_back(std::move(its));
    }
    const Places group = atoms_.groups(orders), dims = Atoms::grouped(*order, group);
    const Sizes sizes = atoms_.sizes_of(dims, group);
    Sizes larger = lying;
    std::erase(larger, 1);
    // Dimensions of one place stay where they are if nothing else changes.
    if (larger != sizes) lying = sizes;
    Names given;
    for (std::size_t k = 0; k < operands_.size(); ++k)
      given.push_back(aligned(k, orders[k + 1], dims, lying));
    const std::string base = target_.line(call_of(graph_, node_, given));
    const View result = atoms_.result_view(dims, group);
    return finished(text_head, base, View(lying, result.factors(), result.dims()), false);
  }

  /// The base of an operand with its atoms in that order, where the result has those dimensions,
  /// and others of size 1: that shape.
  std::string aligned(std::size_t k, const Places& order, const Places& dims, const Sizes& lying) {
    const Places own = atoms_.base_order(k);
    std::string now = base_name(k);
    Sizes shape = operands_[k].view.base_shape();
    if (order.empty()) return target_.reshaped(now, names_of(shape), {});
    if (own != order) {
      Sizes divided, turned;
      Places perm;
      for (const std::size_t a : own) divided.push_back(atoms_.size(a));
      for (const std::size_t a : order) {
        perm.push_back(static_cast<std::size_t>(std::ranges::find(own, a) - own.begin()));
        turned.push_back(atoms_.size(a));
      }
      now = target_.transposed(target_.reshaped(now, names_of(shape), names_of(divided)), perm);
      shape = turned;
    }
    Sizes to = lying;
    std::size_t next = 0;
    for (std::int64_t& size : to)
      if (size != 1 && std::ranges::find(order, dims[next++]) == order.end()) size = 1;
    return target_.reshaped(now, names_of(shape), names_of(to));
  }

  // --- Convolutions of points ---

  /// The channels, where they lie last, are multiplied by a matrix; all else stays where it lies.
  std::optional<MovedOperator> convolution_of_points() {
    const Sizes image = operands_[0].view.shape();
    const Sizes kernel = operands_[1].view.shape();
    if (!operands_[0].view.is_permuted() || !is_constant(1) || kernel[0] == 1 || kernel[1] == 1)
      return std::nullopt;
    // Letters of the image's dimensions, and then that of the result's channels.
    indices_.count = image.size() + 1;
    indices_.operands.emplace_back();
    for (std::size_t d = 0; d < image.size(); ++d)
      indices_.operands[0].push_back(image[d] == 1 ? std::nullopt : std::optional(d));
    indices_.operands.push_back(Letters(kernel.size()));
    indices_.operands[1][0] = image.size();
    indices_.operands[1][1] = 1;
    indices_.result = indices_.operands[0];
    indices_.result[1] = image.size();
    if (operands_.size() > 2) indices_.operands.push_back({image.size()});
    const std::string text_head = head();
    std::optional<View> none;
    if (!atoms_.divide(none)) return std::nullopt;
    const Places order = atoms_.base_order(0), channels = atoms_.of({std::size_t{1}});
    if (order.size() <= channels.size() ||
        !std::equal(channels.rbegin(), channels.rend(), order.rbegin()))
      return std::nullopt;
    const Places rest(order.begin(), order.end() - std::ssize(channels));
    Places result = rest;
    for (const std::size_t atom : atoms_.of({image.size()})) result.push_back(atom);
    const Places group = atoms_.groups({order, result}), dims = Atoms::grouped(order, group);
    const Places result_dims = Atoms::grouped(result, group);
    if (Atoms::grouped(channels, group).size() != 1) return std::nullopt;
    const std::string x = target_.reshaped(base_name(0), operands_[0].view.base_shape_text(),
                                           names_of(atoms_.sizes_of(dims, group)));
    const std::string w = target_.transposed(
        target_.reshaped(base_name(1), names_of(kernel), names_of(Sizes{kernel[0], kernel[1]})),
        {1, 0});
    std::string y = target_.line(fmt::format("matmul({}, {})", x, w));
    if (operands_.size() > 2) y = target_.line(fmt::format("add({}, {})", y, base_name(2)));
    return finished(text_head, y, atoms_.result_view(result_dims, group), true);
  }

  // --- Contractions ---

  /// Products with weights stay what libraries have kernels for.
  bool is_worth_contracting(const std::optional<View>& wanted) const {
    const auto is_moved = [](const MovedOperand& operand) { return operand.view.is_permuted(); };
    const auto is_viewed = [](const MovedOperand& operand) { return !operand.view.is_identity(); };
    for (std::size_t k = 0; k < operands_.size(); ++k)
      if (is_product(node_) && is_constant(k) && operands_[k].view.shape().size() == 2)
        return false;
    return std::ranges::any_of(operands_, is_moved) ||
           (std::ranges::any_of(operands_, is_viewed) && wanted && wanted->is_permuted()) ||
           (wanted && wanted->is_permuted());
  }

  std::optional<MovedOperator> contracted(std::optional<View> wanted) {
    const std::string text_head = head();
    if (!atoms_.divide(wanted)) return std::nullopt;
    const Places natural = atoms_.of(indices_.result);
    Places result = natural;
    if (wanted) {
      result.clear();
      for (const std::size_t f : wanted->order()) result.push_back(natural[f]);
    }
    std::vector<Places> orders{result};
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      orders.push_back(atoms_.base_order(k));
      if (orders.back().empty()) return std::nullopt;
    }
    if (result.empty()) return std::nullopt;
    const Places group = atoms_.groups(orders);
    const Places order = Atoms::grouped(result, group);
    const View seen = atoms_.result_view(order, group);
    const bool added = ones_between(seen);
    std::map<std::size_t, char> label;
    const auto labels_of = [&](const Places& atoms) {
      std::string labels;
      for (const std::size_t a : atoms)
        labels += label.emplace(a, static_cast<char>('a' + label.size())).first->second;
      return labels;
    };
    // Sizes of 1 that only the result has are indices of the first operand, so that it has its
    // shape.
    Places of_result;
    Sizes ones;
    for (std::size_t d = 0, next = 0; d < seen.dims().size() && added; ++d) {
      const bool is_one = seen.dims()[d].empty();
      of_result.push_back(is_one ? atoms_.count() + d : order[next++]);
      if (is_one) ones.push_back(1);
    }
    if (!added) of_result = order;
    Names given, equation;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      Places its = Atoms::grouped(orders[k + 1], group);
      Sizes sizes = atoms_.sizes_of(its, group);
      if (k == 0) {
        std::ranges::copy_if(of_result, std::inserter(its, its.begin()),
                             [&](std::size_t a) { return a >= atoms_.count(); });
        sizes.insert(sizes.begin(), ones.begin(), ones.end());
      }
      equation.push_back(labels_of(its));
      given.push_back(
          target_.reshaped(base_name(k), operands_[k].view.base_shape_text(), names_of(sizes)));
    }
    const std::string result_labels = labels_of(of_result);
    if (label.size() > kMostLetters) return std::nullopt;
    const std::string base =
        target_.line(fmt::format("einsum({}; equation=\"{}->{}\")", fmt::join(given, ", "),
                                 fmt::join(equation, ","), result_labels));
    return finished(text_head, base,
                    added ? View(known_sizes(graph_.tensor(last().outputs[0]).type.shape)) : seen,
                    true);
  }

  /// Whether the view differs from its base by sizes of 1 alone.
  static bool ones_between(const View& view) {
    return !view.is_permuted() &&
           std::ranges::all_of(view.dims(), [](const auto& dim) { return dim.size() <= 1; });
  }

  const Graph& graph_;
  const Node& node_;
  const Node* sum_ = nullptr;  ///< Of what the node computes.
  std::vector<MovedOperand> operands_;
  Indices indices_;
  Atoms atoms_{indices_, operands_};
  SideText source_, target_;
  std::string source_result_;
};

}  // namespace

std::optional<MovedOperator> moved_operator(const Graph& graph, const Node& node,
                                            std::vector<MovedOperand> operands,
                                            const std::optional<View>& wanted) {
  return Mover(graph, node, std::move(operands)).run(wanted);
}

std::optional<MovedOperator> moved_sum(const Graph& graph, const Node& product, const Node& sum,
                                       std::vector<MovedOperand> factors,
                                       const std::optional<View>& wanted) {
  return Mover(graph, product, std::move(factors)).run_sum(sum, wanted);
}

bool keeps_places(const Node& node) { return is_elementwise(node) || is_along_axes(node); }

}  // namespace soapstone::transforms
