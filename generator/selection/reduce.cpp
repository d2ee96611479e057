// See reduce.h. The terms of a level with a given value, each under all names that the value's
// symmetries allow, are the nodes of a graph; a rule that makes one of another joins them. A term
// that is joined to the representative follows.
#include "generator/selection/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/base/hash.h"
#include "core/tasks/tasks.h"
#include "generator/selection/term_rule.h"

namespace soapstone::generator {

using NodeKey = std::uint64_t;

/// Sets of nodes that are known to follow from each other.
class JoinedNodes {
 public:
  std::uint32_t add(NodeKey key) {
    const auto [place, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(up_.size()));
    if (is_new) up_.push_back(place->second);
    return place->second;
  }
  const std::uint32_t* find(NodeKey key) const {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &found->second;
  }
  std::uint32_t top(std::uint32_t node) {
    while (up_[node] != node) node = up_[node] = up_[up_[node]];
    return node;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = top(a), b = top(b);
    up_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::unordered_map<NodeKey, std::uint32_t> index_;
  std::vector<std::uint32_t> up_;
};

namespace {

/// Symbols and numbers in a shape: `[n, n]` is simpler than `[2*n, n]`.
std::size_t complexity(const core::Shape& shape) {
  std::size_t count = 0;
  for (const core::Size& size : shape)
    for (const auto& term : size.terms())
      count += term.monomial.size() + (term.coefficient == 1 ? 0 : 1);
  return count;
}

/// Operators and constants; a split weighs more, and so does an input that occurs again.
class TermWeight {
 public:
  TermWeight(const TermTable& terms, const EqualPair& pair) : terms_(terms) {
    add(pair.newcomer, identity_renaming(terms[pair.newcomer].variables));
    begin_side();
    add(pair.representative, pair.names);
  }
  std::size_t total() const { return total_; }
  std::size_t constants() const { return constants_; }
  std::size_t variables() const { return seen_.size(); }

 private:
  void begin_side() { of_side_.clear(); }
  void add(TermId id, Renaming names) {
    if (terms_.is_constant(id)) {
      ++constants_;
      ++total_;
    } else if (terms_.is_variable(id)) {
      const Variable variable{static_cast<std::uint8_t>(id),
                              static_cast<std::uint8_t>(names.of(0))};
      seen_.insert(variable);
      if (!of_side_.insert(variable).second) ++total_;
    } else {
      constexpr std::size_t kOfSplit = 3;
      const Term& term = terms_[id];
      total_ += terms_.applications()[term.application].output_count > 1 ? kOfSplit : 1;
      for (std::size_t k = 0; k < kMostChildren && term.children[k] != kNoTerm; ++k)
        add(term.children[k],
            compose(term.renamings[k], terms_[term.children[k]].variables, names, term.variables));
    }
  }

