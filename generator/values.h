// Values of terms: all elements, for every variant, at every world. Kept for the terms that will
// be operands again; computed on the fly for the others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "generator/term.h"
#include "generator/variants.h"

namespace soapstone::generator {

/// Values in the prime field (std::uint64_t) or in doubles.
template <class T>
const ops::CompiledSemantics<T>& compiled(const Application& application, std::size_t world);

/// Where the values of one term lie: variant v at world w from `begin[w] + v · elements[w]` on.
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
  ValueStore(const TermTable& terms, const VariantSpace& space, std::uint64_t seed);

  bool contains(TermId id) const { return id < place_.size() && place_[id] != nullptr; }
  ValueView<T> view(TermId id) const { return view_at(id, place_[id].get()); }
  /// Elements of all variants at all worlds.
  std::size_t size_of(TermId id) const;
  /// Writes them. Precondition: all children are stored, or `view_of` has their values.
  using ViewOf = std::function<ValueView<T>(TermId)>;
  void compute(TermId id, T* values, VariantMaps& maps, const ViewOf& view_of = {}) const;
  ValueView<T> view_at(TermId id, const T* values) const;

  /// Makes room; different terms may then be stored at the same time.
  void reserve(TermId end) { place_.resize(end); }
  void store(TermId id, VariantMaps& maps);
  std::size_t memory_bytes() const { return bytes_; }
  void note_memory(std::size_t bytes) { bytes_ += bytes; }

  /// The value of one variant at one world, whatever is stored. Slow: for single questions.
  std::vector<T> evaluate(TermId id, Renaming slots, std::size_t world) const;

 private:
  void draw_inputs(std::uint64_t seed);
  void fill_constants();
  void copy_leaf(TermId id, Renaming slots, std::size_t world, T* out) const;

  const TermTable& terms_;
  const VariantSpace& space_;
  std::vector<std::unique_ptr<T[]>> place_;
  std::vector<std::vector<std::vector<T>>> inputs_;  // by leaf, world: slots one after the other
  std::size_t bytes_ = 0;
};

extern template class ValueStore<std::uint64_t>;
extern template class ValueStore<double>;

}  // namespace soapstone::generator
