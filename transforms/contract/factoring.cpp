#include "transforms/contract/factoring.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace soapstone::transforms {
namespace {

using Renaming = std::map<std::size_t, std::size_t>;

constexpr int kMostTries = 300;

/// Of indices that are summed: what those of one term are called in another.
class Unifier {
 public:
  /// `takes_units`: an outer index there may be a summed one here, times a unit matrix.
  explicit Unifier(const IndexSet& outer, bool takes_units = false)
      : outer_(outer), takes_units_(takes_units) {}

  bool unify(const ContractionLeaf& leaf, const ContractionLeaf& other) {
    if (leaf.tensor != other.tensor || leaf.piece != other.piece || leaf.divides != other.divides)
      return false;
    const Renaming names = names_, taken = taken_;
    for (std::size_t d = 0; d < leaf.indices.size(); ++d) {
      if (is_same(leaf.indices[d], other.indices[d])) continue;
      names_ = names;
      taken_ = taken;
      return false;
    }
    return true;
  }

  const Renaming& names() const { return names_; }

 private:
  bool is_same(std::optional<std::size_t> here, std::optional<std::size_t> there) {
    const bool is_unit = takes_units_ && here && there && !outer_.contains(*here);
    if (!here || !there || outer_.contains(*here) || (outer_.contains(*there) && !is_unit))
      return here == there;
    return names_.emplace(*there, *here).first->second == *here &&
           taken_.emplace(*here, *there).first->second == *there;
  }

  const IndexSet& outer_;
  bool takes_units_;
  Renaming names_, taken_;  // from there to here, and back
};

bool is_tensor(const SumOperand& operand) { return operand.sum == nullptr; }

std::vector<SumOperand> all_renamed(const std::vector<SumOperand>& operands,
                                    const Renaming& names) {
  std::vector<SumOperand> all;
  for (const SumOperand& operand : operands) all.push_back(renamed(operand, names));
  return all;
}

/// Gives a sum whose terms are all negative the other sign. True: it did.
bool turn_if_negative(TermSum& sum) {
  if (!std::ranges::all_of(sum.terms, &SumTerm::is_negative)) return false;
  for (SumTerm& term : sum.terms) term.is_negative = false;
  return true;
}

SumOperand operand_of(TermSum sum, bool is_constant) {
  SumOperand operand{.indices = sum.result, .is_constant = is_constant};
  operand.sum = std::make_shared<const TermSum>(std::move(sum));
  return operand;
}

/// A term as what varies and what is constant.
struct Divided {
  bool is_negative;
  std::vector<SumOperand> varying, constant;
};

/// Terms whose varying operands are the same.
class Collector {
 public:
  Collector(SumOfProducts& sum, Scalars scalars, Constants constants)
      : outer_(sum.sum.result), sizes_(sum.sizes), scalars_(scalars), constants_(constants) {
    std::vector<const SumTerm*> terms;
    for (const SumTerm& term : sum.sum.terms) terms.push_back(&term);
    // What a matrix is put to stands before what none is put to.
    if (constants == Constants::kStacked)
      std::ranges::stable_sort(terms, std::ranges::greater{},
                               [](const SumTerm* term) { return term->operands.size(); });
    for (const SumTerm* const term : terms) add(*term);
  }

  TermSum collected() {
    TermSum sum{{}, outer_, 0};
    for (const std::vector<Divided>& group : groups_) add_group(group, sum);
    return sum;
  }

 private:
  void add(const SumTerm& term) {
    Divided divided{term.is_negative, {}, {}};
    for (const SumOperand& operand : term.operands) {
      const bool is_kept =
          !operand.is_constant || (scalars_ == Scalars::kApart && is_number(operand));
      (is_kept ? divided.varying : divided.constant).push_back(operand);
    }
    for (std::vector<Divided>& group : groups_) {
      const Divided& first = group.front();
      const auto names = same(first.varying, divided.varying);
      if (!names) continue;
      Divided like_first{divided.is_negative, first.varying, {}};
      like_first.constant = all_renamed(divided.constant, *names);
      for (const auto& [there, here] : *names)
        if (outer_.contains(there)) like_first.constant.push_back(unit(there, here));
      if (constant_indices(like_first) != constant_indices(first)) continue;
      // There is no sum of constants.
      if (like_first.constant.empty() || first.constant.empty()) continue;
      group.push_back(std::move(like_first));
      return;
    }
    groups_.push_back({std::move(divided)});
  }

