// Values of leaves, and of terms from those of their operands.
#include "generator/terms/values.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "ops/evaluation/field.h"

namespace soapstone::generator {
namespace {

template <class T>
T fraction(std::int64_t numerator, std::int64_t denominator) {
  if constexpr (std::is_same_v<T, double>)
    return static_cast<double>(numerator) / static_cast<double>(denominator);
  else
    return ops::field_from_rational({numerator, denominator});
}

}  // namespace

template <>
const ops::CompiledSemantics<std::uint64_t>& compiled(const Application& a, std::size_t world) {
  return a.field[world];
}
template <>
const ops::CompiledSemantics<double>& compiled(const Application& a, std::size_t world) {
  return a.real[world];
}

std::size_t VariantMaps::KeyHash::operator()(const Key& k) const {
  return core::hash_combine(core::hash_combine(k.child, k.renaming), k.parent);
}

const std::uint16_t* VariantMaps::find(VariableCounts child, Renaming renaming,
                                       VariableCounts parent) {
  auto [place, is_new] = maps_.try_emplace({child.bits, renaming.bits, parent.bits});
  if (is_new) place->second = space_.child_variants(child, renaming, parent);
  return place->second.data();
}

template <class T>
ValueStore<T>::ValueStore(const TermTable& terms, const VariantSpace& space, std::uint64_t seed,
                          DrawKind kind)
    : terms_(terms), space_(space) {
  CHECK(terms.universe().worlds.size() <= ValueView<T>::kMostWorlds, "too many worlds");
  inputs_.resize(terms_.leaf_count());
  draw_inputs(seed, kind);
  fill_constants();
  reserve(terms_.leaf_count());
  VariantMaps maps(space_);
  for (TermId id = 0; id < terms_.leaf_count(); ++id) store(id, maps);
}

template <class T>
void ValueStore<T>::draw_inputs(std::uint64_t seed, DrawKind kind) {
  const Universe& universe = terms_.universe();
  for (std::size_t g = 0; g < universe.groups.size(); ++g)
    for (std::size_t w = 0; w < universe.worlds.size(); ++w) {
      const core::Dims dims = universe.worlds[w].dims(universe.groups[g].type.shape);
      const auto count = static_cast<std::size_t>(core::element_count(dims));
      std::vector<T> values(count * universe.groups[g].slots());
      const std::int64_t bound = universe.worlds[w].dims({universe.groups[g].index_bound})[0];
      TensorDraw draw{kind,
                      0,
                      g,
                      0,
                      w,
                      dims.empty() ? 1 : static_cast<std::size_t>(dims.back()),
                      universe.divisor};
      for (; draw.slot < universe.groups[g].slots(); ++draw.slot) {
        const auto tensor = std::span(values).subspan(draw.slot * count, count);
        draw.seed = core::hash_combine(core::hash_combine(seed, 16 * g + w), draw.slot);
        if (bound == 0)
          draw_tensor(draw, tensor);
        else
          draw_indices(draw, bound, tensor);
      }
      inputs_[g].push_back(std::move(values));
    }
}

template <class T>
void ValueStore<T>::fill_constants() {
  const Universe& universe = terms_.universe();
  for (std::size_t c = 0; c < universe.constants.size(); ++c)
    for (const World& world : universe.worlds) {
      const ConstantInput& constant = universe.constants[c];
      const ConstantElements e = elements_of(constant.constant, world.dims(constant.type.shape));
      std::vector<T> values;
      for (std::int64_t n : e.numerators) values.push_back(fraction<T>(n, e.denominator));
      inputs_[universe.groups.size() + c].push_back(std::move(values));
    }
}

template <class T>
std::size_t ValueStore<T>::size_of(TermId id) const {
  std::size_t elements = 0;
  for (std::uint32_t e : terms_.applications().type(terms_.type(id)).elements) elements += e;
  return elements * space_.of(terms_[id].variables).size();
}

template <class T>
ValueView<T> ValueStore<T>::view_at(TermId id, const T* values) const {
  ValueView<T> result;
  const ValueType& type = terms_.applications().type(terms_.type(id));
  const std::size_t variants = space_.of(terms_[id].variables).size();
  for (std::size_t w = 0; w < type.elements.size(); ++w) {
    result.begin[w] = values;
    result.elements[w] = type.elements[w];
    values += variants * type.elements[w];
  }
  return result;
}

template <class T>
void ValueStore<T>::copy_leaf(TermId id, Renaming slots, std::size_t world, T* out) const {
  const std::vector<T>& all = inputs_[id][world];
  const std::size_t count = terms_.applications().type(terms_.type(id)).elements[world];
  const std::size_t slot = terms_.is_variable(id) ? slots.of(0) : 0;
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(slot * count), count, out);
}

