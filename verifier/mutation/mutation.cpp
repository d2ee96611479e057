// Picks origins, kinds and edits at random until a new well-typed rule comes out.
#include "verifier/mutation/mutation.h"

#include <algorithm>
#include <map>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "verifier/mutation/mutation_edits.h"

namespace soapstone::verifier {
namespace {

constexpr std::array<std::string_view, kMutationKinds> kNames = {"swap inputs",
                                                                 "concat order",
                                                                 "rewire",
                                                                 "swap rule inputs",
                                                                 "exchange results",
                                                                 "drop operator",
                                                                 "sibling operator",
                                                                 "axis",
                                                                 "reduced axes",
                                                                 "keep dims",
                                                                 "stride",
                                                                 "dilation",
                                                                 "padding",
                                                                 "padding convention",
                                                                 "group",
                                                                 "kernel",
                                                                 "extent",
                                                                 "permutation",
                                                                 "shape",
                                                                 "constant",
                                                                 "epsilon",
                                                                 "variant",
                                                                 "input size",
                                                                 "condition",
                                                                 "element type"};

/// One change. None: the draft has nothing of the kind.
std::optional<std::string> change(MutationKind kind, RuleDraft& draft, rules::Random& random) {
  const std::vector<MutationEdit> edits = edits_of(kind, draft);
  if (edits.empty()) return std::nullopt;
  const MutationEdit& edit = edits[random.next() % edits.size()];
  edit.apply(draft);
  return edit.what;
}

/// A changed input size or a kept dimension mostly leaves a rule right.
MutationKind draw_kind(rules::Random& random) {
  constexpr int kRareOneIn = 4;
  while (true) {
    const auto kind = static_cast<MutationKind>(random.next() % kMutationKinds);
    const bool rare = kind == MutationKind::kInputSize || kind == MutationKind::kKeepDims;
    if (!rare || random.next() % kRareOneIn == 0) return kind;
  }
}

/// Shapes that must be equal by accident leave few sizes, at which most changes make no difference.
std::ptrdiff_t equations(const rules::Rule& rule) {
  return std::ranges::count(rule.guard, ops::SizeConstraint::Kind::kZero,
                            &ops::SizeConstraint::kind);
}

}  // namespace

std::string_view to_string(MutationKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::uint64_t structure_hash(const rules::Rule& rule) {
  std::uint64_t hash = core::hash_combine(rule.source.hash(), rule.target.hash());
  for (const ops::SizeConstraint& c : rule.guard)
    hash = core::hash_combine(hash, c.expression.hash() * 2 + static_cast<std::uint64_t>(c.kind));
  return hash;
}

Mutator::Mutator(std::vector<rules::Rule> origins, std::uint64_t seed)
    : origins_(std::move(origins)), random_(seed) {
  CHECK(!origins_.empty(), "mutants need origins");
  std::map<std::string, std::size_t> rows;
  for (std::size_t k = 0; k < origins_.size(); ++k) {
    const auto [row, is_new] = rows.emplace(origins_[k].base_name, by_base_name_.size());
    if (is_new) by_base_name_.emplace_back();
    by_base_name_[row->second].push_back(k);
    made_.insert(structure_hash(origins_[k]));
  }
}

const rules::Rule& Mutator::pick_origin() {
  const auto& row = by_base_name_[random_.next() % by_base_name_.size()];
  return origins_[row[random_.next() % row.size()]];
}

std::optional<Mutant> Mutator::attempt(MutationKind kind) {
  const rules::Rule& origin = pick_origin();
  RuleDraft draft(origin);
  Mutant mutant;
  const auto add_change = [&](MutationKind next) {
    const auto what = change(next, draft, random_);
    if (!what) return false;
    mutant.kinds.push_back(next);
    mutant.what += (mutant.what.empty() ? "" : "; ") + *what;
    return true;
  };
  if (!add_change(kind)) return std::nullopt;
  if (random_.between(1, 3) == 3) add_change(draw_kind(random_));
  auto rule = draft.finish(origin.name);
  constexpr int kKeepOneIn = 4;
  if (rule && equations(*rule) > equations(origin) && random_.next() % kKeepOneIn != 0)
    return std::nullopt;
  if (!rule || !made_.insert(structure_hash(*rule)).second) return std::nullopt;
  mutant.rule = *std::move(rule);
  mutant.rule.base_name = origin.base_name;
  return mutant;
}

std::optional<Mutant> Mutator::next() {
  // A kind keeps its turn until it has made a mutant, else those that rarely fit would be rare.
  constexpr int kMostTurns = 50, kAttemptsPerTurn = 60;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    const MutationKind kind = draw_kind(random_);
    for (int k = 0; k < kAttemptsPerTurn; ++k)
      if (auto mutant = attempt(kind)) return mutant;
  }
  return std::nullopt;
}

}  // namespace soapstone::verifier
