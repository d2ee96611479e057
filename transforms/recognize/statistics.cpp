#include "transforms/recognize/statistics.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ops/definition/registry.h"
#include "transforms/recognize/region_text.h"

namespace soapstone::transforms {

using core::Polynomial;
using core::TensorId;
using Kind = Factor::Kind;
using ops::ExprKind;
using ops::ExprNode;
namespace {

constexpr std::size_t kMostTerms = 32;
/// How far numbers may be from each other: constants are rounded to fp32.
constexpr double kNearlyZero = 1e-5;

const Product kOne;

constexpr unsigned kCountShift = 16;
/// A dimension on which several axes lie that follow each other.
std::size_t merged(std::size_t first, std::size_t count) {
  return count == 1 ? first : (count << kCountShift) + first;
}
/// The axes that lie there.
std::vector<std::size_t> axes_at(std::size_t dimension) {
  if (dimension == kNoAxis) return {};
  const std::size_t count = std::max<std::size_t>(dimension >> kCountShift, 1);
  std::vector<std::size_t> axes;
  for (std::size_t k = 0; k < count; ++k)
    axes.push_back((dimension & ((std::size_t{1} << kCountShift) - 1)) + k);
  return axes;
}

Product power(Kind kind, int exponent) { return {{Factor{kind}, exponent}}; }

FactorSum plus(const FactorSum& a, const FactorSum& b) {
  FactorSum sum = a;
  for (const auto& [product, number] : b) {
    double& its = sum[product];
    const double before = its;
    its += number;
    if (std::abs(its) <= kNearlyZero * std::abs(before)) sum.erase(product);
  }
  return sum;
}

std::optional<FactorSum> times(const FactorSum& a, const FactorSum& b) {
  if (a.size() * b.size() > kMostTerms) return std::nullopt;
  FactorSum sum;
  for (const auto& [p, m] : a) {
    for (const auto& [q, n] : b) {
      Product product = p;
      for (const auto& [factor, exponent] : q)
        if ((product[factor] += exponent) == 0) product.erase(factor);
      sum = plus(sum, {{product, m * n}});
    }
  }
  return sum;
}

std::optional<double> as_number(const FactorSum& sum) {
  if (sum.empty()) return 0.0;
  return sum.size() == 1 && sum.begin()->first.empty() ? std::optional(sum.begin()->second)
                                                       : std::nullopt;
}

bool is_near(double a, double b) { return std::abs(a - b) <= kNearlyZero * std::abs(b); }

/// The root of a variance, or of a mean of squares, with what is added to it.
std::optional<Factor> root_of(FactorSum sum) {
  Factor root{Kind::kRoot};
  const auto take = [&](const Product& product) {
    const auto node = sum.extract(product);
    return node.empty() ? 0.0 : node.mapped();
  };
  const double squares = take(power(Kind::kMeanSquare, 1)), mean = take(power(Kind::kMean, 2));
  root.epsilon = take(kOne);
  root.is_centred = mean != 0;
  const bool fits =
      sum.empty() && is_near(squares, 1) && (mean == 0 || is_near(mean, -1)) && root.epsilon >= 0;
  return fits ? std::optional(root) : std::nullopt;
}

/// A product of numbers and roots alone, with powers times that half.
std::optional<FactorSum> with_halves(const FactorSum& sum, int halves) {
  if (sum.size() != 1) return std::nullopt;
  const auto& [product, number] = *sum.begin();
  if (number <= 0 && halves % 2 != 0) return std::nullopt;
  Product powers;
  for (const auto& [factor, exponent] : product) {
    if (factor.kind != Kind::kRoot || exponent * halves % 2 != 0) return std::nullopt;
    powers.emplace(factor, exponent * halves / 2);
  }
  return FactorSum{{powers, std::pow(number, halves / 2.0)}};
}

/// To the power of that many halves.
std::optional<FactorSum> to_power(const FactorSum& sum, int halves) {
  if (auto known = with_halves(sum, halves)) return known;
  if (halves == 4) return times(sum, sum);
  const auto root = root_of(sum);
  return root ? std::optional(FactorSum{{Product{{*root, halves}}, 1.0}}) : std::nullopt;
}

}  // namespace

/// Reads the comprehension of one node.
class Statistics::Reader {
 public:
  Reader(const Statistics& all, const core::Node& node) : all_(all), node_(node) {}