template <class T>
void ValueStore<T>::compute(TermId id, T* values, VariantMaps& maps, const ViewOf& view_of) const {
  const Term& term = terms_[id];
  const Variants& variants = space_.of(term.variables);
  const ValueType& type = terms_.applications().type(terms_.type(id));
  const std::size_t worlds = type.elements.size();
  if (id < terms_.leaf_count()) {
    for (std::size_t w = 0; w < worlds; ++w)
      for (std::size_t v = 0; v < variants.size(); ++v, values += type.elements[w])
        copy_leaf(id, variants.slots(v), w, values);
    return;
  }
  const Operands operands = operands_of(id, maps, view_of);
  for (std::size_t w = 0; w < worlds; ++w)
    for (std::size_t v = 0; v < variants.size(); ++v, values += type.elements[w])
      operands.run(w, v, {values, type.elements[w]});
}

template <class T>
auto ValueStore<T>::operands_of(TermId id, VariantMaps& maps, const ViewOf& view_of) const
    -> Operands {
  const Term& term = terms_[id];
  Operands result;
  result.application = &terms_.applications()[term.application];
  result.arity = result.application->operands.size();
  for (std::size_t k = 0; k < result.arity; ++k) {
    result.views[k] = view_of ? view_of(term.children[k]) : view(term.children[k]);
    result.to_child[k] =
        maps.find(terms_[term.children[k]].variables, term.renamings[k], term.variables);
  }
  return result;
}

template <class T>
void ValueStore<T>::Operands::run(std::size_t world, std::size_t variant, std::span<T> out) const {
  std::array<std::span<const T>, kMostChildren> inputs;
  for (std::size_t k = 0; k < arity; ++k) inputs[k] = views[k].at(world, to_child[k][variant]);
  compiled<T>(*application, world).compute(std::span(inputs.data(), arity), std::span(&out, 1));
}

template <class T>
void ValueStore<T>::store(TermId id, VariantMaps& maps) {
  auto values = std::make_unique_for_overwrite<T[]>(size_of(id));
  compute(id, values.get(), maps);
  place_[id] = std::move(values);
}

template <class T>
std::span<T> ValueStore<T>::Room::take(std::size_t count) {
  if (piece_ < pieces_.size() && used_ + count > pieces_[piece_].size()) {
    ++piece_;
    used_ = 0;
  }
  if (piece_ == pieces_.size()) pieces_.emplace_back(std::max(count, kPiece));
  if (pieces_[piece_].size() < count) pieces_[piece_].resize(count);
  used_ += count;
  return std::span(pieces_[piece_]).subspan(used_ - count, count);
}

template <class T>
std::span<const T> ValueStore<T>::evaluate(TermId id, Renaming slots, std::size_t world,
                                           Room& room) const {
  if (contains(id)) return view(id).at(world, space_.of(terms_[id].variables).find(slots));
  const Term& term = terms_[id];
  const Application& application = terms_.applications()[term.application];
  const std::size_t arity = application.operands.size();
  std::array<std::span<const T>, kMostChildren> inputs;
  for (std::size_t k = 0; k < arity; ++k)
    inputs[k] = evaluate_operand(
        term.children[k],
        compose(term.renamings[k], terms_[term.children[k]].variables, slots, term.variables),
        world, room);
  const std::span<T> output =
      room.take(terms_.applications().type(application.result).elements[world]);
  compiled<T>(application, world).compute(std::span(inputs.data(), arity), std::span(&output, 1));
  return output;
}

template <class T>
auto ValueStore<T>::Room::recent(TermId id, Renaming slots, std::size_t world) -> Recent& {
  return recent_[(core::hash_mix(id) + core::hash_mix(slots.bits) + world) % kRecent];
}

template <class T>
std::span<const T> ValueStore<T>::evaluate_operand(TermId id, Renaming slots, std::size_t world,
                                                   Room& room) const {
  if (contains(id)) return evaluate(id, slots, world, room);
  auto& known = room.recent(id, slots, world);
  if (known.term == id && known.slots == slots && known.world == world) {
    // A copy: another operand may take its place.
    const std::span<T> copy = room.take(known.values.size());
    std::ranges::copy(known.values, copy.begin());
    return copy;
  }
  const std::span<const T> values = evaluate(id, slots, world, room);
  auto& place = room.recent(id, slots, world);
  place.term = id;
  place.slots = slots;
  place.world = world;
  place.values.assign(values.begin(), values.end());
  return values;
}

template <class T>
void LazyValues<T>::start(TermId id, VariantMaps& maps,
                          const typename ValueStore<T>::ViewOf& view_of) {
  operands_ = store_.operands_of(id, maps, view_of);
  values_.resize(store_.size_of(id));
  view_ = store_.view_at(id, values_.data());
  variants_ = store_.space().of(store_.terms()[id].variables).size();
  known_.assign(variants_ * store_.terms().universe().worlds.size(), 0);
}

template <class T>
void LazyValues<T>::compute(std::size_t world, std::size_t variant) {
  const std::span<const T> place = view_.at(world, variant);
  operands_.run(world, variant, {const_cast<T*>(place.data()), place.size()});
  known_[world * variants_ + variant] = 1;
}

template class LazyValues<std::uint64_t>;
template class LazyValues<double>;
template class ValueStore<std::uint64_t>;
template class ValueStore<double>;

}  // namespace soapstone::generator
