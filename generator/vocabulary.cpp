// Instances are all combinations of the values that an operator's schema proposes, less attributes
// that follow from types. Presets name operators and restrict values.
#include "generator/vocabulary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "ops/registry.h"

namespace soapstone::generator {
namespace {

using core::AttributeValue;
using core::Polynomial;
using core::Result;
using Sizes = std::vector<Polynomial>;

constexpr std::array<std::string_view, 4> kPresets{"taso", "vision", "transformer", "all"};

/// Derived from types when the operator is applied. Keep in step with complete_for().
bool follows_from_types(const core::OpSchema& op, std::string_view attribute) {
  const bool window = op.name == "conv" || op.name == "max_pool" || op.name == "average_pool";
  static constexpr std::array<std::string_view, 7> kDerived{"axis", "sizes", "starts", "steps",
                                                            "perm", "shape", "pads"};
  return std::ranges::find(kDerived, attribute) != kDerived.end() ||
         (op.name == "slice" && attribute == "axes") || (window && attribute == "pads");
}

/// One or two operands that are not enumerated make no sense of these.
bool is_enumerable(const core::OpSchema& op) {
  static constexpr std::array<std::string_view, 6> kOthers{"gather", "cast",   "full",
                                                           "eye",    "opaque", "batch_norm"};
  return std::ranges::find(kOthers, op.name) == kOthers.end();
}

std::vector<core::Attributes> combinations(const core::OpSchema& op) {
  std::vector<core::Attributes> result(1);
  for (const core::AttributeSchema& attribute : op.attributes) {
    if (follows_from_types(op, attribute.name)) continue;
    std::vector<AttributeValue> values = attribute.values_to_try;
    if (values.empty() && attribute.default_value) values.push_back(*attribute.default_value);
    std::vector<core::Attributes> longer;
    for (const core::Attributes& sofar : result)
      for (const AttributeValue& value : values) {
        longer.push_back(sofar);
        longer.back().set(attribute.name, value);
      }
    result = std::move(longer);
  }
  return result;
}

std::vector<std::size_t> arities(const core::OpSchema& op, std::size_t most) {
  std::vector<std::size_t> result;
  if (op.max_inputs == core::OpSchema::kAnyNumber) {
    for (std::size_t n = 2; n <= most; ++n) result.push_back(n);
  } else {
    for (std::size_t n = op.min_inputs; n <= op.max_inputs; ++n) result.push_back(n);
  }
  return result;
}

/// How a preset uses an operator.
struct Use {
  std::string_view op;
  std::size_t most_operands = 3;
};

struct Preset {
  std::vector<Use> uses;
  std::vector<std::size_t> ranks;
  std::vector<KernelSize> kernels;
  std::vector<Constant> constants;
  bool vectors = false, scalars = false, strided = false, valid = false, broadcasts = true;
  std::size_t most_axes = 4, most_transposed = 3;
};

Preset taso() {
  return {
      .uses = {{"matmul"},
               {"add"},
               {"mul"},
               {"relu"},
               {"enlarge"},
               {"conv", 2},
               {"max_pool"},
               {"average_pool"},
               {"concat", 2},
               {"split"},
               {"transpose"}},
      .ranks = {2},
      .kernels = {{3, 3}, {1, 1}, {1, 3}},
      .constants = {Constant::kOne, Constant::kIdentity, Constant::kDelta, Constant::kAveragePool},
      .scalars = true,
      .broadcasts = false,
      .most_axes = 2};
}

Preset vision() {
  return {.uses = {{"add"},
                   {"mul"},
                   {"relu"},
                   {"enlarge"},
                   {"conv", 3},
                   {"max_pool"},
                   {"average_pool"},
                   {"global_average_pool"},
                   {"concat", 3},
                   {"split"},
                   {"slice"},
                   {"pad"}},
          .ranks = {},
          .kernels = {{3, 3}, {1, 1}, {1, 3}, {3, 1}, {3, 3, 2}},
          .constants = {Constant::kZero, Constant::kDelta, Constant::kAveragePool},
          .vectors = true,
          .strided = true,
          .valid = true,
          .most_axes = 2};
}

Preset transformer() {
  return {.uses = {{"matmul"},
                   {"add"},
                   {"sub"},
                   {"mul"},
                   {"div"},
                   {"exp"},
                   {"relu"},
                   {"tanh"},
                   {"softmax"},
                   {"layer_norm"},
                   {"rms_norm"},
                   {"reduce_sum"},
                   {"reduce_mean"},
                   {"reduce_max"},
                   {"concat", 2},
                   {"split"},
                   {"transpose"},
                   {"reshape"}},
          .ranks = {2},
          .kernels = {},
          .constants = {Constant::kZero, Constant::kOne},
          .vectors = true,
          .scalars = true};
}

template <class T>
void join(std::vector<T>& into, const std::vector<T>& from) {
  for (const T& value : from)
    if (std::ranges::find(into, value) == into.end()) into.push_back(value);
}

Preset all() {
  Preset result = vision();
  for (const Preset& other : {taso(), transformer()}) {
    for (const Use& use : other.uses)
      if (std::ranges::find(result.uses, use.op, &Use::op) == result.uses.end())
        result.uses.push_back(use);
    join(result.ranks, other.ranks);
    join(result.constants, other.constants);
  }
  result.ranks.push_back(3);
  std::erase(result.kernels, KernelSize{3, 1});  // what 1×3 shows holds for it too
  result.scalars = true;
  return result;
}

bool is_window(std::string_view op) {
  return op == "conv" || op == "max_pool" || op == "average_pool";
}

/// What a preset leaves out of an operator's combinations.
bool admits(const Preset& preset, const core::OpSchema& op, core::Attributes& attributes) {
  if (!is_window(op.name)) return true;
  if (!preset.strided && attributes.get_sizes("strides") != Sizes{1, 1}) return false;
  if (!preset.valid) attributes.set("pads", Sizes{1, 1, 1, 1});
  if (op.name != "conv") return true;
  const bool grouped = std::ranges::any_of(
      preset.kernels, [&](const KernelSize& k) { return k.groups == attributes.get_int("group"); });
  return grouped;
}

Vocabulary build(const Preset& preset) {
  Vocabulary result;
  for (const Use& use : preset.uses) {
    const core::OpSchema* op = ops::registry().find(use.op);
    CHECK(op != nullptr, "a preset names an operator that there is not: " + std::string(use.op));
    for (std::size_t arity : arities(*op, use.most_operands)) {
      if (arity > use.most_operands) continue;
      for (core::Attributes& attributes : combinations(*op))
        if (admits(preset, *op, attributes))
          result.operators.push_back({op, std::move(attributes), arity});
    }
    result.has_images |= is_window(use.op);
  }
  result.constants = preset.constants;
  result.kernels = preset.kernels;
  result.ranks = preset.ranks;
  result.has_vectors = preset.vectors;
  result.has_scalars = preset.scalars;
  result.has_broadcasts = preset.broadcasts;
  result.most_axes = preset.most_axes;
  result.most_transposed = preset.most_transposed;
  return result;
}

}  // namespace

bool Vocabulary::has(std::string_view op) const {
  return std::ranges::any_of(operators,
                             [&](const OperatorInstance& i) { return i.op->name == op; });
}

std::span<const std::string_view> preset_names() { return kPresets; }

Result<Vocabulary> preset(std::string_view name) {
  if (name == "taso") return build(taso());
  if (name == "vision") return build(vision());
  if (name == "transformer") return build(transformer());
  if (name == "all") return build(all());
  return core::Error{core::ErrorCode::kUsage,
                     fmt::format("there is no preset '{}'", name),
                     {},
                     fmt::format("presets are {}", fmt::join(kPresets, ", "))};
}

Result<Vocabulary> vocabulary_of(std::span<const std::string> operators,
                                 std::span<const std::size_t> ranks) {
  Preset wanted;
  for (const std::string& name : operators) {
    const core::OpSchema* op = ops::registry().find(name);
    if (op == nullptr)
      return core::Error{core::ErrorCode::kUsage,
                         fmt::format("there is no operator '{}'", name),
                         {},
                         "docs/operators.md lists all operators"};
    if (!is_enumerable(*op) || (op->max_inputs != core::OpSchema::kAnyNumber && op->max_inputs > 3))
      return core::Error{core::ErrorCode::kUsage,
                         fmt::format("'{}' cannot be enumerated", name),
                         {},
                         "leave it out"};
    wanted.uses.push_back({op->name});
    if (name == "conv") wanted.kernels = {{3, 3}, {1, 1}};
    if (name == "layer_norm" || name == "rms_norm") wanted.vectors = true;
  }
  wanted.ranks.assign(ranks.begin(), ranks.end());
  const bool images =
      std::ranges::any_of(wanted.uses, [](const Use& u) { return is_window(u.op); });
  if (ranks.empty() && !images) wanted.ranks = {2};
  wanted.strided = wanted.valid = true;
  wanted.constants = {Constant::kZero, Constant::kOne};
  return build(wanted);
}

}  // namespace soapstone::generator
