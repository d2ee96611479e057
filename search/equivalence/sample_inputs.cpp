// See sample_inputs.h.
#include "search/equivalence/sample_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "core/base/random.h"
#include "runtime/execution/elements.h"
#include "search/equivalence/rounding.h"
#include "search/equivalence/value_roles.h"

namespace soapstone::search {
namespace {

using core::DataType;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  /// Within (0, 1).
  double uniform() { return core::draw_uniform(engine_); }
  double normal() { return core::draw_normal(engine_); }
  bool one_in(std::uint64_t n) { return engine_() % n == 0; }
  /// From low to high, both included.
  double integer(double low, double high) { return low + std::floor(uniform() * (high - low + 1)); }

 private:
  std::mt19937_64 engine_;
};

struct Range {
  double low = 0, high = 0;
};

Range range_of(DataType type) {
  const auto of = [](auto zero) {
    using T = decltype(zero);
    return Range{static_cast<double>(std::numeric_limits<T>::min()),
                 static_cast<double>(std::numeric_limits<T>::max())};
  };
  switch (type) {
  case DataType::kInt64:
    return of(std::int64_t{});
  case DataType::kInt32:
    return of(std::int32_t{});
  case DataType::kInt16:
    return of(std::int16_t{});
  case DataType::kInt8:
    return of(std::int8_t{});
  case DataType::kUInt64:
    return of(std::uint64_t{});
  case DataType::kUInt32:
    return of(std::uint32_t{});
  case DataType::kUInt16:
    return of(std::uint16_t{});
  case DataType::kUInt8:
    return of(std::uint8_t{});
  default:
    return {0, 1};
  }
}

double largest_real(DataType type) {
  if (type == DataType::kFloat64) return std::numeric_limits<double>::max();
  return type == DataType::kFloat16 ? 65504 : std::numeric_limits<float>::max();
}

/// How large a number may be so that a power of it with that exponent is still one of the type.
double root_of_largest(DataType type, double exponent) {
  return std::exp2(std::log2(largest_real(type)) / exponent);
}

/// Numbers up to this one are taken to overflow nowhere in a model that works: 1.6e4 in f32, 11 in
/// f16.
double ordinary_limit(DataType type) { return root_of_largest(type, 9); }

/// All that decides how the elements of one input are drawn.
struct Drawing {
  DataType type = DataType::kFloat32;
  SampleKind kind = SampleKind::kNormal;
  ValueRole role;
  std::vector<double> landmarks;
  double limit = 0;            ///< The largest magnitude of kSpread, or factor of kStretched.
  std::uint64_t position = 0;  ///< Of the element among those of all samples, for indices.
};

/// A landmark that is drawn about, half of the time one of the first, or none.
std::optional<double> any_landmark(const Drawing& drawing, Random& random) {
  constexpr std::size_t kFirst = 4;
  if (drawing.landmarks.empty()) return std::nullopt;
  const std::size_t count =
      random.one_in(2) ? std::min(kFirst, drawing.landmarks.size()) : drawing.landmarks.size();
  return drawing.landmarks[random.bits() % count];
}

double draw_half(const Drawing& drawing, Random& random) {
  if (random.one_in(2))
    if (const auto landmark = any_landmark(drawing, random)) return *landmark;
  return random.integer(-16, 16) / 2 * (random.one_in(4) ? std::exp2(random.integer(1, 4)) : 1);
}

/// The landmark or what is near it: a unit in the last place off, a small share, a small number.
double near(double landmark, DataType type, Random& random) {
  const double sign = random.one_in(2) ? 1 : -1;
  switch (random.bits() % 8) {
  case 0:
    return landmark * (1 + sign * spacing(type));
  case 1:
    return landmark + sign * std::exp2(-random.integer(0, 7));
  case 2:
  case 3:
    return landmark;
  default:
    return landmark * (1 + sign * std::exp2(-random.integer(3, 11)));
  }
}

/// Beside the landmark, and so far from it that rounding does not matter: a sample in which some
/// element falls on a threshold says little of the others.
double beside(double landmark, DataType type, Random& random) {
  const double sign = random.one_in(2) ? 1 : -1;
  const double most = std::min(11.0, -std::log2(spacing(type)) - 3);
  const double share = std::exp2(-random.integer(std::min(3.0, most), most));
  return landmark == 0 ? sign * share : landmark * (1 + sign * share);
}

double draw_beside(const Drawing& drawing, Random& random) {
  const auto landmark = any_landmark(drawing, random);
  if (!landmark || random.one_in(8)) return random.normal() * std::exp2(random.integer(-3, 6));
  return beside(*landmark, drawing.type, random);
}

double draw_point(const Drawing& drawing, Random& random) {
  const auto landmark = any_landmark(drawing, random);
  if (!landmark || random.one_in(8)) return random.normal() * std::exp2(random.integer(-3, 6));
  return near(*landmark, drawing.type, random);
}

double draw_spread(const Drawing& drawing, Random& random) {
  const double sign = random.one_in(2) ? 1 : -1;
  if (random.one_in(8)) return random.normal();
  if (random.one_in(4))
    if (const auto landmark = any_landmark(drawing, random))
      return near(*landmark, drawing.type, random);
  return sign * std::exp2(random.uniform() * std::log2(drawing.limit));
}

double draw_real(const Drawing& drawing, Random& random) {
  const DataType type = drawing.type;
  switch (drawing.kind) {
  case SampleKind::kNormal:
  case SampleKind::kMasks:
    return random.normal();
  case SampleKind::kExtreme:
    return random.normal() * (random.one_in(16) ? 100 : 1);
  case SampleKind::kHuge: {
    if (!random.one_in(8)) return random.normal();
    // From the root of the largest number to that number itself.
    const double size = std::exp2((0.5 + 0.5 * random.uniform()) * std::log2(largest_real(type)));
    return random.one_in(2) ? size : -size;
  }
  case SampleKind::kZero:
    return 0;
  case SampleKind::kOne:
    return 1;
  case SampleKind::kTiny:
    return random.normal() * (type == DataType::kFloat16 ? 1e-4 : 1e-6);
  case SampleKind::kHalves:
    return draw_half(drawing, random);
  case SampleKind::kPoints:
    return draw_point(drawing, random);
  case SampleKind::kBeside:
    return draw_beside(drawing, random);
  case SampleKind::kSpread:
    return draw_spread(drawing, random);
  case SampleKind::kStretched:
    return random.normal() * drawing.limit;
  }
  return 0;
}

double draw_mask(DataType type, const ValueRole& role, Random& random) {
  if (role.is_scaled_mask) return random.one_in(4) ? 0 : 1;
  if (!random.one_in(4)) return 0;
  if (random.one_in(2)) return -std::numeric_limits<double>::infinity();
  return type == DataType::kFloat16 ? -65504 : -1e9;
}

/// The ends of what may be read, the model's own numbers, and all others in turn.
double draw_index_point(const Drawing& drawing, double least, double bound, Random& random) {
  switch (random.bits() % 4) {
  case 0:
    return random.one_in(2) ? bound - 1 : least;
  case 1:
    if (const auto landmark = any_landmark(drawing, random);
        landmark && *landmark >= least && *landmark < bound)
      return std::trunc(*landmark);
    return 0;
  default:
    return std::fmod(static_cast<double>(drawing.position), bound);
  }
}

double draw_index(const Drawing& drawing, Random& random) {
  const SampleKind kind = drawing.kind;
  const auto bound = static_cast<double>(drawing.role.index_bound);
  if (kind == SampleKind::kZero) return 0;
  const auto least = static_cast<double>(drawing.role.least_index);
  if (is_about_points(kind)) return draw_index_point(drawing, least, bound, random);
  const bool wraps = kind == SampleKind::kExtreme || kind == SampleKind::kTiny;
  return random.integer(wraps ? least : std::max(least, 0.0), bound - 1);
}

/// An integer of any magnitude up to the limit.
double draw_spread_integer(double limit, Random& random) {
  const double size = std::floor(std::exp2(random.uniform() * std::log2(limit)));
  return random.one_in(2) ? size : -size;
}

double draw_integer(const Drawing& drawing, Random& random) {
  const auto [low, high] = range_of(drawing.type);
  const auto within = [low = low, high = high](double value) {
    return std::clamp(value, low, high);
  };
  const auto between = [&, low = low, high = high](double a, double b) {
    return random.integer(std::max(a, low), std::min(b, high));
  };
  switch (drawing.kind) {
  case SampleKind::kNormal:
    return high < 256 ? between(low, high) : between(-8, 8);
  case SampleKind::kExtreme:
    return between(-1000, 1000);
  case SampleKind::kHuge: {
    // A double has no neighbors of the ends of 64 bits nearer than a thousand.
    const double step = high > 0x1p53 ? 1024 : 1;
    const double off = step * random.integer(high > 0x1p53 ? 1 : 0, 3);
    return random.one_in(2) ? high - off : low + off;
  }
  case SampleKind::kMasks:
  case SampleKind::kTiny:
    return between(0, 1);
  case SampleKind::kZero:
    return 0;
  case SampleKind::kOne:
    return 1;
  case SampleKind::kHalves:
    return between(-8, 8);
  case SampleKind::kPoints:
  case SampleKind::kBeside:
    // Doubles hold no integers beyond 2^53 with their neighbors.
    if (const auto landmark = any_landmark(drawing, random))
      return within(std::clamp(std::trunc(*landmark), -0x1p53, 0x1p53) + random.integer(-1, 1));
    return between(-64, 64);
  case SampleKind::kSpread:
    return within(draw_spread_integer(std::sqrt(high), random));
  case SampleKind::kStretched:
    return between(-100, 100);
  }
  return 0;
}

/// Sizes that a node takes from an input may be no larger, or they ask for too much memory.
constexpr double kLargestOpaque = 1000;

double draw_opaque(const Drawing& drawing, Random& random) {
  switch (drawing.kind) {
  case SampleKind::kExtreme:
  case SampleKind::kHuge:
  case SampleKind::kHalves:
  case SampleKind::kPoints:
  case SampleKind::kSpread: {
    const double low = std::max(range_of(drawing.type).low, -kLargestOpaque);
    if (random.one_in(2)) return random.integer(std::max(low, -8.0), 8);
    return std::max(
        low, std::min(draw_spread_integer(kLargestOpaque, random), range_of(drawing.type).high));
  }
  default:
    return random.integer(0, 1);
  }
}

/// Neither a division by zero nor one of the smallest number by −1, which ends processes: what is
/// divided is below a thousand then.
double draw_divisor(const Drawing& drawing, Random& random) {
  const double size = random.integer(1, is_about_points(drawing.kind) ? 16 : 4);
  const bool may_be_negative =
      drawing.kind != SampleKind::kNormal && range_of(drawing.type).low < 0;
  return may_be_negative && random.one_in(2) ? -size : size;
}

double draw(const Drawing& drawing, Random& random) {
  const ValueRole& role = drawing.role;
  if (core::is_floating(drawing.type)) {
    if (drawing.kind == SampleKind::kMasks && (role.is_mask || role.is_scaled_mask))
      return draw_mask(drawing.type, role, random);
    return draw_real(drawing, random);
  }
  if (drawing.type == DataType::kBool) {
    if (drawing.kind == SampleKind::kZero) return 0;
    return drawing.kind == SampleKind::kOne || random.one_in(2) ? 1 : 0;
  }
  if (role.index_bound > 0) return draw_index(drawing, random);
  if (role.is_divisor) return draw_divisor(drawing, random);
  if (role.is_opaque) return draw_opaque(drawing, random);
  return draw_integer(drawing, random);
}

/// The largest magnitude of a spread sample. Beside the largest element small ones do not show, so
/// it is a landmark's if there are large ones, or one of three.
double spread_limit(DataType type, const std::vector<double>& landmarks, std::uint64_t seed) {
  std::vector<double> limits = {root_of_largest(type, 2), root_of_largest(type, 2),
                                root_of_largest(type, 4), ordinary_limit(type)};
  for (const double landmark : landmarks)
    if (std::abs(landmark) > ordinary_limit(type) && std::abs(landmark) * 16 < limits.front())
      limits.push_back(std::abs(landmark) * 16);
  return limits[seed / 8 % limits.size()];  // so that samples take turns
}

/// The landmarks that a sample is drawn about: with few digits for kHalves, and otherwise no larger
/// than the sample's other numbers may be.
std::vector<double> drawn_about(const Drawing& drawing, std::vector<double> landmarks) {
  if (!core::is_floating(drawing.type)) return landmarks;
  const double most =
      drawing.kind == SampleKind::kSpread ? drawing.limit : ordinary_limit(drawing.type);
  std::erase_if(landmarks, [&](double value) {
    return drawing.kind == SampleKind::kHalves ? !is_short(value) : std::abs(value) > most;
  });
  return landmarks;
}

/// In every other sample only those that are larger than ordinary numbers, if there are any: beside
/// them differences about ordinary ones do not show.
std::vector<double> drawn_beside(const Drawing& drawing, std::vector<double> landmarks,
                                 std::uint64_t seed) {
  const double ordinary = ordinary_limit(drawing.type), most = root_of_largest(drawing.type, 4);
  const auto is_large = [&](double value) {
    return std::abs(value) > ordinary && std::abs(value) <= most;
  };
  if (seed % 2 == 0 && std::ranges::any_of(landmarks, is_large)) {
    std::erase_if(landmarks, [&](double value) { return !is_large(value); });
    return landmarks;
  }
  return drawn_about(drawing, std::move(landmarks));
}

bool needs_landmarks(SampleKind kind) {
  return kind == SampleKind::kHalves || is_about_points(kind) || kind == SampleKind::kSpread;
}

/// One of each in turn, so that the first of both are among the first.
std::vector<double> in_turn(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all;
  for (std::size_t k = 0; k < std::max(a.size(), b.size()); ++k) {
    if (k < a.size()) all.push_back(a[k]);
    if (k < b.size()) all.push_back(b[k]);
  }
  return all;
}

/// The landmarks of each input, and those of another graph.
std::vector<std::vector<double>> all_landmarks(const core::Graph& graph,
                                               const Landmarks& landmarks) {
  auto all = landmarks_by_input(graph);
  for (std::size_t k = 0; k < std::min(all.size(), landmarks.by_input.size()); ++k)
    all[k] = in_turn(all[k], landmarks.by_input[k]);
  return all;
}

Drawing drawing_of(DataType type, SampleKind kind, const ValueRole& role,
                   const std::vector<double>& landmarks, std::uint64_t seed) {
  Drawing drawing{type, kind, role, {}, 0, 0};
  if (kind == SampleKind::kSpread && core::is_floating(type))
    drawing.limit = spread_limit(type, landmarks, seed);
  if (needs_landmarks(kind))
    drawing.landmarks = kind == SampleKind::kBeside && core::is_floating(type)
                            ? drawn_beside(drawing, landmarks, seed)
                            : drawn_about(drawing, landmarks);
  return drawing;
}

core::Literal literal_of(const core::TensorType& type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(runtime::storage_bytes(type));
  runtime::store_elements(type, runtime::Layout::kRowMajor, values, bytes.data());
  return core::Literal::copy(type.data_type, core::concrete(type.shape).value(), bytes);
}

}  // namespace

