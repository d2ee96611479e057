// See typed_run.h. A number on the way is an integer as long as all that it is made of are.
#include "rules/floats/typed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/check.h"
#include "core/base/float16.h"
#include "ops/definition/registry.h"

namespace soapstone::rules {
namespace {

using core::DataType;
using ops::ExprKind;
using ops::Function;
__extension__ typedef unsigned __int128 Unsigned;

struct Number {
  bool is_integer = true;
  ExactInteger integer = 0;
  double real = 0;
  double as_real() const { return is_integer ? static_cast<double>(integer) : real; }
};

Number whole(ExactInteger value) { return {true, value, 0}; }
Number fraction(double value) { return {false, 0, value}; }

/// Ends an evaluation without a value.
struct Stopped {
  core::Error error;
};

Number sum_of(const Number& a, const Number& b) {
  if (!a.is_integer || !b.is_integer) return fraction(a.as_real() + b.as_real());
  return whole(static_cast<ExactInteger>(static_cast<Unsigned>(a.integer) +
                                         static_cast<Unsigned>(b.integer)));
}

Number product_of(const Number& a, const Number& b) {
  if (!a.is_integer || !b.is_integer) return fraction(a.as_real() * b.as_real());
  return whole(static_cast<ExactInteger>(static_cast<Unsigned>(a.integer) *
                                         static_cast<Unsigned>(b.integer)));
}

bool is_less(const Number& a, const Number& b) {
  return a.is_integer && b.is_integer ? a.integer < b.integer : a.as_real() < b.as_real();
}
bool is_equal(const Number& a, const Number& b) {
  return a.is_integer && b.is_integer ? a.integer == b.integer : a.as_real() == b.as_real();
}

/// The function's value on integers; none: they have no such function.
std::optional<Number> applied_to_integers(Function function, const std::vector<Number>& x) {
  const ExactInteger first = x[0].integer;
  switch (function) {
  case Function::kRelu:
    return whole(std::max<ExactInteger>(first, 0));
  case Function::kAbs:
    return whole(first < 0 ? -first : first);
  case Function::kFloor:
  case Function::kCeil:
  case Function::kRound:
  case Function::kTruncate:
    return x[0];
  case Function::kIsZero:
    return whole(first == 0 ? 1 : 0);
  default:
    return std::nullopt;
  }
}

Number applied(Function function, const std::vector<Number>& x) {
  if (function == Function::kSelect) return is_equal(x[0], whole(0)) ? x[2] : x[1];
  if (function == Function::kLess) return whole(is_less(x[0], x[1]) ? 1 : 0);
  const bool ordered = !std::isnan(x[0].as_real()) && !std::isnan(x.back().as_real());
  if (function == Function::kLessOrEqual) return whole(ordered && !is_less(x[1], x[0]) ? 1 : 0);
  if (function == Function::kEqual) return whole(is_equal(x[0], x[1]) ? 1 : 0);
  if (std::ranges::all_of(x, &Number::is_integer)) {
    if (const auto value = applied_to_integers(function, x)) return *value;
  }
  std::vector<double> reals;
  for (const Number& each : x) reals.push_back(each.as_real());
  return fraction(ops::evaluate(function, reals));
}

/// Positions of all elements of a shape, in row-major order.
template <class Visit>
void for_each_index(const core::Dims& dims, Visit visit) {
  std::vector<std::int64_t> index(dims.size());
  const auto count = core::element_count(dims);
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t rest = k;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) index[d] = rest % dims[d];
    visit(index);
  }
}

/// One operator: its stages on the values of its inputs.
class NodeRun {
 public:
  NodeRun(const ops::Semantics& meaning, std::vector<const TypedValues*> inputs,
          std::vector<core::Dims> dims, std::int64_t& steps)
      : meaning_(meaning), tensors_(std::move(inputs)), dims_(std::move(dims)), steps_(steps) {}

