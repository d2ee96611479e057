// Terms: operators applied to terms, inputs and constants. A term names its inputs 0, 1, … within
// each group; a parent says under which names it uses each of its children, so one term stands for
// all its renamings.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "generator/vocabulary/applications.h"
#include "generator/vocabulary/world.h"

namespace soapstone::generator {

using TermId = std::uint32_t;
inline constexpr TermId kNoTerm = 0xffffffff;
inline constexpr std::size_t kMostChildren = 5;
inline constexpr std::size_t kMostVariables = 8;

/// How many inputs of each group a term uses: 3 bits a group.
struct VariableCounts {
  std::uint32_t bits = 0;
  unsigned of(std::size_t group) const { return (bits >> (3 * group)) & 7u; }
  unsigned total() const;
  void set(std::size_t group, unsigned count);
  bool operator==(const VariableCounts&) const = default;
};

/// The new index (within its group) of each variable of a term, in the order (group, index): 4 bits
/// a variable.
struct Renaming {
  std::uint32_t bits = 0;
  unsigned of(std::size_t variable) const { return (bits >> (4 * variable)) & 15u; }
  void set(std::size_t variable, unsigned index);
  bool operator==(const Renaming&) const = default;
};
/// Every variable keeps its name.
Renaming identity_renaming(VariableCounts counts);
/// Names of the variables of a child's child, given both renamings.
Renaming compose(Renaming inner, VariableCounts inner_counts, Renaming outer,
                 VariableCounts outer_counts);

struct Fingerprint {
  std::uint64_t low = 0, high = 0;
  auto operator<=>(const Fingerprint&) const = default;
};

struct Term {
  /// An ApplicationId; for an input group or a constant see TermTable::leaf.
  std::uint32_t application = 0;
  VariableCounts variables;
  std::array<TermId, kMostChildren> children{kNoTerm, kNoTerm, kNoTerm, kNoTerm, kNoTerm};
  std::array<Renaming, kMostChildren> renamings{};
  Fingerprint fingerprint;  ///< The class's: the same for all renamings of an equal term.
};
static_assert(sizeof(Term) == 64);

/// All terms. Terms 0 … leaf_count()−1 are the input groups, then the constants.
class TermTable {
 public:
  TermTable(Universe universe, std::shared_ptr<const ApplicationTable> applications);

  const Term& operator[](TermId id) const { return chunks_[id / kChunk][id % kChunk]; }
  TermId size() const { return size_; }
  TermId add(const Term& term);
  void remove_last() { --size_; }
  void set_fingerprint(TermId id, const Fingerprint& f) { at(id).fingerprint = f; }

  const Universe& universe() const { return universe_; }
  const ApplicationTable& applications() const { return *applications_; }
  TermId leaf_count() const;
  bool is_variable(TermId id) const { return id < universe_.groups.size(); }
  bool is_constant(TermId id) const { return !is_variable(id) && id < leaf_count(); }
  TypeIndex type(TermId id) const;
  /// Operators in the term as a tree.
  int operator_count(TermId id) const;
  /// Operators one inside the other.
  std::size_t depth(TermId id) const;
  std::size_t memory_bytes() const;

  /// Text as a person writes it: `add(x0, matmul(x1, x2))`.
  std::string to_string(TermId id) const;
  std::string to_string(TermId id, Renaming names) const;

 private:
  Universe universe_;
  std::shared_ptr<const ApplicationTable> applications_;
  // In pieces: one vector would need twice its size whenever it grows.
  static constexpr TermId kChunk = 1u << 16;
  Term& at(TermId id) { return chunks_[id / kChunk][id % kChunk]; }
  std::vector<std::unique_ptr<Term[]>> chunks_;
  TermId size_ = 0;
  std::vector<TypeIndex> leaf_types_;
};

/// A term under other names of its variables.
struct NamedTerm {
  TermId term = kNoTerm;
  Renaming names;
};

/// Graphs of two sides of a rule: `sides[k]` has one output for each of its terms. Both have the
/// same inputs, which are all that either side uses; a subterm that occurs twice is one node, and
/// so are the results of one split. Sizes are symbols of the universe.
/// Errors: kUnsupported where a constant of symbolic size cannot be written.
struct Sides {
  core::Graph source, target;
};
core::Result<Sides> to_graphs(const TermTable& terms, std::span<const NamedTerm> source,
                              std::span<const NamedTerm> target);

}  // namespace soapstone::generator