std::string_view to_string(SampleKind kind) {
  switch (kind) {
  case SampleKind::kNormal:
    return "ordinary values";
  case SampleKind::kExtreme:
    return "large values";
  case SampleKind::kHuge:
    return "values up to the ends of their types";
  case SampleKind::kMasks:
    return "masks and flags";
  case SampleKind::kZero:
    return "zeros";
  case SampleKind::kOne:
    return "ones";
  case SampleKind::kTiny:
    return "tiny values";
  case SampleKind::kHalves:
    return "halves and small numbers";
  case SampleKind::kPoints:
    return "values about the model's own numbers";
  case SampleKind::kBeside:
    return "values beside the model's own numbers";
  case SampleKind::kSpread:
    return "values of all magnitudes";
  case SampleKind::kStretched:
    return "stretched values";
  }
  return "";
}

bool is_level(SampleKind kind) {
  return kind == SampleKind::kZero || kind == SampleKind::kOne || kind == SampleKind::kTiny;
}

bool is_about_points(SampleKind kind) {
  return kind == SampleKind::kPoints || kind == SampleKind::kBeside;
}

bool is_short(double value) {
  int exponent = 0;
  const double digits = std::frexp(value, &exponent) * 0x1p10;
  return digits == std::trunc(digits) && std::abs(exponent) < 15;
}