  /// The elements of each output.
  std::vector<std::vector<Number>> run() {
    for (const ops::Stage& stage : meaning_.stages) {
      dims_.push_back(*core::concrete(stage.shape));
      std::vector<Number> values;
      for_each_index(dims_.back(), [&](const std::vector<std::int64_t>& index) {
        values.push_back(at(stage.index, index, stage.body));
      });
      stages_.push_back(std::move(values));
    }
    for (const ops::Requirement& requirement : meaning_.requirements) check(requirement);
    std::vector<std::vector<Number>> outputs;
    for (std::uint32_t tensor : meaning_.outputs) {
      CHECK(tensor >= meaning_.input_count, "an output is a stage");
      outputs.push_back(stages_[tensor - meaning_.input_count]);
    }
    return outputs;
  }

 private:
  using Names = std::vector<std::pair<core::Symbol, std::int64_t>>;

  Number at(const std::vector<core::Symbol>& symbols, const std::vector<std::int64_t>& index,
            const ops::Expr& body) {
    names_.clear();
    for (std::size_t k = 0; k < symbols.size(); ++k) names_.emplace_back(symbols[k], index[k]);
    return value(*body);
  }

  void check(const ops::Requirement& requirement) {
    for_each_index(*core::concrete(requirement.shape), [&](const std::vector<std::int64_t>& index) {
      const Number value = at(requirement.index, index, requirement.value);
      if (is_less(value, whole(integer(requirement.low))) ||
          !is_less(value, whole(integer(requirement.high))))
        throw Stopped{core::invalid_input(fmt::format("{} is out of range", requirement.what))};
    });
  }

  std::int64_t integer(const core::Polynomial& p) const {
    const auto number = p.checked_evaluate([&](core::Symbol symbol) {
      const auto found = std::find_if(names_.rbegin(), names_.rend(),
                                      [&](const auto& entry) { return entry.first == symbol; });
      CHECK(found != names_.rend(), "a symbol without a value");
      return found->second;
    });
    if (!number) throw Stopped{core::unsupported("an index that is too large")};
    return *number;
  }

  bool holds(const std::vector<ops::Constraint>& constraints) const {
    return std::ranges::all_of(constraints, [&](const ops::Constraint& each) {
      const std::int64_t value = integer(each.expression);
      return each.kind == ops::Constraint::Kind::kZero ? value == 0 : value >= 0;
    });
  }

  /// Calls `visit` for all values of the binders for which the constraints hold.
  template <class Visit>
  void for_each(const std::vector<ops::Binder>& binders,
                const std::vector<ops::Constraint>& constraints, std::size_t first, Visit visit) {
    if (first == binders.size()) {
      if (holds(constraints)) visit();
      return;
    }
    const ops::Binder& binder = binders[first];
    const std::int64_t low = integer(binder.low), high = integer(binder.high);
    names_.emplace_back(binder.variable, low);
    const std::size_t place = names_.size() - 1;
    for (std::int64_t v = low; v < high; ++v) {
      names_[place].second = v;
      for_each(binders, constraints, first + 1, visit);
    }
    names_.pop_back();
  }

  Number element(std::uint32_t tensor, std::int64_t position) const {
    if (tensor >= meaning_.input_count)
      return stages_[tensor - meaning_.input_count][static_cast<std::size_t>(position)];
    const TypedValues& values = *tensors_[tensor];
    const auto k = static_cast<std::size_t>(position);
    return core::is_floating(values.type) ? fraction(values.reals[k]) : whole(values.integers[k]);
  }