  const TermTable& terms_;
  std::set<Variable> seen_, of_side_;
  std::size_t total_ = 0, constants_ = 0;
};

/// Inputs of both sides, in the order that to_graphs() gives them.
std::vector<Variable> variables_of(const TermTable& terms, const EqualPair& pair) {
  std::vector<Variable> found;
  const auto collect = [&](TermId id, Renaming names) {
    std::size_t variable = 0;
    for (std::size_t g = 0; g < Universe::kMostGroups; ++g)
      for (unsigned k = 0; k < terms[id].variables.of(g); ++k)
        found.push_back(
            {static_cast<std::uint8_t>(g), static_cast<std::uint8_t>(names.of(variable++))});
  };
  collect(pair.newcomer, identity_renaming(terms[pair.newcomer].variables));
  collect(pair.representative, pair.names);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

/// The pairs whose larger side has a given number of operators.
class Reducer::Level {
 public:
  Level(Reducer& owner, const Enumeration& enumeration, const TermClasses& classes,
        const NumberedVocabulary& vocabulary, int operators)
      : owner_(owner), enumeration_(enumeration), terms_(enumeration.terms), classes_(classes),
        vocabulary_(vocabulary), operators_(operators), arena_(owner.options_.jobs) {
    for (std::size_t k = 0; k < enumeration.pairs.size(); ++k)
      if (classes.operators(enumeration.pairs[k].newcomer) == operators) pairs_.push_back(k);
    sort_pairs();
  }

  void run() {
    for (std::size_t k : pairs_) {
      if (owner_.stopped()) return;
      add_terms(enumeration_.pairs[k]);
    }
    apply_known_rules();
    for (std::size_t at = 0; at < pairs_.size(); ++at) {
      if (owner_.stopped()) return;
      const EqualPair& pair = enumeration_.pairs[pairs_[at]];
      ++owner_.statistics_.pairs;
      if (follows(pair)) {
        ++owner_.statistics_.derived;
      } else {
        if (!made_.contains(at)) make_candidates(at);
        settle(pair, std::move(made_.at(at)));
      }
      made_.erase(at);
      constexpr std::size_t kBetweenReports = 256;
      if ((at + 1) % kBetweenReports == 0)
        report(at + 1, pairs_.size(), fmt::format("{} kept", owner_.kept_.size()));
    }
  }

 private:
  /// Those that shrink first: two-way rules need not look at what these join to something smaller.
  void apply_known_rules() {
    std::vector<TermRule*> rules;
    for (const auto& rule : owner_.rules_) rules.push_back(rule.get());
    std::ranges::stable_partition(rules, [](const TermRule* rule) { return rule->shrinks(); });
    for (std::size_t k = 0; k < rules.size() && !owner_.stopped(); ++k) {
      apply(*rules[k]);
      report(k + 1, rules.size(), "applying what is kept");
    }
  }

  void report(std::size_t done, std::size_t total, const std::string& what) {
    if (owner_.options_.progress != nullptr)
      owner_.options_.progress->update(done, total,
                                       fmt::format("{} operators, {}", operators_, what));
  }

  using Joins = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  /// A term with its variables in names of its class.
  struct Named {
    TermId term = kNoTerm;
    Renaming names;
    TermId representative = kNoTerm;
    std::uint32_t node = 0, goal = 0;  ///< The term's node, and the one that it is to follow from.
    TermRule::Makers operands{};       ///< The makers of its operands.
  };
  /// The terms with one operator at their root.
  struct TermsOfKind {
    std::vector<Named> all;
    std::vector<std::uint32_t> open;  ///< Those that may not be done, see is_done().
  };

  void sort_pairs() {
    std::vector<std::pair<Generality, std::size_t>> order;
    for (std::size_t k : pairs_) order.emplace_back(generality(k), k);
    std::ranges::sort(order);
    std::ranges::transform(order, pairs_.begin(), [](const auto& entry) { return entry.second; });
  }

  /// Least first: weight, constants, inputs that there could be more of, depth, sizes. If two laws
  /// say the same, the shallow one says it of any operand: (ab)ᵀ = bᵀaᵀ, not (aᵀb)ᵀ = bᵀa.
  using Generality = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t, std::size_t>;
  Generality generality(std::size_t k) const {
    const EqualPair& pair = enumeration_.pairs[k];
    const TermWeight weight(terms_, pair);
    std::size_t sizes = 0;
    for (TermId id : {pair.newcomer, pair.representative})
      sizes += complexity(terms_.applications().type(terms_.type(id)).type.shape);
    const std::size_t depth =
        std::max(terms_.depth(pair.newcomer), terms_.depth(pair.representative));
    return {weight.total(), weight.constants(), kMostVariables - weight.variables(), depth, sizes};
  }

  /// The class of the pair's sides and the newcomer in its names. None if the representative has
  /// an input that the newcomer lacks.
  std::optional<Named> named(const EqualPair& pair) const {
    const VariableCounts own = terms_[pair.newcomer].variables;
    if (pair.newcomer == pair.representative)
      return Named{pair.newcomer, inverted(pair.names, own, own), pair.newcomer};
    const auto top = classes_.root(pair.newcomer);
    if (!top) return std::nullopt;
    return Named{pair.newcomer, inverted(top->names, terms_[top->term].variables, own), top->term};
  }

  bool is_below(TermId representative) const {
    return classes_.operators(representative) < operators_;
  }

  /// Symmetries of a class below this level are known to follow; the name is then the least.
  NodeKey key(TermId representative, ApplicationId application, std::span<const NamedTerm> operands,
              VariableCounts frame) const {
    if (!is_below(representative)) return plain_key(representative, application, operands);
    NodeKey least = ~NodeKey{0};
    std::array<NamedTerm, kMostChildren> images;
    for (const Renaming& symmetry : symmetries(representative)) {
      for (std::size_t k = 0; k < operands.size(); ++k)
        images[k] = renamed(operands[k], symmetry, frame);
      least = std::min(
          least, plain_key(representative, application, std::span(images).first(operands.size())));
    }
    return least;
  }
  NodeKey plain_key(TermId representative, ApplicationId application,
                    std::span<const NamedTerm> operands) const {
    return core::hash_combine(representative, classes_.key(application, operands));
  }

  /// A class in names of the representative, under other names; those beyond its own stay.
  NamedTerm renamed(const NamedTerm& operand, Renaming symmetry, VariableCounts frame) const {
    NamedTerm result = operand;
    const VariableCounts counts = terms_[operand.term].variables;
    std::size_t variable = 0, first = 0;
    for (std::size_t g = 0; g < Universe::kMostGroups; ++g) {
      for (unsigned k = 0; k < counts.of(g); ++k, ++variable)
        if (const unsigned name = operand.names.of(variable); name < frame.of(g))
          result.names.set(variable, symmetry.of(first + name));
      first += frame.of(g);
    }
    return classes_.canonical(result);
  }

  const std::vector<Renaming>& symmetries(TermId representative) const {
    return symmetries_.at(representative);
  }

  NodeKey key_of(TermId term, Renaming names, TermId representative) const {
    std::array<NamedTerm, kMostChildren> operands;
    const std::size_t arity = terms_.applications()[terms_[term].application].operands.size();
    for (std::size_t k = 0; k < arity; ++k) operands[k] = classes_.operand(term, names, k);
    return key(representative, terms_[term].application, std::span(operands).first(arity),
               terms_[representative].variables);
  }

  /// All of a class below this level, or the representative of one that is on it.
  NodeKey representative_key(TermId id) const {
    if (is_below(id)) return core::hash_combine(0x64657269766564, id);
    return key_of(id, identity_renaming(terms_[id].variables), id);
  }

  void add_terms(const EqualPair& pair) {
    const auto place = named(pair);
    if (!place) return;
    const TermId representative = place->representative;
    if (symmetries_.try_emplace(representative, classes_.symmetries(representative)).second) {
      nodes_.add(representative_key(representative));
      if (!is_below(representative))
        add_term(
            {representative, identity_renaming(terms_[representative].variables), representative});
    }
    // A term that exchanges variables of a class is there under all names.
    if (pair.newcomer != representative) add_term(*place);
  }

  void add_term(Named term) {
    term.goal = nodes_.add(representative_key(term.representative));
    term.node = nodes_.add(key_of(term.term, term.names, term.representative));
    const ApplicationId application = terms_[term.term].application;
    for (std::size_t k = 0; k < terms_.applications()[application].operands.size(); ++k)
      term.operands[k] = classes_.makers(term.term, k);
    TermsOfKind& alike = by_kind_[vocabulary_.kind(application)];
    alike.open.push_back(static_cast<std::uint32_t>(alike.all.size()));
    alike.all.push_back(term);
    for_each_image(
        term, [&](Renaming names) { nodes_.add(key_of(term.term, names, term.representative)); });
  }

  template <class Use>
  void for_each_image(const Named& term, const Use& use) const {
    if (is_below(term.representative)) return use(term.names);
    const VariableCounts frame = terms_[term.representative].variables;
    for (const Renaming& symmetry : symmetries(term.representative))
      use(image(term, symmetry, frame));
  }
  Renaming image(const Named& term, Renaming symmetry, VariableCounts frame) const {
    Renaming result = term.names;
    std::size_t variable = 0, first = 0;
    const VariableCounts counts = terms_[term.term].variables;
    for (std::size_t g = 0; g < Universe::kMostGroups; ++g) {
      for (unsigned k = 0; k < counts.of(g); ++k, ++variable)
        if (const unsigned name = term.names.of(variable); name < frame.of(g))
          result.set(variable, symmetry.of(first + name));
      first += frame.of(g);
    }
    return result;
  }

  /// Joins what the rule leads to from any term of the level.
  void apply(TermRule& rule) {
    const auto found = by_kind_.find(rule.root_kind());
    if (found == by_kind_.end()) return;
    if (owner_.stopped()) return;
    TermsOfKind& terms = found->second;
    std::vector<const Named*> open;
    const auto add_open = [&](const Named& term) {
      if (rule.may_match(terms_[term.term].application, term.operands)) open.push_back(&term);
    };
    if (rule.is_two_way() || rule.shrinks()) {
      std::erase_if(terms.open, [&](std::uint32_t k) { return is_done(terms.all[k]); });
      for (std::uint32_t k : terms.open) add_open(terms.all[k]);
    } else {
      for (const Named& term : terms.all) add_open(term);
    }
    core::PerThread<Joins> joins;
    const auto rewrite_range = [&](const auto& range) {
      TermRule::Rewriter rewriter(rule, classes_);
      for (std::size_t k = range.begin(); k < range.end(); ++k)
        rewrite(rewriter, *open[k], joins.local());
    };
    arena_.run([&] { core::parallel_for_ranges(open.size(), 64, rewrite_range); });
    for (const Joins& list : joins)
      for (const auto& [a, b] : list) nodes_.join(a, b);
  }

  /// Whether a term is joined to what is below this level. A two-way rule need not look at it,
  /// since it starts from the other side, nor one that shrinks, since it leads there, too.
  bool is_done(const Named& term) {
    return is_below(term.representative) && nodes_.top(term.node) == nodes_.top(term.goal);
  }

  void rewrite(TermRule::Rewriter& rewriter, const Named& term, Joins& joins) const {
    rewriter.run(term.term, [&](const TermRule::Rewritten& rewritten) {
      const VariableCounts own = terms_[term.term].variables;
      if (!rewritten.application || size_of(rewritten) < operators_) {
        // Something smaller of the same value: its class is below, and all of that follows.
        if (!is_below(term.representative)) return;
        joins.emplace_back(term.node, term.goal);
        return;
      }
      if (size_of(rewritten) > operators_) return;
      for_each_image(term, [&](Renaming names) {
        std::array<NamedTerm, kMostChildren> operands;
        for (std::size_t k = 0; k < rewritten.operands.size(); ++k)
          operands[k] = renamed(rewritten.operands[k], names, own);
        const std::uint32_t* node =
            nodes_.find(key(term.representative, *rewritten.application,
                            std::span(operands).first(rewritten.operands.size()),
                            terms_[term.representative].variables));
        if (node == nullptr) return;
        joins.emplace_back(*nodes_.find(key_of(term.term, names, term.representative)), *node);
      });
    });
  }

  int size_of(const TermRule::Rewritten& rewritten) const {
    int size = rewritten.application ? 1 : 0;
    for (const NamedTerm& operand : rewritten.operands) size += classes_.operators(operand.term);
    return size;
  }

  bool follows(const EqualPair& pair) {
    const auto place = named(pair);
    if (!place) return false;
    const std::uint32_t* node =
        nodes_.find(key_of(pair.newcomer, place->names, place->representative));
    return nodes_.top(*node) == nodes_.top(*nodes_.find(representative_key(place->representative)));
  }

  void join(const EqualPair& pair) {
    const auto place = named(pair);
    if (!place) return;
    nodes_.join(*nodes_.find(key_of(pair.newcomer, place->names, place->representative)),
                *nodes_.find(representative_key(place->representative)));
  }

  /// The consequences of a pair.
  struct Made {
    bool is_rule = false;
    std::optional<RuleCandidate> candidate;
  };
  Made made_of(const EqualPair& pair) const {
    const auto sides = sides_of(enumeration_, pair);
    if (!sides || !is_rule(*sides)) return {};
    return {true, candidate_of(*sides)};
  }

  /// Makes candidates of the pair at this place and, one for each thread, of the next pairs that do
  /// not follow yet: most of them will not follow later either.
  void make_candidates(std::size_t at) {
    constexpr std::size_t kFarthest = 1000;
    std::vector<std::size_t> wanted{at};
    const std::size_t end = std::min(pairs_.size(), at + kFarthest);
    for (std::size_t k = at + 1; k < end && wanted.size() < arena_.threads(); ++k)
      if (!made_.contains(k) && !follows(enumeration_.pairs[pairs_[k]])) wanted.push_back(k);
    std::vector<Made> made(wanted.size());
    arena_.parallel_for(0, wanted.size(), [&](std::size_t k) {
      made[k] = made_of(enumeration_.pairs[pairs_[wanted[k]]]);
    });
    for (std::size_t k = 0; k < wanted.size(); ++k) made_.emplace(wanted[k], std::move(made[k]));
  }

  /// Makes a rule of a pair that follows from nothing.
  void settle(const EqualPair& pair, Made made) {
    if (!made.is_rule) {
      ++owner_.statistics_.without_rule;
      return;
    }
    std::optional<RuleCandidate>& candidate = made.candidate;
    if (!candidate) {
      ++owner_.statistics_.wrong;
      return;
    }
    const std::vector<Variable> variables = variables_of(terms_, pair);
    const PatternTree source =
        pattern_of(vocabulary_, {pair.newcomer, identity_renaming(terms_[pair.newcomer].variables)},
                   variables);
    const PatternTree target =
        pattern_of(vocabulary_, {pair.representative, pair.names}, variables);
    const bool two_way = candidate->forward && (candidate->backward || candidate->is_own_reverse);
    if (candidate->forward) use(candidate->forward->instances, source, target, two_way);
    if (candidate->backward) use(candidate->backward->instances, target, source, two_way);
    join(pair);
    keep(*std::move(candidate));
  }

  void keep(RuleCandidate candidate) {
    if (candidate.inputs > 0) {
      ++owner_.statistics_.kept;
      owner_.kept_.push_back(std::move(candidate));
      return;
    }
    ++owner_.statistics_.of_constants;
    for (const auto* direction : {&candidate.forward, &candidate.backward})
      if (*direction)
        owner_.constant_laws_.insert(owner_.constant_laws_.end(), (*direction)->instances.begin(),
                                     (*direction)->instances.end());
  }

  void use(const std::vector<rules::Rule>& instances, const PatternTree& source,
           const PatternTree& target, bool two_way) {
    auto made = std::make_unique<TermRule>(instances, source, target, two_way);
    made->use(vocabulary_);
    apply(*made);
    owner_.rules_.push_back(std::move(made));
  }

  Reducer& owner_;
  const Enumeration& enumeration_;
  const TermTable& terms_;
  const TermClasses& classes_;
  const NumberedVocabulary& vocabulary_;
  int operators_;
  core::TaskArena arena_;
  std::vector<std::size_t> pairs_;
  JoinedNodes nodes_;
  std::unordered_map<TermId, std::vector<Renaming>> symmetries_;
  std::unordered_map<std::uint64_t, TermsOfKind> by_kind_;
  std::unordered_map<std::size_t, Made> made_;  ///< By place in `pairs_`: ahead of their turn.
};

Reducer::Reducer(const ReduceOptions& options) : options_(options) {}
Reducer::~Reducer() = default;
Reducer::Reducer(Reducer&&) noexcept = default;

void Reducer::add(const Enumeration& enumeration) {
  const NumberedVocabulary vocabulary(enumeration.terms);
  for (const auto& rule : rules_) rule->use(vocabulary);
  TermClasses classes(enumeration);
  int most = 0;
  for (const EqualPair& pair : enumeration.pairs)
    most = std::max(most, classes.operators(pair.newcomer));
  for (int operators = 1; operators <= most && !stopped(); ++operators) {
    Level(*this, enumeration, classes, vocabulary, operators).run();
    if (operators < most && !stopped()) classes.complete_level(operators);
  }
}

}  // namespace soapstone::generator
