// See edge_trials.h.
#include "rules/floats/edge_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "ops/definition/registry.h"
#include "ops/definition/valid_values.h"
#include "rules/floats/noise.h"
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
enum class Special : std::uint8_t { kNone, kZero, kInfinity, kNan, kFew };
/// Finite inputs show most, so more trials have them.
constexpr Special kSpecials[] = {Special::kNone, Special::kNone,     Special::kNone, Special::kZero,
                                 Special::kNone, Special::kInfinity, Special::kNone, Special::kNan};

constexpr std::int64_t kLargestTrialInteger = 9;
/// After that many tries without anything new there are no more.
constexpr int kLeastPatience = 96;
constexpr int kMoreOfHalf = 6;
/// A rule whose results decide something is tried so often.
constexpr int kTriesOfFew = 48;

using ValidValues = std::vector<std::optional<ops::ValueRange>>;

/// The inputs of one trial. Tensors have a magnitude each, or one for all, so that some cancel.
class InputDraw {
 public:
  InputDraw(DataType type, bool extreme, Special special, Random& random)
      : type_(type), extreme_(extreme), special_(special), random_(random) {
    range_ = range_of(type);
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
      // An input of f32 stands for the type of the trial; others have their own range.
      const bool is_other =
          core::is_floating(type.data_type) && type.data_type != DataType::kFloat32;
      const DataType drawn = is_other ? type.data_type : type_;
      format_ = core::format_of(drawn);
      range_ = range_of(drawn);
      exponent_ = shared_ ? std::clamp(*shared_, range_.least, range_.most) : any_exponent();
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

  Range range_of(DataType type) const {
    const core::FloatFormat format = core::format_of(type);
    return extreme_ ? Range{format.least_exponent - format.digits + 1, format.most_exponent}
                    : ordinary_of(type).inputs;
  }

  /// Ends of the range often, since that is where effects are.
  int any_exponent() {
    if (one_in(4)) return range_.most;
    if (one_in(4)) return range_.least;
    return static_cast<int>(random_.between(range_.least, range_.most));
  }

  /// One of few values, so that two of them are often equal, and each order occurs.
  double one_of_few() {
    constexpr double kFew[] = {kNotANumber, kInfinite, -kInfinite, 0.0, -0.0, 1, -1, 2};
    return kFew[random_.between(0, std::ssize(kFew) - 1)];
  }

  double element(DataType type) {
    if (type == DataType::kBool) return static_cast<double>(random_.between(0, 1));
    if (!core::is_floating(type))
      return static_cast<double>(random_.between(-kLargestTrialInteger, kLargestTrialInteger));
    if (special_ == Special::kFew) return one_of_few();
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

  DataType type_;
  bool extreme_;
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

bool has_infinite_constants(const Graph& side) {
  for (std::size_t k = 0; k < side.tensor_bound(); ++k) {
    const TensorId id(k);
    if (!side.contains(id) || !side.tensor(id).value) continue;
    const auto values = side.tensor(id).value->to_doubles();
    if (!std::ranges::all_of(values, [](double v) { return std::isfinite(v); })) return true;
  }
  return false;
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

class Trials {
 public:
  Trials(const Rule& sides, Random& random)
      : sides_(sides), source_(sides.source), target_(sides.target),
        valid_(ops::valid_values(sides.source)), random_(random),
        has_infinite_constants_(has_infinite_constants(sides.source) ||
                                has_infinite_constants(sides.target)) {}

  void run(DataType type, bool extreme, Special special) {
    type_ = type;
    special_ = special;
    inputs_ = InputDraw(type, extreme, special, random_).inputs(sides_.source, valid_);
    auto results = run_limited();
    if (!results) return;  // what only one side admits, check() finds
    limited_ = std::move(*results);
    free_.reset();
    noisy_.reset();
    tame_.reset();
    const bool ordinary =
        !extreme && limited_.of_source.largest <= std::ldexp(1.0, ordinary_of(type).most_met);
    reach_ = ordinary ? EdgeReach::kOrdinary : EdgeReach::kExtreme;
    for (std::size_t k = 0; k < limited_.source.size(); ++k)
      for (std::size_t i = 0; i < limited_.source[k].size(); ++i) compare(k, i);
  }

  const Edges& seen() const { return seen_; }

 private:
  struct Results {
    std::vector<Tensor> source, target;
    Met of_source, of_target;
  };

  /// None: a side does not admit the inputs.
  std::optional<Results> run_both(bool limited, Filling filling = Filling::kFirst) const {
    Results results;
    const Rounding rounding{type_, limited, filling};
    auto source = source_.run(inputs_, rounding, results.of_source);
    auto target = target_.run(inputs_, rounding, results.of_target);
    if (!source || !target) return std::nullopt;
    results.source = std::move(*source);
    results.target = std::move(*target);
    return results;
  }

  /// The results, with NaN in place of what a machine may choose where that decides on one side
  /// only, or decides differently.
  std::optional<Results> run_limited() const {
    auto results = run_both(true);
    if (!results || !(results->of_source.has_choices || results->of_target.has_choices))
      return results;
    const auto other = run_both(true, Filling::kSecond);
    if (!other) return std::nullopt;
    for (std::size_t k = 0; k < results->source.size(); ++k)
      for (std::size_t i = 0; i < results->source[k].size(); ++i) {
        double &source = results->source[k][i], &target = results->target[k][i];
        const bool is_chosen = !is_same(source, other->source[k][i]),
                   is_chosen_there = !is_same(target, other->target[k][i]);
        if (is_chosen && is_chosen_there && !is_same(source, target)) continue;
        if (is_chosen) source = kNotANumber;
        if (is_chosen_there) target = kNotANumber;
      }
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
    } else if (special_ > Special::kZero) {
      compare_not_finite(output, element);
    } else if (!std::isfinite(source) || !std::isfinite(target)) {
      if (std::isfinite(source)) note(EdgeEffect::kOverflow);
      if (std::isfinite(target)) note(EdgeEffect::kRecovers);
      if (std::isinf(source) && std::isnan(target)) note_if_ordinary(EdgeEffect::kNan);
    } else if (!are_alike(output, source, target)) {
      compare_losses(output, element);
    }
  }

  bool is_floating(std::size_t output) const {
    return core::is_floating(sides_.source.tensor(sides_.source.outputs()[output]).type.data_type);
  }
  /// Truth values and integers are alike only if they are the same.
  bool are_alike(std::size_t output, double a, double b) const {
    return is_floating(output) ? is_close(a, b) : a == b;
  }

  void compare_not_finite(std::size_t output, std::size_t element) {
    const double source = limited_.source[output][element];
    const double target = limited_.target[output][element];
    if (std::isnan(source) != std::isnan(target))
      note_if_ordinary(std::isnan(target) ? EdgeEffect::kNan : EdgeEffect::kDropsNan);
    else if ((std::isinf(source) || std::isinf(target)) && source != target)
      note_if_ordinary(EdgeEffect::kInfinity);
    else if (reach_ == EdgeReach::kOrdinary && !are_alike(output, source, target) &&
             !seen_.has(type_, EdgeEffect::kOtherValue, reach_) &&
             are_alike_without_specials(output, element) &&
             (both_choose() || differs_by_more_than_rounding(output, element)))
      note(EdgeEffect::kOtherValue);
  }

  /// Else the difference is one of rounding, or of the range of the type.
  bool are_alike_without_specials(std::size_t output, std::size_t element) {
    if (!tame_) {
      const std::vector<Tensor> inputs = inputs_;
      for (Tensor& input : inputs_)
        std::ranges::replace_if(
            input, [](double value) { return !std::isfinite(value); }, 1);
      tame_ = run_limited();
      inputs_ = inputs;
    }
    if (!tame_) return false;
    const double source = tame_->source[output][element], target = tame_->target[output][element];
    return is_same(source, target) || are_alike(output, source, target);
  }

  /// A machine chose integers on both sides.
  bool both_choose() const {
    return limited_.of_source.has_choices && limited_.of_target.has_choices;
  }

  bool differs_by_more_than_rounding(std::size_t output, std::size_t element) {
    constexpr auto kSingle = NoisePrecision::kSingle;
    if (!noisy_)
      noisy_ = {run_with_noise(sides_.source, inputs_, 1, kSingle),
                run_with_noise(sides_.target, inputs_, 1, kSingle)};
    return differ_beyond_noise(noisy_->first.outputs[output][element],
                               noisy_->second.outputs[output][element]);
  }

  /// Both are finite and far apart: by cancellation, or because one side met a number that is too
  /// small or too large for the type. The latter does not happen if exponents are not limited,
  /// unless doubles cannot hold the number either.
  void compare_losses(std::size_t output, std::size_t element) {
    if (!free_) free_ = run_both(false);
    if (!free_) return;
    const double least = is_floating(output) ? core::format_of(type_).smallest_normal() : 0;
    const auto has_lost = [&](const Results& results, bool of_source) {
      const auto value = [&](const Results& r) {
        return (of_source ? r.source : r.target)[output][element];
      };
      return std::fabs(value(*free_)) >= least && !are_alike(output, value(results), value(*free_));
    };
    const bool stays_apart =
        !has_infinite_constants_ &&
        !are_alike(output, free_->source[output][element], free_->target[output][element]) &&
        (free_->of_source.has_infinities || free_->of_target.has_infinities || both_choose()) &&
        (both_choose() || differs_by_more_than_rounding(output, element));
    const bool beyond_source = stays_apart && (free_->of_source.has_infinities || both_choose()),
               beyond_target = stays_apart && (free_->of_target.has_infinities || both_choose());
    const bool source = has_lost(limited_, true) || beyond_source,
               target = has_lost(limited_, false) || beyond_target;
    // If both sides have lost digits, neither number means anything. A decision always does.
    const bool counts =
        source != target || !is_floating(output) || (beyond_source && beyond_target);
    if (target && counts) note(EdgeEffect::kUnderflow);
    if (source && counts) note(EdgeEffect::kRecovers);
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
  std::optional<Results> tame_;  ///< With 1 in place of what is not finite.
  std::optional<std::pair<NoisyOutputs, NoisyOutputs>> noisy_;  ///< Of source and target.
  const bool has_infinite_constants_;
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

/// Whether a side computes truth values or integers. Few inputs show what becomes of NaN there: it
/// matters which numbers are equal, and which is larger.
bool decides(const Graph& side) {
  return std::ranges::any_of(side.order(), [&](NodeId id) {
    return std::ranges::any_of(side.node(id).outputs, [&](TensorId output) {
      return !core::is_floating(side.tensor(output).type.data_type);
    });
  });
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
  if (decides(sides.source) || decides(sides.target)) {
    for (int k = 0; k < kTriesOfFew; ++k)
      for (const DataType type : kEdgeTypes) trials.run(type, false, Special::kFew);
    seen = trials.seen();
  }
  note_orders_of_adding(sides, seen);
  return seen;
}

}  // namespace soapstone::rules
