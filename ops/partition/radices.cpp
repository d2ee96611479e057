// Finds common digits: every read that is positional (its terms are digits of one number) makes the
// breaks of the dimensions that it reads and of the variables that it mentions one set.
#include "ops/partition/radices.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace soapstone::ops::partition {
namespace {

/// A dimension or a variable whose positions count `stride` each in a common position.
struct Member {
  std::size_t axis;
  std::int64_t stride;
};
struct Group {
  std::vector<Member> members;
  std::int64_t limit;  ///< Breaks above it are not shared.
};

/// Replaces two breaks of which neither divides the other by their divisor and their multiple.
void make_chain(std::set<std::int64_t>& breaks) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto a = breaks.begin(); a != breaks.end() && !changed; ++a)
      for (auto b = std::next(a); b != breaks.end(); ++b) {
        if (*b % *a == 0) continue;
        const std::int64_t x = *a, y = *b;
        breaks.erase(a);
        breaks.erase(y);
        breaks.insert(std::gcd(x, y));
        breaks.insert(std::lcm(x, y));
        changed = true;
        break;
      }
  }
}

class RadixSearch {
 public:
  RadixSearch(const Semantics& semantics, std::span<const core::Dims> dims) : dims_(dims) {
    for (std::size_t k = 0; k < semantics.input_count; ++k)
      for (std::int64_t size : dims[k]) axes_of_[k].push_back(add_axis(size));
    for (std::size_t s = 0; s < semantics.stages.size(); ++s) {
      const std::size_t tensor = semantics.input_count + s;
      for (std::size_t d = 0; d < dims[tensor].size(); ++d)
        axes_of_[tensor].push_back(variable(semantics.stages[s].index[d], dims[tensor][d]));
    }
  }

