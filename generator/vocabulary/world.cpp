// Inputs for a vocabulary, and the sizes at which they are tried.
#include "generator/vocabulary/world.h"

#include <fmt/format.h>

#include <algorithm>

namespace soapstone::generator {
namespace {

using core::Polynomial;
using core::Shape;

/// Chooses symbols, input groups and constants.
class Designer {
 public:
  Designer(const Vocabulary& vocabulary, int ops) : vocabulary_(vocabulary), ops_(ops) {
    const InputCounts& counts = vocabulary_.counts;
    if (vocabulary_.has_images) add_images();
    for (std::size_t rank : vocabulary_.ranks) add_rank(rank);
    if (vocabulary_.has_vectors && !vocabulary_.ranks.empty())
      add_group("v", {matrix_size()}, counts.vectors);
    if (vocabulary_.has_scalars) add_group("s", {}, counts.scalars);
    if (vocabulary_.has_indices) {
      add_group("i", {symbol("m", 4, 5)}, 2);
      universe_.groups.back().type.data_type = core::DataType::kInt64;
      universe_.groups.back().index_bound = 4 * matrix_size();
    }
    if (std::ranges::any_of(vocabulary_.operators,
                            [](const OperatorInstance& i) { return i.op->averages; }))
      universe_.divisor = 1296;  // (2·3)^4: windows and dimensions are of 2, 3, 4, 6, 9, 12
    universe_.worlds.resize(kWorlds);
    for (const auto& sizes : sizes_)
      for (std::size_t w = 0; w < kWorlds; ++w) universe_.worlds[w].sizes.push_back(sizes[w]);
  }

  Universe take() { return std::move(universe_); }

 private:
  /// A symbol with its value in each world.
  Polynomial symbol(const char* name, std::int64_t small, std::int64_t large) {
    return symbol(name, small, large, small);
  }
  Polynomial symbol(const char* name, std::int64_t small, std::int64_t large, std::int64_t third) {
    if (const auto known = universe_.symbols.find(name)) return *known;
    sizes_.push_back({small, large, third});
    return universe_.symbols.intern(name);
  }
  Polynomial matrix_size() { return symbol("n", 2, 3, 3); }

  void add_group(std::string stem, Shape shape, int count) {
    CHECK(universe_.groups.size() < Universe::kMostGroups, "too many groups of inputs");
    universe_.groups.push_back({std::move(stem),
                                {core::DataType::kFloat32, std::move(shape)},
                                static_cast<std::uint8_t>(std::min(count, ops_ + 1))});
  }

  void add_constant(Constant constant, const Shape& shape) {
    if (std::ranges::find(vocabulary_.constants, constant) != vocabulary_.constants.end())
      universe_.constants.push_back({constant, {core::DataType::kFloat32, shape}});
  }

  bool has_strides() const {
    return std::ranges::any_of(vocabulary_.operators, [](const OperatorInstance& i) {
      const core::AttributeSchema* strides = i.op->find_role(core::AttributeRole::kStride);
      return strides != nullptr && i.attributes.get_ints(strides->name) != core::Dims{1, 1};
    });
  }

