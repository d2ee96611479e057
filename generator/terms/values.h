// Values of terms: all elements, for every variant, at every world. Kept for the terms that will
// be operands again; computed on the fly for the others.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "generator/terms/term.h"
#include "generator/terms/variants.h"
#include "generator/vocabulary/draws.h"

namespace soapstone::generator {

/// Values in the prime field (std::uint64_t) or in doubles.
template <class T>
const ops::CompiledSemantics<T>& compiled(const Application& application, std::size_t world);
template <>
const ops::CompiledSemantics<std::uint64_t>& compiled(const Application& application,
                                                      std::size_t world);
template <>
const ops::CompiledSemantics<double>& compiled(const Application& application, std::size_t world);

/// The place of one term's values: variant v at world w from `begin[w] + v · elements[w]` on.
template <class T>
struct ValueView {
  static constexpr std::size_t kMostWorlds = 3;
  const T* begin[kMostWorlds] = {};
  std::uint32_t elements[kMostWorlds] = {};
  std::span<const T> at(std::size_t world, std::size_t variant) const {
    return {begin[world] + variant * elements[world], elements[world]};
  }
};

/// Child variants, asked for again and again. One for each thread.
class VariantMaps {
 public:
  explicit VariantMaps(const VariantSpace& space) : space_(space) {}
  const std::uint16_t* find(VariableCounts child, Renaming renaming, VariableCounts parent);

 private:
  struct Key {
    std::uint32_t child, renaming, parent;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const;
  };
  const VariantSpace& space_;
  std::unordered_map<Key, std::vector<std::uint16_t>, KeyHash> maps_;
};

template <class T>
class ValueStore {
 public:
  /// Draws the inputs' values; leaves are stored from the start.
  ValueStore(const TermTable& terms, const VariantSpace& space, std::uint64_t seed,
             DrawKind kind = DrawKind::kUsual);

  bool contains(TermId id) const { return id < place_.size() && place_[id] != nullptr; }
  ValueView<T> view(TermId id) const { return view_at(id, place_[id].get()); }
  /// Elements of all variants at all worlds.
  std::size_t size_of(TermId id) const;
  /// Writes them. Precondition: all children are stored, or `view_of` has their values.
  using ViewOf = std::function<ValueView<T>(TermId)>;
  void compute(TermId id, T* values, VariantMaps& maps, const ViewOf& view_of = {}) const;
  /// The state needed to compute one variant after the other.
  struct Operands {
    const Application* application = nullptr;
    std::size_t arity = 0;
    std::array<ValueView<T>, kMostChildren> views;
    std::array<const std::uint16_t*, kMostChildren> to_child{};
    void run(std::size_t world, std::size_t variant, std::span<T> out) const;
  };
  /// Precondition: it is no leaf.
  Operands operands_of(TermId id, VariantMaps& maps, const ViewOf& view_of = {}) const;
  ValueView<T> view_at(TermId id, const T* values) const;

  /// Makes room; different terms may then be stored at the same time.
  void reserve(TermId end) { place_.resize(end); }
  void store(TermId id, VariantMaps& maps);
  std::size_t memory_bytes() const { return bytes_; }
  void note_memory(std::size_t bytes) { bytes_ += bytes; }

  /// The value of one variant at one world, whatever is stored. `room` grows as needed and holds
  /// what is computed; the result is valid as long as it is not cleared. A room is used with one
  /// store alone.
  class Room;
  std::span<const T> evaluate(TermId id, Renaming slots, std::size_t world, Room& room) const;

  const TermTable& terms() const { return terms_; }
  const VariantSpace& space() const { return space_; }

 private:
  std::span<const T> evaluate_operand(TermId id, Renaming slots, std::size_t world,
                                      Room& room) const;
  void draw_inputs(std::uint64_t seed, DrawKind kind);
  void fill_constants();
  void copy_leaf(TermId id, Renaming slots, std::size_t world, T* out) const;

  const TermTable& terms_;
  const VariantSpace& space_;
  std::vector<std::unique_ptr<T[]>> place_;
  std::vector<std::vector<std::vector<T>>> inputs_;  // by leaf, world: slots one after the other
  std::size_t bytes_ = 0;
};

/// Memory for values that are needed for a moment, given out in pieces that do not move; and copies
/// of recent values, since neighbors among many terms have operands in common.
template <class T>
class ValueStore<T>::Room {
 public:
  std::span<T> take(std::size_t count);
  void clear() { piece_ = used_ = 0; }
  struct Recent {
    TermId term = kNoTerm;
    Renaming slots;
    std::size_t world = 0;
    std::vector<T> values;
  };
  /// The place of the value, if it is still there, and the place where it goes.
  Recent& recent(TermId id, Renaming slots, std::size_t world);

 private:
  static constexpr std::size_t kPiece = 1u << 14, kRecent = 512;
  std::vector<std::vector<T>> pieces_;
  std::size_t piece_ = 0, used_ = 0;
  std::vector<Recent> recent_ = std::vector<Recent>(kRecent);
};

/// Values of a term that are not stored, each variant computed when it is first needed.
template <class T>
class LazyValues {
 public:
  explicit LazyValues(const ValueStore<T>& store) : store_(store) {}
  /// Precondition: no leaf; all children are stored, or `view_of` has their values.
  void start(TermId id, VariantMaps& maps, const typename ValueStore<T>::ViewOf& view_of = {});
  ValueView<T> view() const { return view_; }
  void need(std::size_t world, std::size_t variant) {
    if (!known_[world * variants_ + variant]) compute(world, variant);
  }

 private:
  void compute(std::size_t world, std::size_t variant);
  const ValueStore<T>& store_;
  typename ValueStore<T>::Operands operands_;
  std::vector<T> values_;
  std::vector<std::uint8_t> known_;
  std::size_t variants_ = 0;
  ValueView<T> view_;
};

extern template class LazyValues<std::uint64_t>;
extern template class LazyValues<double>;
extern template class ValueStore<std::uint64_t>;
extern template class ValueStore<double>;

}  // namespace soapstone::generator