  std::optional<Renaming> same(const std::vector<SumOperand>& a,
                               const std::vector<SumOperand>& b) const {
    if (a.size() != b.size()) return std::nullopt;
    Unifier unifier(outer_, constants_ == Constants::kStacked);
    std::vector<bool> used(b.size(), false);
    for (const SumOperand& operand : a) {
      std::size_t k = 0;
      while (k < b.size() && (used[k] || !unifier.unify(operand.leaf, b[k].leaf))) ++k;
      if (k == b.size()) return std::nullopt;
      used[k] = true;
    }
    return unifier.names();
  }

  static SumOperand unit(std::size_t a, std::size_t b) {
    return {.leaf = {core::TensorId::none(), {a, b}},
            .is_unit = true,
            .indices = {a, b},
            .is_constant = true};
  }

  /// All that what varies or the result has.
  IndexSet indices_outside(const Divided& term) const {
    IndexSet outside = outer_;
    for (const SumOperand& operand : term.varying)
      outside.insert(operand.indices.begin(), operand.indices.end());
    return outside;
  }

  /// Those of the constants that what varies or the result has, too.
  IndexSet constant_indices(const Divided& term) const {
    const IndexSet outside = indices_outside(term);
    IndexSet all;
    for (const SumOperand& operand : term.constant)
      for (const std::size_t index : operand.indices)
        if (outside.contains(index)) all.insert(index);
    return all;
  }

  /// The constants of a term as products that share nothing that is summed, by the indices that
  /// each has outside. Empty: two have the same, or there are numbers.
  std::map<IndexSet, SumTerm> factors_apart(const Divided& term) const {
    const IndexSet outside = indices_outside(term);
    std::vector<std::pair<IndexSet, SumTerm>> factors;  // with all of their indices
    for (const SumOperand& operand : term.constant) {
      std::pair<IndexSet, SumTerm> joined{operand.indices, {false, {operand}}};
      const auto is_joined = [&](const auto& other) {
        const bool shares = std::ranges::any_of(other.first, [&](std::size_t index) {
          return joined.first.contains(index) && !outside.contains(index);
        });
        if (!shares) return false;
        joined.first.insert(other.first.begin(), other.first.end());
        std::ranges::copy(other.second.operands, std::back_inserter(joined.second.operands));
        return true;
      };
      std::erase_if(factors, is_joined);
      factors.push_back(std::move(joined));
    }
    std::map<IndexSet, SumTerm> apart;
    for (auto& [indices, factor] : factors) {
      IndexSet kept;
      std::ranges::set_intersection(indices, outside, std::inserter(kept, kept.end()));
      if (kept.empty() || !apart.emplace(std::move(kept), std::move(factor)).second) return {};
    }
    return apart;
  }

  /// The factors of all terms, each kind along a new index. None: they are of other kinds or signs,
  /// or there is but one kind, of which the sum is smaller.
  std::optional<std::vector<SumOperand>> stacked(const std::vector<Divided>& group) {
    const auto has_other_sign = [&](const Divided& term) {
      return term.is_negative != group.front().is_negative;
    };
    if (std::ranges::any_of(group, has_other_sign)) return std::nullopt;
    std::map<IndexSet, TermSum> kinds;
    for (const Divided& term : group) {
      std::map<IndexSet, SumTerm> apart = factors_apart(term);
      if (apart.size() < 2) return std::nullopt;
      for (auto& [indices, factor] : apart) {
        TermSum& kind = kinds[indices];
        kind.result = indices;
        kind.terms.push_back(std::move(factor));
      }
    }
    const bool is_each_complete = std::ranges::all_of(
        kinds, [&](const auto& kind) { return kind.second.terms.size() == group.size(); });
    if (!is_each_complete) return std::nullopt;
    const std::size_t along = sizes_.size();
    sizes_.push_back(static_cast<std::int64_t>(group.size()));
    std::vector<SumOperand> operands;
    for (auto& [indices, kind] : kinds) {
      SumOperand& operand = operands.emplace_back(operand_of(std::move(kind), true));
      operand.stacked_along = along;
      operand.indices.insert(along);
    }
    return operands;
  }

  void add_group(const std::vector<Divided>& group, TermSum& sum) {
    const Divided& first = group.front();
    std::vector<SumTerm> constants;
    for (const Divided& of_group : group)
      constants.push_back({of_group.is_negative, of_group.constant});
    if (first.varying.empty()) {
      std::ranges::move(constants, std::back_inserter(sum.terms));
      return;
    }
    SumTerm term{first.is_negative, first.varying};
    const auto stacks =
        constants_ == Constants::kStacked && group.size() > 1 ? stacked(group) : std::nullopt;
    if (stacks) {
      std::ranges::copy(*stacks, std::back_inserter(term.operands));
    } else if (group.size() == 1 && first.constant.size() <= 1) {
      std::ranges::copy(first.constant, std::back_inserter(term.operands));
    } else {
      TermSum factor{std::move(constants), constant_indices(first), 0};
      term.is_negative = turn_if_negative(factor);
      term.operands.push_back(operand_of(std::move(factor), true));
    }
    sum.terms.push_back(std::move(term));
  }