  void add(const Access& access) {
    for (const Binder& b : access.binders)
      if (b.low == Polynomial(0) && b.high.is_constant() && b.high.constant() > 0)
        binders_.insert(variable(b.variable, b.high.constant()));
    const core::Dims& dims = dims_[access.tensor];
    const std::vector<std::size_t>& axes = axes_of_[access.tensor];
    if (access.is_flat) {
      std::vector<Member> members;
      std::int64_t stride = 1;
      for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d])
        members.push_back({axes[d], stride});
      return add(access.index[0], std::move(members), stride);
    }
    for (std::size_t d = 0; d < dims.size(); ++d) {
      ++reads_[axes[d]];
      for (Symbol symbol : access.index[d].symbols())
        if (const auto at = variables_.find(symbol); at != variables_.end()) ++reads_[at->second];
      add(access.index[d], {{axes[d], 1}}, dims[d]);
    }
  }

  void search() {
    add_pieces();
    constexpr int kPasses = 8;  // breaks travel from read to read; what is not found stays whole
    for (int pass = 0; needs_search_ && pass < kPasses; ++pass) {
      bool changed = false;
      for (const Group& group : groups_) changed |= share(group);
      if (!changed) break;
    }
    for (auto& breaks : breaks_) make_chain(breaks);
  }

  Radices result(const Semantics& semantics) const {
    Radices radices;
    for (const auto& [symbol, axis] : variables_) radices.variables[symbol] = breaks(axis);
    radices.inputs.resize(semantics.input_count);
    for (std::size_t k = 0; k < semantics.input_count; ++k)
      if (const auto axes = axes_of_.find(k); axes != axes_of_.end())
        for (std::size_t axis : axes->second) radices.inputs[k].push_back(breaks(axis));
    return radices;
  }

 private:
  std::size_t add_axis(std::int64_t size) {
    breaks_.push_back({1, size});
    return breaks_.size() - 1;
  }

  std::size_t variable(Symbol symbol, std::int64_t size) {
    const auto [at, is_new] = variables_.try_emplace(symbol, breaks_.size());
    return is_new ? add_axis(size) : at->second;
  }

  Breaks breaks(std::size_t axis) const { return {breaks_[axis].begin(), breaks_[axis].end()}; }
  std::int64_t size(std::size_t axis) const { return *breaks_[axis].rbegin(); }

  /// The terms as digits: c₀ = 1, and each counts what the one below it spans. None: they are not,
  /// or a sum runs over the outer ones, as over a window whose elements lie far apart.
  std::optional<std::vector<Member>> digits_in(const Polynomial& position) const {
    std::vector<Member> members;
    for (const auto& term : position.terms()) {
      const auto at =
          term.monomial.size() == 1 ? variables_.find(term.monomial[0]) : variables_.end();
      if (at == variables_.end() || term.coefficient < 1) return std::nullopt;
      if (size(at->second) > 1) members.push_back({at->second, term.coefficient});
    }
    std::ranges::sort(members, {}, &Member::stride);
    std::int64_t expected = 1;
    for (const Member& m : members) {
      const bool is_summed = binders_.contains(m.axis);
      if (m.stride != expected || (is_summed && m.stride > 1)) return std::nullopt;
      expected = m.stride * size(m.axis);
    }
    return members.empty() ? std::nullopt : std::optional(members);
  }

  void add(const Polynomial& position, std::vector<Member> read, std::int64_t read_size) {
    const auto digits = digits_in(position);
    if (!digits) return;
    const std::int64_t spanned = digits->back().stride * size(digits->back().axis);
    const std::int64_t constant = position.constant();
    const std::int64_t limit = std::min(spanned, read_size);
    // A smaller piece of a larger whole, on either side, must lie at a multiple of its size.
    if (std::max(spanned, read_size) % limit != 0 || constant % limit != 0 ||
        (spanned == read_size && constant != 0) || (spanned < read_size && constant < 0))
      return;
    const bool is_piece = spanned != read_size;
    if (is_piece && (digits->size() > 1 || read.size() > 1)) return;
    const std::size_t larger = spanned > read_size ? digits->front().axis : read.front().axis;
    needs_search_ |= digits->size() > 1 || read.size() > 1;
    read.insert(read.end(), digits->begin(), digits->end());
    (is_piece ? pieces_[larger] : groups_).push_back({std::move(read), limit});
  }

  /// Pieces of a split or a join are digits if all of them have one size.
  void add_pieces() {
    for (auto& [axis, pieces] : pieces_) {
      const auto limit = pieces.front().limit;
      const bool are_alike =
          std::ranges::all_of(pieces, [&](const Group& piece) { return piece.limit == limit; });
      if (!are_alike || pieces.size() != reads_[axis]) continue;
      groups_.insert(groups_.end(), pieces.begin(), pieces.end());
      needs_search_ = true;
    }
  }

  bool share(const Group& group) {
    std::set<std::int64_t> common{group.limit};
    for (const Member& m : group.members)
      for (std::int64_t b : breaks_[m.axis])
        if (b * m.stride <= group.limit) common.insert(b * m.stride);
    make_chain(common);
    bool changed = false;
    for (const Member& m : group.members)
      for (std::int64_t b : common)
        if (b % m.stride == 0 && size(m.axis) % (b / m.stride) == 0 && b / m.stride <= size(m.axis))
          changed |= breaks_[m.axis].insert(b / m.stride).second;
    return changed;
  }

  std::span<const core::Dims> dims_;
  std::vector<std::set<std::int64_t>> breaks_;  // by axis
  std::map<Symbol, std::size_t> variables_;
  std::set<std::size_t> binders_;                            // axes of variables of sums and maxima
  std::map<std::size_t, std::vector<std::size_t>> axes_of_;  // by tensor, by dimension
  std::vector<Group> groups_;
  std::map<std::size_t, std::vector<Group>> pieces_;  // by the axis that they are pieces of
  std::map<std::size_t, std::size_t> reads_;          // how many index expressions are of an axis
  bool needs_search_ = false;
};

}  // namespace

Radices radices_of(const Semantics& semantics, std::span<const core::Dims> dims,
                   std::span<const Access> accesses) {
  RadixSearch search(semantics, dims);
  for (const Access& access : accesses) search.add(access);
  search.search();
  return search.result(semantics);
}

}  // namespace soapstone::ops::partition