  void add_images() {
    const InputCounts& counts = vocabulary_.counts;
    const bool grouped =
        std::ranges::any_of(vocabulary_.kernels, [](const KernelSize& k) { return k.groups > 1; });
    const bool is_number = vocabulary_.channels != 0;
    const Polynomial batch = symbol("b", 1, 2);
    const Polynomial channels = is_number ? Polynomial(vocabulary_.channels)
                                : grouped ? 2 * symbol("d", 1, 2)
                                          : symbol("c", 2, 3);
    const bool halved = has_strides();
    const Polynomial height = halved ? 2 * symbol("h", 2, 3) : symbol("h", 3, 4);
    const Polynomial width = halved ? 2 * symbol("w", 3, 2) : symbol("w", 4, 3);
    add_group("x", {batch, channels, height, width}, counts.images);
    for (const KernelSize& k : vocabulary_.kernels) {
      const Polynomial inputs = k.groups == 1 ? channels
                                : is_number   ? Polynomial(vocabulary_.channels / k.groups)
                                              : symbol("d", 1, 2);
      const Shape shape{channels, inputs, k.height, k.width};
      add_group(k.groups == 1 ? fmt::format("w{}{}_", k.height, k.width)
                              : fmt::format("g{}{}_", k.height, k.width),
                shape, k == vocabulary_.kernels[0] ? counts.kernels : 2);
      if (k.groups > 1) continue;
      add_constant(Constant::kDelta, shape);
      if (k.height > 1 && k.width > 1) add_constant(Constant::kAveragePool, shape);
    }
    if (vocabulary_.has_vectors) add_group("u", {channels}, counts.vectors);
    if (vocabulary_.has_channel_scales) {
      add_group("k", {channels, 1, 1}, counts.scalars);
      universe_.shapes.push_back({channels, 1, 1, 1});
    }
    if (vocabulary_.ranks.empty()) add_constant(Constant::kZero, universe_.groups[0].type.shape);
  }

  void add_rank(std::size_t rank) {
    Shape shape;
    if (rank >= 3) shape.push_back(symbol("e", 1, 3));
    if (rank >= 4) shape.push_back(symbol("f", 2, 1));
    while (shape.size() < rank) shape.push_back(matrix_size());
    static constexpr std::array<const char*, 5> kStems{"s", "p", "a", "t", "q"};
    add_group(rank < kStems.size() ? kStems[rank] : fmt::format("r{}_", rank), shape,
              vocabulary_.counts.tensors);
    if (rank != 2) return;
    add_constant(Constant::kZero, shape);
    add_constant(Constant::kOne, shape);
    add_constant(Constant::kIdentity, shape);
  }

  const Vocabulary& vocabulary_;
  int ops_;
  Universe universe_;
  static constexpr std::size_t kWorlds = 3;
  std::vector<std::array<std::int64_t, kWorlds>> sizes_;
};

}  // namespace

core::Dims World::dims(const Shape& shape) const {
  core::Dims result;
  for (const Polynomial& size : shape)
    result.push_back(size.evaluate([&](core::Symbol s) { return sizes[s.id]; }));
  return result;
}

core::Attributes World::attributes(const core::Attributes& of) const {
  core::Attributes result;
  for (const auto& [name, value] : of.values()) {
    if (const auto* size = std::get_if<Polynomial>(&value)) {
      result.set(name, Polynomial(dims({*size})[0]));
    } else if (const auto* list = std::get_if<std::vector<Polynomial>>(&value)) {
      std::vector<Polynomial> numbers;
      for (const std::int64_t number : dims(*list)) numbers.emplace_back(number);
      result.set(name, std::move(numbers));
    } else {
      result.set(name, value);
    }
  }
  return result;
}

Universe make_universe(const Vocabulary& vocabulary, int ops) {
  return Designer(vocabulary, ops).take();
}

ConstantElements elements_of(Constant constant, const core::Dims& dims) {
  ConstantElements result;
  const auto count = static_cast<std::size_t>(core::element_count(dims));
  result.numerators.assign(count, constant == Constant::kOne ? 1 : 0);
  if (constant == Constant::kZero || constant == Constant::kOne) return result;
  const bool kernel = constant != Constant::kIdentity;
  const auto window = static_cast<std::size_t>(kernel ? dims[2] * dims[3] : 1);
  if (constant == Constant::kAveragePool) result.denominator = static_cast<std::int64_t>(window);
  for (std::int64_t i = 0; i < std::min(dims[0], dims[1]); ++i) {
    const std::size_t first = static_cast<std::size_t>(i * dims[1] + i) * window;
    if (constant == Constant::kAveragePool)
      std::fill_n(result.numerators.begin() + static_cast<std::ptrdiff_t>(first), window, 1);
    else
      result.numerators[first + window / 2] = 1;
  }
  return result;
}

}  // namespace soapstone::generator
