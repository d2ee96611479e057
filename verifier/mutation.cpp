// Picks origins, kinds and edits at random until a new well-typed rule comes out.
#include "verifier/mutation.h"

#include <map>

#include "core/check.h"
#include "core/hash.h"
#include "verifier/mutation_edits.h"

namespace soapstone::verifier {
namespace {

constexpr std::array<std::string_view, kMutationKinds> kNames = {
    "swap inputs",      "concat order",     "rewire",           "swap rule inputs",
    "exchange results", "drop operator",    "sibling operator", "axis",
    "reduced axes",     "keep dims",        "stride",           "dilation",
    "padding",          "padding convention", "group",          "kernel",
    "extent",           "permutation",      "shape",            "constant",
    "epsilon",          "variant",          "input size",       "condition"};

/// One change. None: the draft has nothing of the kind.
std::optional<std::string> change(MutationKind kind, RuleDraft& draft, rules::Random& random) {
  const std::vector<MutationEdit> edits = edits_of(kind, draft);
  if (edits.empty()) return std::nullopt;
  const MutationEdit& edit = edits[random.next() % edits.size()];
  edit.apply(draft);
  return edit.what;
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

std::optional<Mutant> Mutator::attempt() {
  const rules::Rule& origin = pick_origin();
  RuleDraft draft(origin);
  Mutant mutant;
  // Every third has two changes. A kind that an origin has no place for is drawn again.
  const std::size_t count = random_.between(1, 3) == 3 ? 2 : 1;
  constexpr int kMostDraws = 100;
  for (int draw = 0; draw < kMostDraws && mutant.kinds.size() < count; ++draw) {
    const auto kind = static_cast<MutationKind>(random_.next() % kMutationKinds);
    const auto what = change(kind, draft, random_);
    if (!what) continue;
    mutant.kinds.push_back(kind);
    mutant.what += (mutant.what.empty() ? "" : "; ") + *what;
  }
  auto rule = draft.finish(origin.name);
  if (mutant.kinds.empty() || !rule || !made_.insert(structure_hash(*rule)).second)
    return std::nullopt;
  mutant.rule = *std::move(rule);
  mutant.rule.base_name = origin.base_name;
  return mutant;
}

std::optional<Mutant> Mutator::next() {
  constexpr int kMostAttempts = 2000;
  for (int k = 0; k < kMostAttempts; ++k)
    if (auto mutant = attempt()) return mutant;
  return std::nullopt;
}

}  // namespace soapstone::verifier
