// Chooses operands and names. The driver keeps its names; every other operand takes names of what
// is there already or the next new ones, so each term is made once up to renaming. Choices that a
// symmetry of an operand makes equal are made once. Operands of a commutative operator are ordered.
#include "generator/terms/extension.h"

#include <algorithm>
#include <utility>

namespace soapstone::generator {

void LevelIndex::add(int ops, TypeIndex type, TermId id) {
  if (levels.size() <= static_cast<std::size_t>(ops))
    levels.resize(static_cast<std::size_t>(ops) + 1);
  TermsByType& level = levels[static_cast<std::size_t>(ops)];
  auto place = std::ranges::lower_bound(level, type, {}, [](const auto& e) { return e.first; });
  if (place == level.end() || place->first != type) place = level.insert(place, {type, {}});
  place->second.push_back(id);
}

Extender::Extender(const ExtensionInputs& inputs)
    : in_(inputs), maps_(inputs.space), fingerprinter_(inputs.terms.universe().worlds.size()),
      driver_values_(inputs.values) {}

ValueView<std::uint64_t> Extender::load_driver() {
  is_lazy_ = !in_.values.contains(driver_);
  if (!is_lazy_) return in_.values.view(driver_);
  driver_values_.start(driver_, maps_);
  const ValueView<std::uint64_t> view = driver_values_.view();
  driver_symmetries_ = symmetries_of(view, in_.terms.universe().worlds.size(),
                                     in_.space.of(in_.terms[driver_].variables), &driver_values_);
  return view;
}

const Symmetries* Extender::symmetries_of_term(TermId id) const {
  if (id == driver_ && is_lazy_) return &driver_symmetries_;
  const auto place = in_.symmetries.find(id);
  return place == in_.symmetries.end() ? nullptr : &place->second;
}

void Extender::extend(TermId driver, int driver_ops, int ops, std::vector<EvaluatedTerm>& found) {
  const int ops_left = ops - 1 - driver_ops;
  driver_ = driver;
  driver_ops_ = driver_ops;
  others_ops_ = ops_left;
  found_ = &found;
  const VariableCounts counts = in_.terms[driver].variables;
  const std::size_t largest = in_.terms.applications().largest_arity();
  if (static_cast<std::size_t>(ops_left) > (largest - 1) * static_cast<std::size_t>(driver_ops))
    return;
  const ValueView<std::uint64_t> view = load_driver();
  for (arity_ = 1; arity_ <= largest; ++arity_)
    for (driver_position_ = 0; driver_position_ < arity_; ++driver_position_) {
      children_[driver_position_] = driver;
      types_[driver_position_] = in_.terms.type(driver);
      names_[driver_position_] = identity_renaming(counts);
      views_[driver_position_] = view;
      sizes_[driver_position_] = driver_ops;
      counts_ = counts;
      choose_partner(0, ops_left);
    }
}

void Extender::choose_partner(std::size_t position, int ops_left) {
  if (position == driver_position_) return choose_partner(position + 1, ops_left);
  if (position == arity_) {
    if (ops_left != 0 || repeats_operands()) return;
    applicable_ = in_.terms.applications().find(std::span(types_.data(), arity_));
    if (!applicable_.empty()) emit(counts_);
    return;
  }
  const bool last =
      position + 1 == arity_ || (position + 2 == arity_ && driver_position_ == position + 1);
  const int most = std::min(ops_left, position < driver_position_ ? driver_ops_ - 1 : driver_ops_);
  for (int size = last ? ops_left : 0; size <= most; ++size) {
    if (static_cast<std::size_t>(size) >= in_.index.levels.size()) break;
    sizes_[position] = size;
    for (const auto& [type, terms] : in_.index.levels[static_cast<std::size_t>(size)]) {
      types_[position] = type;
      if (last) {
        applicable_ = in_.terms.applications().find(std::span(types_.data(), arity_));
        if (applicable_.empty()) continue;
      }
      for (TermId id : terms) {
        children_[position] = id;
        views_[position] = in_.values.view(id);
        name_variable(position, 0, 0, 0, 0, {}, counts_);
      }
    }
  }
}

/// The statistics of a batch norm are different tensors.
bool Extender::repeats_operands() const {
  constexpr std::size_t kFew = 3;
  for (std::size_t k = kFew; k < arity_; ++k)
    for (std::size_t l = 0; l < k; ++l)
      if (children_[k] == children_[l] && names_[k] == names_[l]) return true;
  return false;
}

void Extender::name_variable(std::size_t position, std::size_t g, unsigned k, std::size_t variable,
                             unsigned used, Renaming names, VariableCounts counts) {
  const VariableCounts own = in_.terms[children_[position]].variables;
  while (g < Universe::kMostGroups && k == own.of(g)) {
    ++g;
    k = 0;
    used = 0;
  }
  if (g == Universe::kMostGroups) {
    if (counts.total() > in_.most_variables) return;
    if (arity_ == 2 && !is_canonical(children_[position], names)) return;
    names_[position] = names;
    const VariableCounts before = std::exchange(counts_, counts);
    int left = others_ops_;
    for (std::size_t p = 0; p <= position; ++p)
      if (p != driver_position_) left -= sizes_[p];
    choose_partner(position + 1, left);
    counts_ = before;
    return;
  }
  const unsigned known = counts.of(g);
  for (unsigned name = 0; name <= known; ++name) {
    if (used >> name & 1u) continue;
    if (name == known && name >= in_.terms.universe().groups[g].count) break;
    VariableCounts wider = counts;
    if (name == known) wider.set(g, known + 1);
    names.set(variable, name);
    name_variable(position, g, k + 1, variable + 1, used | 1u << name, names, wider);
  }
}

/// Whether the names are the smallest of those that symmetries of driver and partner make equal.
bool Extender::is_canonical(TermId partner, Renaming names) const {
  const Symmetries* of_driver = symmetries_of_term(driver_);
  const Symmetries* of_partner = symmetries_of_term(partner);
  if (of_driver == nullptr && of_partner == nullptr) return true;
  const VariableCounts own = in_.terms[partner].variables, known = in_.terms[driver_].variables;
  const std::size_t outer = of_driver == nullptr ? 0 : of_driver->size();
  const std::size_t inner = of_partner == nullptr ? 0 : of_partner->size();
  for (std::size_t a = 0; a <= outer; ++a)
    for (std::size_t b = 0; b <= inner; ++b) {
      if (a == 0 && b == 0) continue;
      Renaming other;
      std::size_t variable = 0, first = 0, first_known = 0;
      for (std::size_t g = 0; g < Universe::kMostGroups; ++g) {
        std::array<unsigned, 16> fresh_name;
        fresh_name.fill(16);
        unsigned fresh = known.of(g);
        for (unsigned k = 0; k < own.of(g); ++k, ++variable) {
          const unsigned from = b == 0 ? k : (*of_partner)[b - 1].of(first + k);
          unsigned name = names.of(first + from);
          if (name >= known.of(g)) {
            if (fresh_name[name] == 16) fresh_name[name] = fresh++;
            name = fresh_name[name];
          } else if (a != 0) {
            name = (*of_driver)[a - 1].of(first_known + name);
          }
          other.set(variable, name);
        }
        first += own.of(g);
        first_known += known.of(g);
      }
      if (other.bits < names.bits) return false;
    }
  return true;
}

void Extender::emit(VariableCounts counts) {
  std::array<const std::uint16_t*, kMostChildren> to_child{};
  for (std::size_t k = 0; k < arity_; ++k)
    to_child[k] = maps_.find(in_.terms[children_[k]].variables, names_[k], counts);
  const Variants& variants = in_.space.of(counts);
  const ApplicationTable& applications = in_.terms.applications();
  for (ApplicationId id : applicable_) {
    const Application& application = applications[id];
    // Operands of one type and size that may be exchanged: the driver is the later term.
    if (application.commutative &&
        (driver_position_ != 0 || (sizes_[1] == driver_ops_ && children_[1] > driver_)))
      continue;
    EvaluatedTerm candidate;
    candidate.term.application = id;
    candidate.term.variables = counts;
    for (std::size_t k = 0; k < arity_; ++k) {
      candidate.term.children[k] = children_[k];
      candidate.term.renamings[k] = names_[k];
    }
    fingerprinter_.run(application, std::span(views_.data(), arity_),
                       std::span(to_child.data(), arity_), variants,
                       applications.type(application.result), candidate,
                       is_lazy_ ? &driver_values_ : nullptr, driver_position_);
    found_->push_back(candidate);
  }
}

}  // namespace soapstone::generator
