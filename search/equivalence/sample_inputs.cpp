// See sample_inputs.h.
#include "search/equivalence/sample_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

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

double draw_real(DataType type, SampleKind kind, Random& random) {
  switch (kind) {
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
  }
  return 0;
}

double draw_mask(DataType type, const ValueRole& role, Random& random) {
  if (role.is_scaled_mask) return random.one_in(4) ? 0 : 1;
  if (!random.one_in(4)) return 0;
  if (random.one_in(2)) return -std::numeric_limits<double>::infinity();
  return type == DataType::kFloat16 ? -65504 : -1e9;
}

double draw_index(SampleKind kind, const ValueRole& role, Random& random) {
  const auto bound = static_cast<double>(role.index_bound);
  if (kind == SampleKind::kZero) return 0;
  const auto least = static_cast<double>(role.least_index);
  const bool wraps = kind == SampleKind::kExtreme || kind == SampleKind::kTiny;
  return random.integer(wraps ? least : std::max(least, 0.0), bound - 1);
}

double draw_integer(DataType type, SampleKind kind, Random& random) {
  const auto [low, high] = range_of(type);
  const auto between = [&, low = low, high = high](double a, double b) {
    return random.integer(std::max(a, low), std::min(b, high));
  };
  switch (kind) {
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
  }
  return 0;
}

double draw(DataType type, SampleKind kind, const ValueRole& role, Random& random) {
  if (core::is_floating(type)) {
    if (kind == SampleKind::kMasks && (role.is_mask || role.is_scaled_mask))
      return draw_mask(type, role, random);
    return draw_real(type, kind, random);
  }
  if (type == DataType::kBool) {
    if (kind == SampleKind::kZero) return 0;
    return kind == SampleKind::kOne || random.one_in(2) ? 1 : 0;
  }
  if (role.index_bound > 0) return draw_index(kind, role, random);
  // Neither a division by zero nor one of the smallest number by −1, which ends processes.
  if (role.is_divisor) return random.integer(1, 4);
  if (role.is_opaque) return random.integer(0, 1);
  return draw_integer(type, kind, random);
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
  }
  return "";
}

bool is_level(SampleKind kind) {
  return kind == SampleKind::kZero || kind == SampleKind::kOne || kind == SampleKind::kTiny;
}

std::vector<core::Literal> sample_inputs(const core::Graph& graph, SampleKind kind,
                                         std::uint64_t seed) {
  const std::vector<ValueRole> roles = value_roles(graph);
  Random random(seed * 0x9e3779b97f4a7c15U + 1);
  std::vector<core::Literal> result;
  for (std::size_t k = 0; k < roles.size(); ++k) {
    const core::TensorType& type = graph.tensor(graph.inputs()[k]).type;
    const core::Dims dims = core::concrete(type.shape).value();
    if (core::size_bytes(type.data_type) == 0) {  // texts: nothing here reads them
      result.push_back(core::Literal::copy(type.data_type, dims, {}));
      continue;
    }
    std::vector<double> values(static_cast<std::size_t>(core::element_count(dims)));
    for (double& value : values) value = draw(type.data_type, kind, roles[k], random);
    result.push_back(literal_of(type, values));
  }
  return result;
}

bool can_sample(const core::Graph& graph) {
  return std::ranges::none_of(graph.inputs(), [&](core::TensorId id) {
    return graph.tensor(id).type.data_type == core::DataType::kOther;
  });
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