  Number read(const ops::ExprNode& node) const {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < node.index.size(); ++d)
      position = position * dims_[node.tensor][d] + integer(node.index[d]);
    return element(node.tensor, position);
  }

  Number maximum(const ops::ExprNode& node) {
    std::optional<Number> largest;
    for (const ops::Alternative& alternative : node.alternatives)
      for_each(alternative.binders, alternative.constraints, 0, [&] {
        const Number each = value(*alternative.body);
        if (!largest || is_less(*largest, each) || std::isnan(each.as_real())) largest = each;
      });
    return largest.value_or(fraction(-std::numeric_limits<double>::infinity()));
  }

  Number value(const ops::ExprNode& node) {
    if (--steps_ < 0) throw Stopped{core::unsupported("too much to be computed by types")};
    switch (node.kind) {
    case ExprKind::kNumber:
      if (node.number.denominator == 1) return whole(node.number.numerator);
      return fraction(static_cast<double>(node.number.numerator) /
                      static_cast<double>(node.number.denominator));
    case ExprKind::kIndexValue:
      return whole(integer(node.index[0]));
    case ExprKind::kRead:
      return read(node);
    case ExprKind::kReadFlat:
      return element(node.tensor, integer(node.index[0]));
    case ExprKind::kInverse:
      return fraction(1.0 / value(*node.arguments[0]).as_real());
    case ExprKind::kGuard:
      return holds(node.constraints) ? value(*node.arguments[0]) : whole(0);
    case ExprKind::kMax:
      return maximum(node);
    case ExprKind::kAdd:
    case ExprKind::kMul: {
      Number result = value(*node.arguments[0]);
      for (std::size_t k = 1; k < node.arguments.size(); ++k) {
        const Number next = value(*node.arguments[k]);
        result = node.kind == ExprKind::kAdd ? sum_of(result, next) : product_of(result, next);
      }
      return result;
    }
    case ExprKind::kSum: {
      Number total = whole(0);
      for_each(node.binders, node.constraints, 0,
               [&] { total = sum_of(total, value(*node.arguments[0])); });
      return total;
    }
    case ExprKind::kApply: {
      std::vector<Number> arguments;
      for (const ops::Expr& argument : node.arguments) arguments.push_back(value(*argument));
      return applied(node.function, arguments);
    }
    }
    return {};
  }

  const ops::Semantics& meaning_;
  std::vector<const TypedValues*> tensors_;
  std::vector<core::Dims> dims_;  ///< The dimensions of inputs and stages.
  std::vector<std::vector<Number>> stages_;
  Names names_;
  std::int64_t& steps_;
};

/// How results of one operator are stored.
struct Storing {
  bool is_cast = false;
  DataType from = DataType::kOther;  ///< The type of the first input.
  Filling filling = Filling::kFirst;
};

double stored_real(const Number& value, const Storing& how, DataType type) {
  const double real = value.as_real();
  const bool widens = core::size_bytes(how.from) < core::size_bytes(type);
  if (!how.is_cast || (core::is_floating(how.from) && widens)) return real;
  const double rounded = nearest(real, type);
  if (std::isfinite(rounded) || !std::isfinite(real)) return rounded;
  return how.filling == Filling::kFirst ? 1021 : -517;
}

ExactInteger stored_integer(const Number& value, const Storing& how, DataType type) {
  if (value.is_integer)
    return type == DataType::kBool ? value.integer : wrapped(value.integer, type);
  const double real = value.real;
  if (!how.is_cast && real != std::floor(real))
    throw Stopped{core::unsupported("an integer that is a fraction")};
  const ExactRange range = exact_range(type);
  constexpr double kMost = 0x1p100;
  const bool fits = std::fabs(real) < kMost && static_cast<ExactInteger>(real) >= range.low &&
                    static_cast<ExactInteger>(real) <= range.high;
  if (fits) return static_cast<ExactInteger>(real);
  return stand_in(type, how.filling);
}

}  // namespace

ExactRange exact_range(DataType type) {
  if (type == DataType::kBool) return {0, 1};
  const auto bits = 8 * core::size_bytes(type);
  const ExactInteger one = 1;
  const bool is_unsigned = core::to_string(type).starts_with('u');
  if (is_unsigned) return {0, (one << bits) - 1};
  return {-(one << (bits - 1)), (one << (bits - 1)) - 1};
}

ExactInteger stand_in(DataType type, Filling filling) {
  // Processors give the least number that there is.
  const ExactRange range = exact_range(type);
  return filling == Filling::kFirst ? range.low : range.high / 3;
}

ExactInteger wrapped(ExactInteger value, DataType type) {
  const ExactRange range = exact_range(type);
  const ExactInteger modulus = range.high - range.low + 1;
  ExactInteger rest = value % modulus;
  if (rest < range.low) rest += modulus;
  if (rest > range.high) rest -= modulus;
  return rest;
}

double nearest(double value, DataType type) {
  switch (type) {
  case DataType::kFloat32:
    return static_cast<double>(static_cast<float>(value));
  case DataType::kFloat16:
    return static_cast<double>(
        core::float_from_f16(core::f16_from_float(static_cast<float>(value))));
  case DataType::kBFloat16:
    return static_cast<double>(
        core::float_from_bf16(core::bf16_from_float(static_cast<float>(value))));
  default:
    return value;
  }
}