  std::optional<Value> value(const ops::Stage& stage) {
    if (!bind(*stage.body)) return std::nullopt;
    Value found;
    const core::Dims& view = all_.view_;
    for (std::size_t d = 0; d < stage.index.size(); ++d) {
      // Constants alone have an axis here: it is that of a tensor that lies as the view does.
      if (stage.shape.size() == view.size() && stage.shape[d] == Polynomial(view[d]) &&
          view[d] != 1)
        axis_of_.emplace(stage.index[d], d);
      found.axes.push_back(axis_of(stage.index[d]));
      if (found.axes.back() == kNoAxis && stage.shape[d] != Polynomial(1)) return std::nullopt;
    }
    std::set<std::size_t> different(found.axes.begin(), found.axes.end());
    const auto ones = static_cast<std::size_t>(std::ranges::count(found.axes, kNoAxis));
    if (different.size() != found.axes.size() - ones + (ones > 0 ? 1U : 0U)) return std::nullopt;
    auto sum = sum_of(*stage.body);
    if (!sum) return std::nullopt;
    found.sum = *std::move(sum);
    return found;
  }
  /// The root of what the node cuts off.
  const std::optional<Factor>& clamp() const { return clamp_; }

 private:
  std::size_t axis_of(ops::Symbol symbol) const {
    const auto known = axis_of_.find(symbol);
    return known != axis_of_.end() ? known->second : kNoAxis;
  }

  static std::optional<ops::Symbol> variable(const Polynomial& index) {
    const auto symbols = index.symbols();
    return symbols.size() == 1 && index == Polynomial(symbols[0]) ? std::optional(symbols[0])
                                                                  : std::nullopt;
  }

  TensorId operand(const ExprNode& e) const { return node_.inputs[e.tensor]; }

  /// Says on which axis each variable runs. False: on several, or what is read is not one of its
  /// places.
  bool bind(const ExprNode& e) {
    if (e.kind == ExprKind::kRead) {
      const auto known = all_.values_.find(operand(e));
      if (known == all_.values_.end()) return true;
      for (std::size_t d = 0; d < e.index.size(); ++d) {
        const std::size_t axis = known->second.axes[d];
        const auto symbol = variable(e.index[d]);
        if (axis == kNoAxis) continue;
        if (!symbol || axis_of_.emplace(*symbol, axis).first->second != axis) return false;
      }
    }
    return e.kind != ExprKind::kReadFlat && e.constraints.empty() &&
           std::ranges::all_of(e.alternatives,
                               [&](const ops::Alternative& one) {
                                 return one.binders.empty() && one.constraints.empty() &&
                                        bind(*one.body);
                               }) &&
           std::ranges::all_of(e.arguments,
                               [&](const ops::Expr& argument) { return bind(*argument); });
  }

  std::optional<FactorSum> sum_of(const ExprNode& e) {
    switch (e.kind) {
    case ExprKind::kNumber:
      if (e.number.denominator == 0) return std::nullopt;
      return FactorSum{{kOne, static_cast<double>(e.number.numerator) /
                                  static_cast<double>(e.number.denominator)}};
    case ExprKind::kIndexValue:
      if (!e.index[0].is_constant()) return std::nullopt;
      return FactorSum{{kOne, static_cast<double>(e.index[0].constant())}};
    case ExprKind::kRead:
      return read(e);
    case ExprKind::kSum:
      return reduced(e);
    case ExprKind::kAdd:
    case ExprKind::kMul: {
      std::optional<FactorSum> result;
      for (const ops::Expr& argument : e.arguments) {
        const auto next = sum_of(*argument);
        if (!next) return std::nullopt;
        if (!result)
          result = next;
        else
          result = e.kind == ExprKind::kAdd ? plus(*result, *next) : times(*result, *next);
        if (!result || result->size() > kMostTerms) return std::nullopt;
      }
      return result;
    }
    case ExprKind::kMax:
      return largest(e);
    case ExprKind::kInverse:
    case ExprKind::kApply:
      return powered(e);
    default:
      return std::nullopt;
    }
  }