bool has_plain_integers(const core::Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [&](core::TensorId id) {
    const DataType type = graph.tensor(id).type.data_type;
    return !core::is_floating(type) && type != DataType::kBool;
  });
}

bool is_wide(SampleKind kind) { return kind == SampleKind::kHuge || kind == SampleKind::kSpread; }

std::vector<core::Literal> sample_inputs(const core::Graph& graph, SampleKind kind,
                                         std::uint64_t seed, const Landmarks& landmarks) {
  const std::vector<ValueRole> roles = value_roles(graph);
  const auto about = needs_landmarks(kind) ? all_landmarks(graph, landmarks)
                                           : std::vector<std::vector<double>>(roles.size());
  Random random(seed * 0x9e3779b97f4a7c15U + 1);
  // All inputs share a factor, so that they keep their proportions.
  const double factor = std::exp2(14 * Random(seed).uniform());
  std::vector<core::Literal> result;
  for (std::size_t k = 0; k < roles.size(); ++k) {
    const core::TensorType& type = graph.tensor(graph.inputs()[k]).type;
    const core::Dims dims = core::concrete(type.shape).value();
    if (core::size_bytes(type.data_type) == 0) {  // texts: nothing here reads them
      result.push_back(core::Literal::copy(type.data_type, dims, {}));
      continue;
    }
    std::vector<double> values(static_cast<std::size_t>(core::element_count(dims)));
    Drawing drawing = drawing_of(type.data_type, kind, roles[k], about[k], seed);
    if (kind == SampleKind::kStretched)
      drawing.limit = std::min(factor, ordinary_limit(type.data_type));
    drawing.position = seed * values.size();
    for (double& value : values) {
      value = draw(drawing, random);
      ++drawing.position;
    }
    result.push_back(literal_of(type, values));
  }
  return result;
}

