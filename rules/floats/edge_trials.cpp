// See edge_trials.h.
#include "rules/floats/edge_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "ops/definition/registry.h"
#include "ops/definition/valid_values.h"
#include "rules/floats/rounded_side.h"
#include "rules/sampling/sample.h"

namespace soapstone::rules {
namespace {

using core::DataType;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

/// Exponents of two.
struct Range {
  int least, most;
};

/// Magnitudes that networks have, zero aside. The inputs of a trial that is called ordinary are
/// within `inputs`, and the source meets nothing beyond `most_met`. f32 and bf16 reach far: masks
/// such as −1e9 are ordinary, and products of four such numbers have room. f16 has few binades in
/// all: from 4096 on every sum of a few numbers may overflow in another order, whatever the rule.
struct Ordinary {
  Range inputs;
  int most_met;
};
constexpr Ordinary kOrdinary{{-30, 30}, 100}, kOrdinaryHalf{{-10, 12}, 12};

const Ordinary& ordinary_of(DataType type) {
  return type == DataType::kFloat16 ? kOrdinaryHalf : kOrdinary;
}

/// A choice of special values for some of the elements.
enum class Special : std::uint8_t { kNone, kZero, kInfinity, kNan };
/// Finite inputs show most, so more trials have them.
constexpr Special kSpecials[] = {Special::kNone, Special::kNone,     Special::kNone, Special::kZero,
                                 Special::kNone, Special::kInfinity, Special::kNone, Special::kNan};

constexpr std::int64_t kLargestTrialInteger = 9;
/// After that many tries without anything new there are no more.
constexpr int kLeastPatience = 96;
constexpr int kMoreOfHalf = 6;

using ValidValues = std::vector<std::optional<ops::ValueRange>>;

/// The inputs of one trial. Tensors have a magnitude each, or one for all, so that some cancel.
class InputDraw {
 public:
  InputDraw(DataType type, bool extreme, Special special, Random& random)
      : format_(core::format_of(type)), special_(special), random_(random) {
    range_ = extreme ? Range{format_.least_exponent - format_.digits + 1, format_.most_exponent}
                     : ordinary_of(type).inputs;
    positive_ = one_in(3);
    flat_ = one_in(3);
    mixed_ = one_in(4);
    // The magnitudes for all tensors include those at which exp and its like become infinite. Two
    // of the largest numbers overflow when they are added, and a third one takes them back.
    if (one_in(3)) {
      if (extreme)
        shared_ = one_in(2) ? range_.most : any_exponent();
      else
        shared_ = one_in(3) ? any_exponent() : static_cast<int>(random_.between(0, 8));
    }
  }

  /// `valid`: by tensor, where its requirements say which integers it may hold.
  std::vector<Tensor> inputs(const Graph& side, const ValidValues& valid) {
    std::vector<Tensor> inputs;
    for (TensorId id : side.inputs()) {
      const core::TensorType& type = side.tensor(id).type;
      const auto dims = *core::concrete(type.shape);
      Tensor values(static_cast<std::size_t>(core::element_count(dims)));
      exponent_ = shared_ ? *shared_ : any_exponent();
      const auto& range = valid[id.index()];
      for (double& value : values)
        value = range && range->low < range->high
                    ? static_cast<double>(random_.between(range->low, range->high - 1))
                    : element(type.data_type);
      inputs.push_back(std::move(values));
    }
    return inputs;
  }

 private:
  bool one_in(std::int64_t n) { return random_.between(1, n) == 1; }

  /// Ends of the range often, since that is where effects are.
  int any_exponent() {
    if (one_in(4)) return range_.most;
    if (one_in(4)) return range_.least;
    return static_cast<int>(random_.between(range_.least, range_.most));
  }

  double element(DataType type) {
    if (type == DataType::kBool) return static_cast<double>(random_.between(0, 1));
    if (!core::is_floating(type))
      return static_cast<double>(random_.between(-kLargestTrialInteger, kLargestTrialInteger));
    const double sign = !positive_ && one_in(2) ? -1 : 1;
    if (special_ != Special::kNone && one_in(3)) return special(sign);
    const int exponent = mixed_ && one_in(2) ? any_exponent() : exponent_;
    const double part = flat_ ? 0 : random_.unit();
    return sign * std::min(std::ldexp(1 + part, exponent), format_.largest());
  }

  double special(double sign) const {
    switch (special_) {
    case Special::kInfinity:
      return sign * kInfinite;
    case Special::kNan:
      return kNotANumber;
    default:
      return sign * 0.0;
    }
  }

  core::FloatFormat format_;
  Range range_;
  Special special_;
  Random& random_;
  bool positive_ = false, flat_ = false, mixed_ = false;
  std::optional<int> shared_;
  int exponent_ = 0;
};

bool is_close(double a, double b) {
  return a == b || std::fabs(a - b) <= 0.5 * std::max(std::fabs(a), std::fabs(b));
}

class Trials {
 public:
  Trials(const Rule& sides, Random& random)
      : sides_(sides), source_(sides.source), target_(sides.target),
        valid_(ops::valid_values(sides.source)), random_(random) {}

  void run(DataType type, bool extreme, Special special) {
    type_ = type;
    special_ = special;
    inputs_ = InputDraw(type, extreme, special, random_).inputs(sides_.source, valid_);
    auto results = run_both(true);
    if (!results) return;  // what only one side admits, check() finds
    limited_ = std::move(*results);
    free_.reset();
    const bool ordinary =
        !extreme && limited_.largest_met <= std::ldexp(1.0, ordinary_of(type).most_met);
    reach_ = ordinary ? EdgeReach::kOrdinary : EdgeReach::kExtreme;
    for (std::size_t k = 0; k < limited_.source.size(); ++k)
      for (std::size_t i = 0; i < limited_.source[k].size(); ++i) compare(k, i);
  }