Result<std::vector<TypedValues>> run_typed(const Graph& graph, std::span<const TypedValues> inputs,
                                           Filling filling) {
  constexpr std::int64_t kMostSteps = 2'000'000;
  std::int64_t steps = kMostSteps;
  std::vector<TypedValues> values(graph.tensor_bound());
  for (std::size_t k = 0; k < values.size(); ++k)
    if (graph.contains(TensorId(k)) && graph.tensor(TensorId(k)).value)
      values[k] = from_literal(*graph.tensor(TensorId(k)).value);
  for (std::size_t k = 0; k < inputs.size(); ++k) values[graph.inputs()[k].index()] = inputs[k];
  const TypedValues absent;
  try {
    for (NodeId id : graph.order()) {
      const core::Node& node = graph.node(id);
      std::vector<const TypedValues*> arguments;
      std::vector<core::Dims> dims;
      for (TensorId t : node.inputs) {
        arguments.push_back(t.valid() ? &values[t.index()] : &absent);
        dims.push_back(t.valid() ? *core::concrete(graph.tensor(t).type.shape) : core::Dims());
      }
      const ops::Semantics meaning = ops::semantics_of(graph, id);
      const auto results = NodeRun(meaning, arguments, std::move(dims), steps).run();
      for (std::size_t k = 0; k < results.size(); ++k) {
        TypedValues& result = values[node.outputs[k].index()];
        result.type = graph.tensor(node.outputs[k]).type.data_type;
        const Storing how{node.op->movement == core::Movement::kConvert,
                          arguments.empty() ? DataType::kOther : arguments[0]->type, filling};
        for (const Number& each : results[k]) {
          if (core::is_floating(result.type))
            result.reals.push_back(stored_real(each, how, result.type));
          else
            result.integers.push_back(stored_integer(each, how, result.type));
        }
      }
    }
  } catch (const Stopped& stopped) {
    return stopped.error;
  }
  std::vector<TypedValues> outputs;
  for (TensorId id : graph.outputs()) outputs.push_back(values[id.index()]);
  return outputs;
}

std::string element_text(const TypedValues& values, std::size_t element) {
  if (core::is_floating(values.type)) return fmt::format("{:.17g}", values.reals[element]);
  const ExactInteger value = values.integers[element];
  if (value > std::numeric_limits<std::int64_t>::max())
    return fmt::format("{}", static_cast<std::uint64_t>(value));
  return fmt::format("{}", static_cast<std::int64_t>(value));
}

core::Literal to_literal(const TypedValues& values, const core::Dims& dims) {
  const std::size_t count = static_cast<std::size_t>(core::element_count(dims));
  const std::size_t size = core::size_bytes(values.type);
  std::vector<std::byte> bytes(count * size);
  for (std::size_t k = 0; k < count; ++k) {
    std::byte* const at = bytes.data() + k * size;
    if (!core::is_floating(values.type)) {
      // The bytes of a narrow integer are the lowest ones of a wide one, on machines that have them
      // first.
      const auto value = static_cast<std::uint64_t>(values.integers[k]);
      std::memcpy(at, &value, size);
    } else if (values.type == DataType::kFloat64) {
      std::memcpy(at, &values.reals[k], size);
    } else {
      const auto single = static_cast<float>(values.reals[k]);
      const std::uint16_t half = values.type == DataType::kFloat16 ? core::f16_from_float(single)
                                                                   : core::bf16_from_float(single);
      if (values.type == DataType::kFloat32)
        std::memcpy(at, &single, size);
      else
        std::memcpy(at, &half, size);
    }
  }
  return core::Literal::copy(values.type, dims, bytes);
}

TypedValues from_literal(const core::Literal& literal) {
  TypedValues values;
  values.type = literal.data_type();
  if (core::is_floating(values.type)) {
    values.reals = literal.to_doubles();
  } else if (const auto integers = literal.to_ints()) {
    values.integers.assign(integers->begin(), integers->end());
    if (values.type == DataType::kUInt64)
      for (ExactInteger& v : values.integers) v = static_cast<std::uint64_t>(v);
  }
  return values;
}

}  // namespace soapstone::rules