  /// Of zero and what is never less.
  std::optional<FactorSum> largest(const ExprNode& e) {
    if (e.alternatives.size() != 2) return std::nullopt;
    const auto a = sum_of(*e.alternatives[0].body), b = sum_of(*e.alternatives[1].body);
    if (!a || !b || as_number(*a) == as_number(*b)) return std::nullopt;
    if (as_number(*a) == 0.0) return clamped(*b);
    return as_number(*b) == 0.0 ? clamped(*a) : std::nullopt;
  }
  std::optional<FactorSum> clamped(const FactorSum& sum) {
    const auto root = root_of(sum);
    if (!root || root->epsilon != 0) return std::nullopt;
    clamp_ = *root;
    return sum;
  }

  std::optional<FactorSum> powered(const ExprNode& e) {
    const auto base = sum_of(*e.arguments[0]);
    if (!base) return std::nullopt;
    if (e.kind == ExprKind::kInverse) return to_power(*base, -2);
    if (e.function == ops::Function::kSqrt) return to_power(*base, 1);
    if (e.function == ops::Function::kRelu) return clamped(*base);
    if (e.function != ops::Function::kPow) return std::nullopt;
    const auto exponent = sum_of(*e.arguments[1]);
    const auto number = exponent ? as_number(*exponent) : std::nullopt;
    const double halves = number ? 2 * *number : 0;
    if (halves != std::round(halves) || std::abs(halves) > 4) return std::nullopt;
    return to_power(*base, static_cast<int>(halves));
  }

  std::optional<FactorSum> read(const ExprNode& e) const {
    const TensorId id = operand(e);
    if (const auto known = all_.values_.find(id); known != all_.values_.end())
      return known->second.sum;
    if (const auto number = number_of(all_.graph_, id)) return FactorSum{{kOne, *number}};
    Factor constant{Kind::kConstant};
    constant.constant = id;
    const core::Shape& shape = all_.graph_.tensor(id).type.shape;
    for (std::size_t d = 0; d < e.index.size(); ++d) {
      if (shape[d] == Polynomial(1)) continue;
      const auto symbol = variable(e.index[d]);
      const auto axes = axes_at(symbol ? axis_of(*symbol) : kNoAxis);
      if (axes.empty()) return std::nullopt;
      constant.axes.insert(constant.axes.end(), axes.begin(), axes.end());
    }
    return FactorSum{{Product{{constant, 1}}, 1.0}};
  }

  /// A sum over all of the axes.
  std::optional<FactorSum> reduced(const ExprNode& e) {
    std::set<std::size_t> over;
    double count = 1;
    for (const ops::Binder& binder : e.binders) {
      const std::size_t axis = axis_of(binder.variable);
      if (axis >= all_.view_.size() || binder.low != Polynomial(0) ||
          binder.high != Polynomial(all_.view_[axis]))
        return std::nullopt;
      over.insert(axis);
      count *= static_cast<double>(binder.high.constant());
    }
    if (!std::ranges::equal(over, all_.axes_) || over.size() != e.binders.size())
      return std::nullopt;
    const auto body = sum_of(*e.arguments[0]);
    if (!body) return std::nullopt;
    FactorSum result;
    for (const auto& [product, number] : *body) {
      Product outside = product;
      const auto element = outside.extract(Factor{Kind::kElement});
      for (const auto& [factor, exponent] : outside)
        if (std::ranges::any_of(factor.axes, [&](std::size_t axis) { return over.contains(axis); }))
          return std::nullopt;
      const int exponent = element.empty() ? 0 : element.mapped();
      if (exponent < 0 || exponent > 2) return std::nullopt;
      if (exponent > 0) ++outside[Factor{exponent == 1 ? Kind::kMean : Kind::kMeanSquare}];
      result = plus(result, {{outside, number * count}});
    }
    return result;
  }