  const Edges& seen() const { return seen_; }

 private:
  struct Results {
    std::vector<Tensor> source, target;
    double largest_met = 0;  ///< By the source.
  };

  /// None: a side does not admit the inputs.
  std::optional<Results> run_both(bool limited) const {
    Results results;
    double ignored = 0;
    const Rounding rounding{type_, limited};
    auto source = source_.run(inputs_, rounding, results.largest_met);
    auto target = target_.run(inputs_, rounding, ignored);
    if (!source || !target) return std::nullopt;
    results.source = std::move(*source);
    results.target = std::move(*target);
    return results;
  }

  void note(EdgeEffect effect) { seen_.note({type_, effect, reach_}); }
  /// Notes an effect that has nothing to do with magnitudes.
  void note_if_ordinary(EdgeEffect effect) {
    if (reach_ == EdgeReach::kOrdinary) note(effect);
  }

  void compare(std::size_t output, std::size_t element) {
    const double source = limited_.source[output][element];
    const double target = limited_.target[output][element];
    if (std::isnan(source) && std::isnan(target)) return;
    if (source == 0 && target == 0) {
      if (std::signbit(source) != std::signbit(target)) note_if_ordinary(EdgeEffect::kZeroSign);
    } else if (special_ == Special::kInfinity || special_ == Special::kNan) {
      compare_not_finite(source, target);
    } else if (!std::isfinite(source) || !std::isfinite(target)) {
      if (std::isfinite(source)) note(EdgeEffect::kOverflow);
      if (std::isfinite(target)) note(EdgeEffect::kRecovers);
      if (std::isinf(source) && std::isnan(target)) note_if_ordinary(EdgeEffect::kNan);
    } else if (!is_close(source, target)) {
      compare_losses(output, element);
    }
  }

  void compare_not_finite(double source, double target) {
    if (std::isnan(source) != std::isnan(target))
      note_if_ordinary(std::isnan(target) ? EdgeEffect::kNan : EdgeEffect::kDropsNan);
    else if ((std::isinf(source) || std::isinf(target)) && source != target)
      note_if_ordinary(EdgeEffect::kInfinity);
  }

  /// Both are finite and far apart: by cancellation, or because one side met a number that is too
  /// small or too large for the type. The latter does not happen if exponents are not limited.
  void compare_losses(std::size_t output, std::size_t element) {
    if (!free_) free_ = run_both(false);
    if (!free_) return;
    const double least = core::format_of(type_).smallest_normal();
    const auto has_lost = [&](const Results& results, bool of_source) {
      const auto value = [&](const Results& r) {
        return (of_source ? r.source : r.target)[output][element];
      };
      return std::fabs(value(*free_)) >= least && !is_close(value(results), value(*free_));
    };
    const bool source = has_lost(limited_, true), target = has_lost(limited_, false);
    if (source != target) note(target ? EdgeEffect::kUnderflow : EdgeEffect::kRecovers);
  }

  const Rule& sides_;
  const RoundedSide source_, target_;
  const ValidValues valid_;
  Random& random_;
  DataType type_ = DataType::kFloat32;
  Special special_ = Special::kNone;
  EdgeReach reach_ = EdgeReach::kOrdinary;
  std::vector<Tensor> inputs_;
  Results limited_;
  std::optional<Results> free_;
  Edges seen_;
};

bool sums(const ops::Expr& e) {
  return e->kind == ops::ExprKind::kSum || std::ranges::any_of(e->arguments, sums);
}

/// Operators that add up many elements, each with a kernel of its own.
std::set<std::string> summing_operators(const Graph& side) {
  std::set<std::string> names;
  for (NodeId id : side.order()) {
    const core::Node& node = side.node(id);
    const ops::OpDefinition* definition = ops::registry().definition(node.op->name);
    if (definition == nullptr || definition->op_class == ops::OpClass::kMovement) continue;
    for (const ops::Stage& stage : ops::semantics_of(side, id).stages)
      if (sums(stage.body)) names.insert(node.op->name);
  }
  return names;
}

/// The trials compute sums as if exactly. Kernels do not: two that add in another order overflow at
/// other inputs, beside the largest number.
void note_orders_of_adding(const Rule& sides, Edges& edges) {
  if (summing_operators(sides.source) == summing_operators(sides.target)) return;
  for (const DataType type : kEdgeTypes)
    for (const EdgeEffect effect : {EdgeEffect::kOverflow, EdgeEffect::kRecovers})
      edges.note({type, effect, EdgeReach::kExtreme});
}

}  // namespace

Edges observe_edges(const Rule& sides, int tries, std::uint64_t seed) {
  Random random(seed);
  Trials trials(sides, random);
  const int patience = std::max(kLeastPatience, tries / 4);
  Edges seen;
  for (int k = 0, last_news = 0; k < tries && k - last_news < patience; ++k) {
    const std::size_t turn = static_cast<std::size_t>(k) % (2 * std::size(kSpecials));
    const bool extreme = turn >= std::size(kSpecials);
    // Effects of infinities and NaN have nothing to do with magnitudes.
    Special special = kSpecials[turn % std::size(kSpecials)];
    if (extreme && special != Special::kZero) special = Special::kNone;
    for (const DataType type : kEdgeTypes) trials.run(type, extreme, special);
    // In f16 ordinary overflows decide, and need several numbers that fit each other.
    for (int more = 0; more < kMoreOfHalf && !extreme && special == Special::kNone; ++more)
      trials.run(DataType::kFloat16, false, special);
    if (trials.seen() == seen) continue;
    seen = trials.seen();
    last_news = k;
  }
  note_orders_of_adding(sides, seen);
  return seen;
}

}  // namespace soapstone::rules
