// Generates the data with a counter-based mixer, which is fast and the same everywhere.
#include "cost/timing/random_data.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "core/base/float16.h"
#include "core/base/hash.h"
#include "ops/definition/registry.h"

namespace soapstone::cost {
namespace {

template <class T, class Convert>
void fill_as(std::span<std::byte> bytes, std::uint64_t seed, Convert convert) {
  for (std::size_t at = 0, i = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T), ++i) {
    const T value = convert(core::hash_mix(seed + i));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

float real(std::uint64_t bits) { return 0.5f + static_cast<float>(bits >> 40) * 0x1p-24f; }

}  // namespace

void fill_random(core::DataType type, std::span<std::byte> bytes, std::int64_t integer_bound,
                 std::uint64_t seed) {
  seed = core::hash_mix(seed + 1);
  const auto integer = [integer_bound](std::uint64_t bits) {
    return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(integer_bound));
  };
  switch (type) {
  case core::DataType::kFloat32:
    return fill_as<float>(bytes, seed, real);
  case core::DataType::kFloat64:
    return fill_as<double>(bytes, seed, real);
  case core::DataType::kFloat16:
    return fill_as<std::uint16_t>(bytes, seed,
                                  [](auto bits) { return core::f16_from_float(real(bits)); });
  case core::DataType::kBFloat16:
    return fill_as<std::uint16_t>(bytes, seed,
                                  [](auto bits) { return core::bf16_from_float(real(bits)); });
  default:
    break;
  }
  switch (core::size_bytes(type)) {
  case 8:
    return fill_as<std::int64_t>(bytes, seed, integer);
  case 4:
    return fill_as<std::int32_t>(
        bytes, seed, [&](auto bits) { return static_cast<std::int32_t>(integer(bits)); });
  case 2:
    return fill_as<std::int16_t>(
        bytes, seed, [&](auto bits) { return static_cast<std::int16_t>(integer(bits)); });
  default:
    return fill_as<std::int8_t>(
        bytes, seed, [&](auto bits) { return static_cast<std::int8_t>(integer(bits) & 0x7f); });
  }
}

std::int64_t integer_bound(const core::Graph& graph, const runtime::Launch& launch,
                           core::TensorId input) {
  constexpr std::int64_t kTruthValues = 2;
  std::optional<std::int64_t> least;
  for (const core::NodeId id : launch.nodes()) {
    const core::Node& node = graph.node(id);
    if (ops::is_opaque(node)) continue;
    for (const ops::Requirement& r : ops::semantics_of(graph, id).requirements) {
      const bool is_read = r.value->kind == ops::ExprKind::kRead;
      if (is_read && r.value->tensor < node.inputs.size() && node.inputs[r.value->tensor] == input)
        least = std::min(least.value_or(std::numeric_limits<std::int64_t>::max()),
                         std::max<std::int64_t>(r.high.as_constant().value_or(1), 1));
    }
  }
  return least.value_or(kTruthValues);
}

}  // namespace soapstone::cost