  const Statistics& all_;
  const core::Node& node_;
  std::map<ops::Symbol, std::size_t> axis_of_;
  std::optional<Factor> clamp_;
};

Statistics::Statistics(const core::Graph& graph, TensorId x, core::Dims view,
                       std::vector<std::size_t> axes)
    : graph_(graph), x_(x), view_(std::move(view)), axes_(std::move(axes)) {
  std::vector<std::size_t> all;
  for (std::size_t d = 0; d < view_.size(); ++d)
    if (view_[d] != 1) all.push_back(d);
  const auto own = reshaped_axes(all, graph.tensor(x).type.shape);
  if (own) values_.emplace(x, Value{{{power(Kind::kElement, 1), 1.0}}, *own});
}

/// Where axes lie behind a reshape that merges some, takes them apart again, or adds or drops
/// dimensions of size 1.
std::optional<std::vector<std::size_t>>
Statistics::reshaped_axes(const std::vector<std::size_t>& axes, const core::Shape& shape) const {
  std::vector<std::size_t> from, to;
  for (const std::size_t dimension : axes)
    for (const std::size_t axis : axes_at(dimension)) from.push_back(axis);
  std::size_t next = 0;
  for (const core::Size& size : shape) {
    to.push_back(kNoAxis);
    if (size == Polynomial(1)) continue;
    const std::size_t first = next;
    std::int64_t elements = 1;
    while (next < from.size() && Polynomial(elements) != size) {
      if (from[next] != from[first] + (next - first)) return std::nullopt;
      elements *= view_[from[next++]];
    }
    if (Polynomial(elements) != size) return std::nullopt;
    to.back() = merged(from[first], next - first);
  }
  return next == from.size() ? std::optional(to) : std::nullopt;
}

bool Statistics::add(const core::Node& node) {
  if (node.op->is_opaque() || node.outputs.size() != 1) return false;
  bool reads = false;
  for (const TensorId input : node.inputs) {
    const bool is_known = input.valid() && values_.contains(input);
    if (!is_known && (!input.valid() || !graph_.is_constant_expression(input))) return false;
    reads = reads || is_known;
  }
  if (!reads || !core::concrete(graph_.tensor(node.outputs[0]).type.shape)) return false;
  if (node.op->movement == core::Movement::kReshape) {
    auto axes =
        reshaped_axes(values_.at(node.inputs[0]).axes, graph_.tensor(node.outputs[0]).type.shape);
    if (axes) values_[node.outputs[0]] = {values_.at(node.inputs[0]).sum, *std::move(axes)};
    return axes.has_value();
  }
  const ops::Semantics semantics =
      ops::semantics_of(graph_, graph_.tensor(node.outputs[0]).producer);
  if (semantics.stages.size() != 1 || !semantics.requirements.empty()) return false;
  Reader reader(*this, node);
  auto value = reader.value(semantics.stages[0]);
  if (!value) return false;
  if (reader.clamp()) {
    const auto before =
        std::ranges::find_if(node.inputs, [&](TensorId input) { return values_.contains(input); });
    clamps_.push_back({*before, node.outputs[0], reader.clamp()->is_centred});
  }
  values_[node.outputs[0]] = *std::move(value);
  return true;
}

std::optional<Norm> Statistics::norm_at(TensorId id) const {
  const Value& value = values_.at(id);
  if (value.axes != values_.at(x_).axes || graph_.tensor(id).type != graph_.tensor(x_).type)
    return std::nullopt;
  Norm norm{.result = id};
  std::optional<Factor> root;
  FactorSum means;
  for (const auto& [product, number] : value.sum) {
    Product rest = product;
    const auto take = [&](const Factor& factor) {
      const auto node = rest.extract(factor);
      return node.empty() ? 0 : node.mapped();
    };
    const int elements = take(Factor{Kind::kElement}), mean = take(Factor{Kind::kMean});
    const auto its =
        std::ranges::find(rest, Kind::kRoot, [](const auto& entry) { return entry.first.kind; });
    const int inverse = its == rest.end() ? 0 : -its->second;
    if (its != rest.end()) {
      if (root && *root != its->first) return std::nullopt;
      root = its->first;
      rest.erase(its);
    }
    if (!std::ranges::all_of(rest, [](const auto& entry) {
          return entry.first.kind == Kind::kConstant && entry.second > 0;
        }))
      return std::nullopt;
    if (elements + mean != inverse || inverse < 0 || inverse > 1 || elements < 0 || mean < 0)
      return std::nullopt;
    (inverse == 0 ? norm.offset : elements == 1 ? norm.scale : means)[rest] = number;
  }
  if (!root || norm.scale.empty()) return std::nullopt;
  norm.is_centred = root->is_centred;
  norm.epsilon = root->epsilon;
  FactorSum rest = norm.is_centred ? plus(norm.scale, means) : means;
  return rest.empty() ? std::optional(norm) : std::nullopt;
}

}  // namespace soapstone::transforms