bool can_sample(const core::Graph& graph) {
  return std::ranges::none_of(graph.inputs(), [&](core::TensorId id) {
    return graph.tensor(id).type.data_type == core::DataType::kOther;
  });
}

std::vector<core::Literal> with_plain_integers(const core::Graph& graph,
                                               std::vector<core::Literal> inputs, int attempt) {
  const auto plain = sample_inputs(graph, attempt == 1 ? SampleKind::kZero : SampleKind::kOne, 0);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (!core::is_floating(inputs[k].data_type())) inputs[k] = plain[k];
  return inputs;
}

std::vector<core::Literal> stretched(const std::vector<core::Literal>& inputs, double factor) {
  std::vector<core::Literal> result;
  for (const core::Literal& input : inputs) {
    if (!core::is_floating(input.data_type())) {
      result.push_back(input);
      continue;
    }
    const double most = largest_real(input.data_type());
    std::vector<double> values = input.to_doubles();
    for (double& value : values) value = std::clamp(value * factor, -most, most);
    result.push_back(literal_of({input.data_type(), core::to_shape(input.dims()), true}, values));
  }
  return result;
}

std::vector<core::Literal> perturbed(const std::vector<core::Literal>& inputs, std::uint64_t seed) {
  Random random(seed + 17);
  std::vector<core::Literal> result;
  for (const core::Literal& input : inputs) {
    if (!core::is_floating(input.data_type())) {
      result.push_back(input);
      continue;
    }
    const double step = spacing(input.data_type());
    std::vector<double> values = input.to_doubles();
    for (double& value : values) {
      const double moved = value * (1 + step * (random.integer(0, 2) - 1));
      if (std::abs(moved) <= largest_real(input.data_type())) value = moved;
    }
    const core::TensorType type{input.data_type(), core::to_shape(input.dims()), true};
    result.push_back(literal_of(type, values));
  }
  return result;
}

}  // namespace soapstone::search
