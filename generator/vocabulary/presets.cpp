// The themes as data. Each has as few inputs and attribute values as show every law once: a law
// along dimension 0 and dimension 1 holds along others too.
#include "generator/vocabulary/presets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/base/check.h"

namespace soapstone::generator {
namespace {

using core::AttributeValue;
using core::Polynomial;
using Sizes = std::vector<Polynomial>;
using Uses = std::vector<OperatorUse>;

constexpr std::array<std::string_view, 5> kPresets{"taso", "algebra", "vision", "transformer",
                                                   "all"};

Theme make(std::string name, const Uses& uses, Vocabulary world, int ops_less = 0) {
  for (const OperatorUse& use : uses)
    for (OperatorInstance& instance : instances_of(use))
      world.operators.push_back(std::move(instance));
  return {std::move(name), std::move(world), ops_less};
}

const std::vector<AttributeValue> kOneStep{Sizes{1, 1}}, kUngrouped{Polynomial(1)};
/// A window that moves by one and keeps the size of the image.
OperatorUse plain(std::string_view op, std::size_t most_operands = 2) {
  return {op, most_operands, {{"strides", kOneStep}, {"group", kUngrouped}}};
}

Theme taso() {
  return make(
      "taso",
      {{"matmul"},
       {"add"},
       {"mul"},
       {"relu"},
       {"enlarge", 1, {{"kernel", {Sizes{3, 3}}}}},
       plain("conv"),
       plain("max_pool"),
       plain("average_pool"),
       {"concat", 2},
       {"split"},
       {"transpose"}},
      {.constants = {Constant::kOne, Constant::kIdentity, Constant::kDelta, Constant::kAveragePool},
       .kernels = {{3, 3}, {1, 1}, {1, 3}},
       .ranks = {2},
       .has_images = true,
       .has_scalars = true,
       .counts = {.kernels = 3, .tensors = 4},
       .most_axes = 2,
       .has_broadcasts = false});
}

/// What is associative, commutative or distributive, of any matrices: of two alone, as in the theme
/// behind it, each use of such a law would be a law of its own.
Theme laws() {
  Theme theme = make(
      "laws", {{"matmul"}, {"add"}, {"mul"}, {"max"}, {"sub"}, {"neg"}, {"relu"}, {"transpose"}},
      {.constants = {Constant::kZero},
       .ranks = {2},
       .counts = {.tensors = 4},
       .has_broadcasts = false});
  theme.most_ops = 3;
  return theme;
}

const Uses kFunctions{{"neg"}, {"exp"}, {"log"}, {"sqrt"}, {"relu"}, {"abs"}};
const Uses kSigmoids{{"tanh"}, {"sigmoid"}};

Uses joined(std::initializer_list<Uses> lists) {
  Uses all;
  for (const Uses& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// Twenty operators on two square matrices.
Theme algebra() {
  return make("algebra",
              joined({{{"matmul"}, {"add"}, {"mul"}, {"max"}, {"sub"}},
                      kFunctions,
                      kSigmoids,
                      {{"erf"},
                       {"reciprocal"},
                       {"hard_swish"},
                       {"transpose"},
                       {"softmax"},
                       {"reduce_sum", 1, {{"axes", {Sizes{0}}}, {"keep_dims", {Polynomial(1)}}}},
                       {"reduce_max", 1, {{"axes", {Sizes{0}}}, {"keep_dims", {Polynomial(1)}}}}}}),
              {.constants = {Constant::kZero},
               .ranks = {2},
               .counts = {.tensors = 2},
               .has_broadcasts = false});
}

Theme matrices() {
  return make("matrices",
              {{"matmul"}, {"add"}, {"mul"}, {"relu"}, {"transpose"}, {"concat", 2}, {"split"}},
              {.constants = {Constant::kZero, Constant::kOne, Constant::kIdentity},
               .ranks = {2},
               .counts = {.tensors = 4},
               .has_broadcasts = false});
}

/// All operands of one type: broadcasting has a theme of its own.
Theme arithmetic() {
  return make("arithmetic", {{"add"}, {"sub"}, {"mul"}, {"div"}, {"neg"}, {"reciprocal"}},
              {.constants = {Constant::kZero, Constant::kOne}, .ranks = {2}});
}

Theme functions() {
  return make("functions", joined({{{"add"}, {"mul"}}, kFunctions, {{"max"}, {"min"}}, kSigmoids}),
              {.ranks = {2}, .counts = {.tensors = 2}});
}

Theme activations() {
  return make("activations",
              {{"relu"},
               {"leaky_relu"},
               {"clip"},
               {"sigmoid"},
               {"hard_sigmoid"},
               {"hard_swish"},
               {"gelu"},
               {"tanh"},
               {"mul"},
               {"add"}},
              {.ranks = {2}, .has_scalars = true, .counts = {.tensors = 2, .scalars = 1}});
}

Theme broadcasting() {
  return make("broadcasting", {{"add"}, {"sub"}, {"mul"}, {"relu"}, {"matmul"}},
              {.ranks = {2},
               .has_vectors = true,
               .has_scalars = true,
               .counts = {.tensors = 2, .vectors = 2, .scalars = 1}});
}

Theme reductions() {
  return make("reductions",
              {{"reduce_sum", 1, {{"keep_dims", {Polynomial(1)}}}},
               {"reduce_mean", 1, {{"keep_dims", {Polynomial(1)}}}},
               {"reduce_max", 1, {{"keep_dims", {Polynomial(1)}}}},
               {"add"},
               {"mul"},
               {"relu"},
               {"matmul"}},
              {.ranks = {2}, .has_scalars = true, .counts = {.tensors = 2, .scalars = 1}});
}

Theme softmax() {
  return make("softmax",
              {{"softmax"},
               {"exp"},
               {"div"},
               {"sub"},
               {"add"},
               {"reduce_sum", 1, {{"axes", {Sizes{1}}}, {"keep_dims", {Polynomial(1)}}}},
               {"reduce_max", 1, {{"axes", {Sizes{1}}}, {"keep_dims", {Polynomial(1)}}}}},
              {.ranks = {2}, .counts = {.tensors = 2}});
}

Theme norms() {
  return make("norms", {{"layer_norm"}, {"rms_norm"}, {"add"}, {"mul"}},
              {.ranks = {2}, .has_vectors = true, .counts = {.tensors = 2, .vectors = 2}}, 1);
}

Theme batched() {
  return make("batched", {{"matmul"}, {"transpose"}, {"reshape"}, {"add"}, {"relu"}},
              {.ranks = {2, 3}, .counts = {.tensors = 2}});
}

Theme layout() {
  return make("layout",
              {{"transpose"}, {"reshape"}, {"concat", 2}, {"split"}, {"slice"}, {"pad"}, {"relu"}},
              {.ranks = {2, 3}, .counts = {.tensors = 2}, .most_axes = 2});
}

Theme joining() {
  Theme theme = make("joining", {{"concat", 3}, {"split"}, {"slice"}, {"relu"}, {"add"}},
                     {.ranks = {2}, .most_axes = 2, .most_parts = 3, .has_broadcasts = false});
  theme.most_ops = 3;
  return theme;
}

Theme convolution() {
  return make("convolution",
              {plain("conv", 3),
               {"relu"},
               {"add"},
               {"enlarge", 1, {{"kernel", {Sizes{3, 3}}}}},
               {"concat", 2},
               {"split"}},
              {.constants = {Constant::kZero, Constant::kDelta},
               .kernels = {{3, 3}, {1, 1}},
               .has_images = true,
               .has_vectors = true,
               .counts = {.images = 2},
               .most_axes = 2,
               .has_broadcasts = false});
}

Theme strides() {
  return make("strides",
              {{"conv", 2, {{"group", kUngrouped}}, true, true},
               {"pad"},
               {"slice"},
               {"add"},
               {"enlarge", 1, {{"kernel", {Sizes{3, 3}}}}}},
              {.constants = {Constant::kDelta},
               .kernels = {{3, 3}, {1, 1}, {1, 3}, {3, 1}},
               .has_images = true,
               .counts = {.images = 2},
               .has_broadcasts = false});
}

Theme groups() {
  return make("groups",
              {{"conv", 2, {{"strides", kOneStep}}}, {"relu"}, {"add"}, {"concat", 2}, {"split"}},
              {.kernels = {{3, 3}, {3, 3, 2}},
               .has_images = true,
               .counts = {.images = 2},
               .most_axes = 2,
               .has_broadcasts = false});
}

Theme depthwise() {
  const std::vector<AttributeValue> counts{Polynomial(1), Polynomial(2), Polynomial(4)};
  return make("depthwise",
              {{"conv", 2, {{"strides", kOneStep}, {"group", counts}}},
               {"relu"},
               {"add"},
               {"concat", 2},
               {"split"}},
              {.constants = {Constant::kDelta},
               .kernels = {{3, 3, 2}, {1, 1}},
               .has_images = true,
               .channels = 2,
               .counts = {.images = 2},
               .most_axes = 2,
               .has_broadcasts = false});
}

Theme pools() {
  return make("pools",
              {{"max_pool", 1, {}, true, true},
               {"average_pool", 1, {}, true, true},
               {"global_average_pool"},
               {"relu"},
               {"add"},
               {"mul"},
               {"concat", 2},
               {"pad"}},
              {.has_images = true,
               .has_scalars = true,
               .counts = {.images = 2, .scalars = 1},
               .most_axes = 2});
}

/// Scales and biases move through convolutions into weights.
Theme scaling() {
  return make("scaling", {plain("conv", 3), {"mul"}, {"add"}, {"reshape"}},
              {.kernels = {{3, 3}},
               .has_images = true,
               .has_vectors = true,
               .has_channel_scales = true,
               .counts = {.images = 2, .kernels = 2, .vectors = 2, .scalars = 1}});
}

Theme batch_norms() {
  return make("batch_norms",
              {{"batch_norm"}, {"add"}, {"relu"}, {"reshape"}, {"concat", 2}, {"transpose"}},
              {.has_images = true,
               .has_vectors = true,
               .has_channel_scales = true,
               .counts = {.images = 2, .vectors = 4, .scalars = 1},
               .most_variables = 6,
               .most_axes = 1},
              1);
}

Theme lookups() {
  return make("lookups",
              {{"gather"}, {"concat", 2}, {"add"}, {"mul"}, {"relu"}, {"matmul"}, {"transpose"}},
              {.ranks = {2}, .has_indices = true, .counts = {.tensors = 2}});
}

}  // namespace

std::span<const std::string_view> preset_names() { return kPresets; }

core::Result<Preset> preset(std::string_view name) {
  Preset result{std::string(name), {}};
  const auto take = [&](std::initializer_list<Theme (*)()> themes) {
    for (const auto& theme : themes) result.themes.push_back(theme());
  };
  const bool all = name == "all";
  if (name == "taso") take({taso});
  if (name == "algebra") take({laws, algebra});
  if (all || name == "transformer")
    take({matrices, arithmetic, functions, activations, broadcasting, reductions, softmax, norms,
          batched, layout, joining, lookups});
  if (all || name == "vision")
    take({convolution, strides, groups, depthwise, pools, scaling, batch_norms});
  if (name == "vision") take({activations, layout, joining});
  if (!result.themes.empty()) return result;
  return core::Error{core::ErrorCode::kUsage,
                     fmt::format("there is no preset '{}'", name),
                     {},
                     fmt::format("presets are {}", fmt::join(kPresets, ", "))};
}

}  // namespace soapstone::generator
