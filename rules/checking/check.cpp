// Evaluates both sides of a rule on random sizes and values. The prime field decides exactly where
// sums, products and maxima of independent values are all there is; where functions are random
// maps in the field, or where order meets multiplication, doubles decide.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/definition/registry.h"
#include "ops/definition/valid_values.h"
#include "ops/evaluation/evaluate.h"
#include "rules/checking/counterexample.h"
#include "rules/floats/edge_trials.h"
#include "rules/floats/float_behavior.h"
#include "rules/floats/typed_check.h"
#include "rules/rule/constraints.h"
#include "rules/sampling/sample_sizes.h"

namespace soapstone::rules {
namespace {

using core::DataType;
using core::Symbol;
using Field = ops::Field::Value;

constexpr int kAttemptsPerSize = 300;
constexpr int kFloatTrials = 4;
/// At how many sizes the edges of types are tried.
constexpr int kEdgeSizes = 4;

template <class T>
using Values = std::vector<std::vector<T>>;

/// Small integers stand for the input elements of a counterexample; large numbers for the rest.
enum class Draw { kSmall, kAny };

Values<Field> field_inputs(const Graph& side, Draw draw, Random& random) {
  Values<Field> inputs;
  const auto valid = ops::valid_values(side);
  for (TensorId id : side.inputs()) {
    const core::TensorType& type = side.tensor(id).type;
    const auto count = static_cast<std::size_t>(core::element_count(*core::concrete(type.shape)));
    const bool flag = type.data_type == core::DataType::kBool;
    const bool small = draw == Draw::kSmall || !core::is_floating(type.data_type);
    std::vector<Field> values(count);
    const auto& range = valid[id.index()];
    const bool is_bounded = range && range->low < range->high;
    for (Field& v : values) {
      const std::int64_t number = flag         ? random.between(0, 1)
                                  : is_bounded ? random.between(range->low, range->high - 1)
                                               : random.between(-3, 3);
      v = !small ? random.next() % ops::Field::kPrime
                 : (number < 0 ? ops::Field::kPrime - static_cast<Field>(-number)
                               : static_cast<Field>(number));
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

/// The place where two results differ: output, and element in row-major order.
struct Difference {
  std::size_t output = 0, element = 0;
  std::string source, target;
  bool is_rejected = false;  ///< The target does not admit inputs that the source does.
};

std::string field_text(Field value) {
  const bool negative = value > ops::Field::kPrime / 2;
  return negative ? fmt::format("-{}", ops::Field::kPrime - value) : fmt::format("{}", value);
}

/// `y[0, 2]`
std::string element_text(const Graph& side, const Difference& difference) {
  const TensorId id = side.outputs()[difference.output];
  const core::Dims dims = *core::concrete(side.tensor(id).type.shape);
  std::vector<std::string> index(dims.size());
  auto rest = static_cast<std::int64_t>(difference.element);
  for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d])
    index[d] = std::to_string(rest % dims[d]);
  return fmt::format("{}[{}]", side.tensor(id).name, fmt::join(index, ", "));
}

template <class Wanted>
bool mentions(const ops::Expr& e, const Wanted& wanted) {
  return wanted(*e) ||
         std::ranges::any_of(e->arguments, [&](const ops::Expr& a) { return mentions(a, wanted); });
}

template <class Wanted>
bool mentions(const Graph& side, const Wanted& wanted) {
  for (NodeId id : side.order())
    for (const ops::Stage& stage : ops::semantics_of(side, id).stages)
      if (mentions(stage.body, wanted)) return true;
  return false;
}

/// Whether an element of the graph depends on more than sums, products and inverses.
bool needs_doubles(const Graph& side) {
  return mentions(side, [](const ops::ExprNode& e) {
    return e.kind == ops::ExprKind::kApply || e.kind == ops::ExprKind::kMax;
  });
}

/// Whether an element is divided by what is computed from inputs.
bool divides(const Graph& side) {
  const auto reads = [](const ops::ExprNode& e) {
    return e.kind == ops::ExprKind::kRead || e.kind == ops::ExprKind::kReadFlat;
  };
  return mentions(side, [&](const ops::ExprNode& e) {
    return e.kind == ops::ExprKind::kInverse && mentions(e.arguments[0], reads);
  });
}

bool is_too_large(const Graph& side) {
  constexpr std::int64_t kMostElements = 1 << 20;
  const auto too_large = [&](TensorId id) {
    const auto dims = core::concrete(side.tensor(id).type.shape);
    const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
    return !count || *count > kMostElements;
  };
  return std::ranges::any_of(side.inputs(), too_large) ||
         std::ranges::any_of(side.order(), [&](NodeId id) {
           return std::ranges::any_of(side.node(id).outputs, too_large);
         });
}

/// Whether roundings are looked at where they decide nothing.
enum class Observe : std::uint8_t { kRoundings, kNothing };

class Checker {
 public:
  Checker(const Rule& rule, std::uint64_t seed, int edge_tries, Observe observe)
      : rule_(rule), sampler_(rule), random_(seed), edge_random_(seed), edge_tries_(edge_tries),
        observe_(observe) {}

  bool has_sizes() {
    for (int attempt = 0; attempt < kAttemptsPerSize; ++attempt)
      if (sides_for(draw(attempt))) return true;
    return false;
  }

  Result<CheckReport> run(int size_count) {
    core::Error last = core::unsupported("no sizes were tried");
    const int most = kAttemptsPerSize * std::max(size_count, 1);
    for (int attempt = 0; attempt < most && report_.sizes_tried < size_count; ++attempt) {
      const Bindings values = draw(attempt);
      auto sides = sides_for(values);
      if (!sides) {
        last = sides.error();
        continue;
      }
      SOAPSTONE_ASSIGN_OR_RETURN(auto difference, compare(*sides, report_.sizes_tried));
      if (edge_tries_ > 0 && report_.sizes_tried < kEdgeSizes) try_edges(*sides, size_count);
      ++report_.sizes_tried;
      if (!difference) continue;
      SOAPSTONE_RETURN_IF_ERROR(explain(values, *difference));
      break;
    }
    if (report_.sizes_tried == 0)
      return core::unsupported("no sizes satisfy the rule and its guard: " + last.message);
    report_.floats = std::max(report_.floats, range_behavior(report_.edges, DataType::kFloat32));
    return report_;
  }

 private:
  Bindings draw(int attempt) { return sampler_.draw(random_, 2 + attempt % 4); }

  Result<Rule> sides_for(const Bindings& values) const {
    std::vector<std::int64_t> sizes(rule_.source.symbols().size());
    for (std::size_t s = 0; s < values.size(); ++s) sizes[s] = values[s].value_or(0);
    if (!guard_holds(rule_, sizes)) return core::invalid_input("the guard does not hold");
    SOAPSTONE_ASSIGN_OR_RETURN(Rule sides, specialize(rule_, values));
    if (has_empty_tensor(sides.source))
      return core::invalid_input("a tensor of the source is empty");
    if (is_too_large(sides.source) || is_too_large(sides.target))
      return core::invalid_input("the tensors would be too large to be computed");
    return sides;
  }

  /// One difference, or none. Notes in the report what doubles say.
  Result<std::optional<Difference>> compare(const Rule& sides, int trial) {
    if (needs_types(sides)) return compare_by_types(sides, trial);
    SOAPSTONE_ASSIGN_OR_RETURN(auto difference, compare_in_field(sides));
    const bool is_up_to_doubles = needs_doubles(sides.source) || needs_doubles(sides.target);
    if (difference && (difference->is_rejected || !is_up_to_doubles)) return difference;
    if (!difference && trial >= kFloatTrials) return difference;
    const std::uint64_t seed = random_.next();
    if (!difference && !is_up_to_doubles && observe_ == Observe::kNothing) return difference;
    const FloatObservation floats = observe_floats(sides, seed);
    report_.floats = std::max(report_.floats, floats.behavior);
    if (!floats.difference) {
      report_.law_of_function = report_.law_of_function || difference;
      return std::optional<Difference>();
    }
    // The field orders fractions in a way of its own: agreement there is no proof of order.
    if (!is_up_to_doubles) return difference;
    const FloatDifference& d = *floats.difference;
    return std::optional(Difference{d.output, d.element, fmt::format("{:.6g}", d.source),
                                    fmt::format("{:.6g}", d.target)});
  }

  /// Neither the field nor doubles know how integers wrap and casts round.
  Result<std::optional<Difference>> compare_by_types(const Rule& sides, int trial) {
    constexpr int kTrials = 12;
    auto found = find_typed_difference(sides, random_, kTrials);
    if (!found) return std::optional<Difference>();
    if (*found) {
      TypedDifference& d = **found;
      return std::optional(
          Difference{d.output, d.element, std::move(d.source), std::move(d.target), true});
    }
    if (trial < kFloatTrials && observe_ == Observe::kRoundings)
      report_.floats = std::max(report_.floats, observe_floats(sides, random_.next()).behavior);
    return std::optional<Difference>();
  }

  void try_edges(const Rule& sides, int size_count) {
    const int sizes = std::clamp(size_count, 1, kEdgeSizes);
    report_.edges.note(
        observe_edges(sides, (edge_tries_ + sizes - 1) / sizes, edge_random_.next()));
  }

  Result<std::optional<Difference>> compare_in_field(const Rule& sides) {
    const std::uint64_t key = random_.next();
    SOAPSTONE_ASSIGN_OR_RETURN(const auto source,
                               ops::GraphProgram<Field>::compile(sides.source, key));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto target,
                               ops::GraphProgram<Field>::compile(sides.target, key));
    // Small numbers divide by zero, which is 0 here and says nothing; large ones decide then.
    const bool large_only = divides(sides.source) || divides(sides.target);
    for (Draw draw : {Draw::kSmall, Draw::kAny}) {
      if (large_only && draw == Draw::kSmall) continue;
      const auto inputs = field_inputs(sides.source, draw, random_);
      // Nothing is said of inputs that the source does not admit.
      const auto left = source.run(inputs);
      if (!left) continue;
      const auto right = target.run(inputs);
      if (!right)
        return std::optional(
            Difference{0, 0, "defined", "not: " + right.error().to_string(), true});
      for (std::size_t k = 0; k < left->size(); ++k)
        for (std::size_t i = 0; i < (*left)[k].size(); ++i)
          if (const Field a = (*left)[k][i], b = (*right)[k][i]; a != b)
            return std::optional(Difference{k, i, field_text(a), field_text(b)});
    }
    return std::optional<Difference>();
  }

  /// Makes the sizes as small as they can be while the sides differ, and says where they do.
  core::Status explain(Bindings values, Difference difference) {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t s = 0; s < values.size(); ++s) {
        const bool real =
            std::ranges::find(rule_.real_parameters, Symbol{static_cast<std::uint32_t>(s)}) !=
            rule_.real_parameters.end();
        if (!values[s] || *values[s] <= 1 || real) continue;
        Bindings smaller = values;
        --*smaller[s];
        auto sides = sides_for(smaller);
        if (!sides) continue;
        SOAPSTONE_ASSIGN_OR_RETURN(auto found, compare(*sides, 0));
        if (!found) continue;
        values = std::move(smaller);
        difference = *std::move(found);
        progress = true;
      }
    }
    SOAPSTONE_ASSIGN_OR_RETURN(const Rule sides, sides_for(values));
    Counterexample example;
    for (std::size_t s = 0; s < values.size(); ++s)
      if (values[s])
        example.sizes.emplace_back(
            rule_.source.symbols().name(Symbol{static_cast<std::uint32_t>(s)}), *values[s]);
    example.text =
        fmt::format("{} is {} in the source but {} in the target",
                    element_text(sides.source, difference), difference.source, difference.target);
    report_.counterexample = std::move(example);
    return core::Done{};
  }

  const Rule& rule_;
  const SizeSampler sampler_;
  Random random_;
  Random edge_random_;  ///< A stream of its own, so that edges change nothing of the rest.
  const int edge_tries_;
  const Observe observe_;
  CheckReport report_;
};

}  // namespace

bool has_sizes(const Rule& rule, std::uint64_t seed) {
  return Checker(rule, seed, 0, Observe::kNothing).has_sizes();
}

Result<CheckReport> check(const Rule& rule, int size_count, std::uint64_t seed, int edge_tries) {
  return Checker(rule, seed, edge_tries, Observe::kRoundings).run(size_count);
}

Result<std::optional<Counterexample>> find_counterexample(const Rule& rule, int size_count,
                                                          std::uint64_t seed) {
  SOAPSTONE_ASSIGN_OR_RETURN(CheckReport report,
                             Checker(rule, seed, 0, Observe::kNothing).run(size_count));
  return std::move(report.counterexample);
}

}  // namespace soapstone::rules
