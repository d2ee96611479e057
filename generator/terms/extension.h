// All terms of one more operator that have a given term as their largest operand.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "generator/terms/values.h"

namespace soapstone::generator {

/// A term that was evaluated.
struct EvaluatedTerm {
  Term term;
  std::uint16_t variant = 0;    ///< With the smallest values; the fingerprint is made of it.
  std::uint16_t symmetric = 0;  ///< 1: another variant has the same values.
};

/// Representatives by number of operators and type, ascending.
using TermsByType = std::vector<std::pair<TypeIndex, std::vector<TermId>>>;
struct LevelIndex {
  std::vector<TermsByType> levels;
  void add(int ops, TypeIndex type, TermId id);
};

/// Permutations of a term's variables, other than the identity, that leave its value as it is.
using Symmetries = std::vector<Renaming>;
template <class T>
Symmetries symmetries_of(const ValueView<T>& values, std::size_t worlds, const Variants& variants,
                         LazyValues<T>* lazy = nullptr);

/// Finds the fingerprint of a class; see fingerprint.cpp.
template <class T>
class Fingerprinter {
 public:
  explicit Fingerprinter(std::size_t worlds) : worlds_(worlds) {}
  /// `to_child[k][v]` is the variant of operand k in variant v.
  /// Operand `lazy_position` is asked for one variant after the other.
  void run(const Application& application, std::span<const ValueView<T>> operands,
           std::span<const std::uint16_t* const> to_child, const Variants& variants,
           const ValueType& type, EvaluatedTerm& candidate, LazyValues<T>* lazy = nullptr,
           std::size_t lazy_position = 0);
  /// The same of values that are there.
  void run(const ValueView<T>& values, TypeIndex result_type, const Variants& variants,
           EvaluatedTerm& candidate, LazyValues<T>* lazy = nullptr);

 private:
  template <class Values>
  void smallest(Values&& values_at, TypeIndex result_type, const Variants& variants,
                EvaluatedTerm& candidate);
  /// Finds the marks, and which variables have influence.
  template <class Values>
  std::uint32_t mark_variables(Values& values_at, const Variants& variants,
                               const Fingerprint& alike);
  bool follows_marks(const Variants& variants, std::uint32_t mask, Renaming slots) const;
  std::size_t worlds_;
  std::array<Fingerprint, kMostVariables> marks_;
  std::vector<T> buffer_;
  std::vector<std::uint16_t> tied_, still_tied_;
};

struct ExtensionInputs {
  const TermTable& terms;
  const VariantSpace& space;
  const ValueStore<std::uint64_t>& values;
  const LevelIndex& index;
  const std::unordered_map<TermId, Symmetries>& symmetries;
  unsigned most_variables;
};

/// One for each thread.
class Extender {
 public:
  explicit Extender(const ExtensionInputs& inputs);
  /// Appends all terms of `ops` operators whose largest operand (the first such) is `driver`, which
  /// has `driver_ops`.
  void extend(TermId driver, int driver_ops, int ops, std::vector<EvaluatedTerm>& found);

 private:
  void choose_partner(std::size_t position, int ops_left);
  void name_variable(std::size_t position, std::size_t g, unsigned k, std::size_t variable,
                     unsigned used, Renaming names, VariableCounts counts);
  bool repeats_operands() const;
  bool is_canonical(TermId partner, Renaming names) const;
  void emit(VariableCounts counts);
  ValueView<std::uint64_t> load_driver();
  const Symmetries* symmetries_of_term(TermId id) const;

  ExtensionInputs in_;
  VariantMaps maps_;
  Fingerprinter<std::uint64_t> fingerprinter_;
  LazyValues<std::uint64_t> driver_values_;
  bool is_lazy_ = false;  // the driver's values are not stored
  Symmetries driver_symmetries_;

  TermId driver_ = kNoTerm;
  int driver_ops_ = 0;
  int others_ops_ = 0;  // of all operands but the driver
  std::size_t arity_ = 1, driver_position_ = 0;
  std::array<TermId, kMostChildren> children_{};
  std::array<TypeIndex, kMostChildren> types_{};
  std::array<Renaming, kMostChildren> names_{};
  std::array<int, kMostChildren> sizes_{};
  std::array<ValueView<std::uint64_t>, kMostChildren> views_;
  std::span<const ApplicationId> applicable_;
  VariableCounts counts_;
  std::vector<EvaluatedTerm>* found_ = nullptr;
};

extern template class Fingerprinter<std::uint64_t>;
extern template class Fingerprinter<double>;

}  // namespace soapstone::generator