  const IndexSet& outer_;
  Sizes& sizes_;
  Scalars scalars_;
  Constants constants_;
  std::vector<std::vector<Divided>> groups_;
};

/// Takes common operands out of sums.
class Factoring {
 public:
  explicit Factoring(const Sizes& sizes) : sizes_(sizes) {}

  TermSum best(TermSum sum) {
    sum.cost = plain_cost(sum);
    TermSum found = sum;
    for (std::size_t first = 0; first < sum.terms.size(); ++first) {
      for (std::size_t k = 0; k < sum.terms[first].operands.size(); ++k) {
        const SumOperand& operand = sum.terms[first].operands[k];
        if (!is_tensor(operand) || is_number(operand)) continue;
        if (++tries_ > kMostTries) return found;
        auto taken_out = without(sum, first, k);
        if (!taken_out) continue;
        TermSum now = best(*std::move(taken_out));
        if (now.cost < found.cost) found = std::move(now);
      }
    }
    return found;
  }

 private:
  /// All terms from the first one on that have its operand, as one. None: no other one has it.
  std::optional<TermSum> without(const TermSum& sum, std::size_t first, std::size_t which) {
    const SumOperand& operand = sum.terms[first].operands[which];
    if (sum.terms[first].operands.size() < 2) return std::nullopt;
    TermSum inner, outer{{}, sum.result, 0};
    for (std::size_t k = 0; k < sum.terms.size(); ++k) {
      std::optional<SumTerm> rest;
      if (k == first) rest = without_operand(sum.terms[k], which);
      if (k > first) rest = rest_of(sum.terms[k], operand, sum.result);
      if (rest)
        inner.terms.push_back(*std::move(rest));
      else
        outer.terms.push_back(sum.terms[k]);
    }
    if (inner.terms.size() < 2) return std::nullopt;
    IndexSet wanted = sum.result;
    wanted.insert(operand.indices.begin(), operand.indices.end());
    for (const SumTerm& term : inner.terms)
      for (const std::size_t index : indices_of(term))
        if (wanted.contains(index)) inner.result.insert(index);
    const bool is_folded =
        std::ranges::all_of(inner.terms, [](const SumTerm& term) { return is_constant(term); });
    const bool is_negative = turn_if_negative(inner);
    inner = best(std::move(inner));
    if (is_folded) inner.cost = 0;
    outer.terms.push_back({is_negative, {operand, operand_of(std::move(inner), is_folded)}});
    return outer;
  }

  static SumTerm without_operand(SumTerm term, std::size_t k) {
    term.operands.erase(term.operands.begin() + static_cast<std::ptrdiff_t>(k));
    return term;
  }

  static std::optional<SumTerm> rest_of(const SumTerm& term, const SumOperand& operand,
                                        const IndexSet& outer) {
    if (term.operands.size() < 2) return std::nullopt;
    for (std::size_t k = 0; k < term.operands.size(); ++k) {
      Unifier unifier(outer);
      if (!is_tensor(term.operands[k]) || !unifier.unify(operand.leaf, term.operands[k].leaf))
        continue;
      SumTerm rest = without_operand(term, k);
      rest.operands = all_renamed(rest.operands, unifier.names());
      return rest;
    }
    return std::nullopt;
  }

  /// Of each term in its best order, and of adding them; constants are added for nothing.
  double plain_cost(const TermSum& sum) const {
    const auto added = std::max<std::ptrdiff_t>(
        1, std::ranges::count_if(sum.terms, [](const SumTerm& t) { return !is_constant(t); }));
    double cost = (kWorkOfStep + kWorkOfElement * elements_along(sum.result, sizes_)) *
                  static_cast<double>(added - 1);
    for (const SumTerm& term : sum.terms) {
      IndexedProduct product{{}, sum.result, true};
      for (const SumOperand& operand : term.operands) {
        if (operand.sum) cost += operand.sum->cost;
        if (is_number(operand))
          cost += kWorkOfStep;
        else
          product.operands.push_back({operand.indices, operand.is_constant});
      }
      if (product.operands.empty()) continue;
      OrderSearch search(product, sizes_);
      cost += search.best(search.all()).cost;
    }
    return cost;
  }

  const Sizes& sizes_;
  int tries_ = 0;
};

}  // namespace

TermSum factored(SumOfProducts& sum, Scalars scalars, Constants constants) {
  TermSum collected = Collector(sum, scalars, constants).collected();
  return Factoring(sum.sizes).best(std::move(collected));
}

}  // namespace soapstone::transforms
