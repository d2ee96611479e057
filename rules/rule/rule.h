// A rewrite rule: two small graphs over shared inputs that compute the same, for all sizes that
// its guard admits. Reading rules from text, finding where one occurs in a graph, and replacing it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "ops/definition/infer_context.h"
#include "rules/rule/float_label.h"

namespace soapstone::rules {

using core::Graph;
using core::NodeId;
using core::Result;
using core::TensorId;

/// Why a rule may be believed.
struct Evidence {
  enum class Kind : std::uint8_t {
    kNone,
    kChecked,  ///< Equal at many random sizes in the prime field.
    kProved,   ///< Proved for all sizes.
  };
  Kind kind = Kind::kNone;
  std::string detail;  ///< The words of the file, without the label: "2^61-1, 200 sizes".
};

struct Rule {
  std::string name;         ///< With its instance: `merge_matmuls[A=1,f=relu]`.
  std::string base_name;    ///< The name in the file.
  std::string description;  ///< The comment above it, one line.
  std::filesystem::path file;
  int line = 0;
  /// Inputs correspond by position; outputs too. Sizes of both are symbols of `source.symbols()`,
  /// which equals `target.symbols()`. An input of type f32 stands for any floating type.
  Graph source;
  Graph target;
  /// Per input: it matches only what is computed from constants alone.
  std::vector<bool> constant_inputs;
  /// Symbols in attributes of which shapes are no polynomials (strides, kernels, permutations):
  /// they need values before results have types. A rule that has any leaves the shapes of its
  /// results unknown; specialize() fills them in.
  std::vector<core::Symbol> parameters;
  /// The parameters that stand for a real attribute. Their value is the bits of a double.
  std::vector<core::Symbol> real_parameters;
  /// Symbols of the table that abbreviate ⌊…/d⌋ or max(0, …). They follow all others.
  std::vector<ops::DerivedSize> derived;
  /// Size equations and inequalities that the target needs and the source does not imply.
  /// Constraints of a `where` clause have the label "where".
  std::vector<ops::SizeConstraint> guard;
  FloatBehavior floats = FloatBehavior::kExact;
  FloatTypes types = {};            ///< For which its proof holds.
  std::optional<Edges> edges = {};  ///< None: they are not known.
  Evidence evidence;
  /// Its file proves other members of its family: this one is proved before it is first used.
  bool is_proved_on_demand = false;
  /// `placed`: only match_at() matches it. No search finds it, so its source may fall into parts
  /// that share no tensor.
  bool is_placed = false;
};

/// A rule as it stands in its file: instances_of() makes those of its instances that are of use.
struct WrittenRule {
  std::string name, description, text;
  std::filesystem::path file;
  int line = 0;
  bool has_siblings = false;  ///< `for N in siblings(2..64)`
};

/// Rules are written once for all ranks and attribute values and expanded when they are read:
///
///   # Two matmuls with the same left side are one.
///   rule merge_matmuls_sharing_lhs
///     for A in ranks(0..3)                # `A..` stands for 0 to 3 dimensions; |A| is how many
///     x: [A.., m, k]   a: [k, n]   b: [k, p]
///     source
///       y = matmul(x, a)
///       z = matmul(x, b)
///     target
///       ab = concat(a, b; axis=1)
///       yz = matmul(x, ab)
///       y, z = split(yz; axis=|A|+1, sizes=[n, p])
///     checked 2^61-1, 200 sizes; types: any; floats: exact; edges: none
///
/// The results are the names that both sides define; `results y, z` before `source` names them
/// where operators read one of them, too. `y = x` in the target gives a result another name. `x:
/// [n, m] constant` matches constant expressions only, `i: i64[n]` only that type (f32 or none: any
/// floating type), `c: [] = {2}` that very constant. `where 2*n <= m` is a condition; one on
/// numbers alone leaves out the instance in which it does not hold.
///
/// `for s in {1, 2}` puts numbers, names (of operators too), texts or lists for a word;
/// `for (f, g) in {(relu, tanh), …}` several at once; `perms(3)` is the set of all permutations.
/// `inverse(P)` and `compose(P, Q)` (first P, then Q) are permutations, `|P|` is the length of a
/// list. `for N in siblings(2..64)` are as many as a model has. `each i in 1..3` repeats the rest
/// of a line, `y{i}` and `y{1..3}` are members of a family.
///
/// A symbol in an attribute of the source (`strides=[s, t]`, `epsilon=e`) matches any value; the
/// target may compute with those of reals (`alpha=a*b`). `h/2` is a size where h is even.
/// `where n != m` makes two rules, with < and with >. `choose p in 1..n - 1` is a size that the
/// source does not know: the rule holds for all, the one in the middle is taken. An operand `b?` is
/// given in one instance and left out in another one. More of it is in docs/rules.md.
struct RuleFile {
  std::vector<Rule> rules;
  std::vector<WrittenRule> written;
};

/// How to read rules: as all their instances, families of siblings for the usual numbers of them,
/// for which their proof lines speak; or as they stand, for instances_of().
enum class RuleReading : std::uint8_t { kInstances, kAsWritten };

/// Names of operators.
using OperatorNames = std::set<std::string, std::less<>>;
/// Which instances of written rules are of use.
struct InstanceChoice {
  std::set<int> numbers;  ///< Of siblings.
  /// What graphs may have: an instance whose source needs another operator is left out. None: any.
  std::optional<OperatorNames> operators = {};
  /// False: an instance whose windows slide over three dimensions is left out, too.
  bool has_volumes = true;
};
/// The instances of each rule, one rule after another. Those of families for other than the usual
/// numbers of siblings are proved on demand. Errors: those of parse_rules().
Result<std::vector<Rule>> instances_of(std::span<const WrittenRule> rules,
                                       const InstanceChoice& choice);
/// The usual numbers of siblings.
const std::set<int>& usual_siblings();

/// Errors: kInvalidInput with file, line and column: syntax, unknown operator, a variable of the
/// target that the source does not bind, sides of different output types, two identical sides.
Result<RuleFile> parse_rules(std::string_view text, const std::filesystem::path& file = {},
                             RuleReading reading = RuleReading::kInstances);
Result<RuleFile> read_rules(const std::filesystem::path& file);
/// All `*.rules` files of a folder in the order of their names.
Result<RuleFile> read_rule_folder(const std::filesystem::path& folder);
/// One instance in the text language. parse(print(r)) is r.
std::string print(const Rule& rule);

/// A value for each symbol of a rule that has one; a real parameter's is the bits of its double.
using Bindings = std::vector<std::optional<std::int64_t>>;
/// The rule for these values. Its symbols are the same, though some no longer occur; the guard is
/// what remains of it. Errors: kInvalidInput if a side has no types for these values.
Result<Rule> specialize(const Rule& rule, const Bindings& values);
/// Values of the parameters for which both sides have types, different for each seed where that is
/// possible. Errors: kInvalidInput if none were found.
Result<Bindings> sample_parameters(const Rule& rule, std::uint64_t seed);

/// An occurrence of a source graph in a graph.
struct Match {
  std::vector<TensorId> inputs;  ///< Per rule input: the tensor bound to it.
  /// Per source node, in source order(); without a `full` that stands for a number of the model.
  std::vector<NodeId> nodes;
  std::vector<TensorId> outputs;    ///< Per source output: the tensor it is.
  std::vector<std::int64_t> sizes;  ///< Per symbol; 0 where a symbol has no value.
  /// The type that the rule's inputs of type f32 stand for here, one type for all of them.
  core::DataType float_type = core::DataType::kFloat32;
};

/// Rules prepared for matching: indexed by the operator of an anchor node. Copies share all.
class RuleSet {
 public:
  explicit RuleSet(std::vector<Rule> rules);
  /// Adds placed rules behind the others, to all copies of the set. References to its rules become
  /// invalid. Not thread-safe.
  void add_placed(std::vector<Rule> rules);
  std::span<const Rule> rules() const { return *rules_; }
  const Rule& operator[](core::RuleId id) const { return (*rules_)[id.index()]; }

  /// Called with each match, which is valid during the call; returns false to end the search.
  using Found = std::function<bool(core::RuleId, const Match&)>;
  /// Calls `found` for every match in a deterministic order. A tensor inside the match that is read
  /// from outside it stays and its node stays alive. Sizes bind consistently; guards hold;
  /// commutative operators match either way around. Only one of the matches that differ by a
  /// symmetry of the rule is found. Thread-safe.
  void for_each_match(const Graph& graph, const Found& found) const;
  /// Only matches that include at least one of these nodes. All that a rewrite adds include a node
  /// that is new or changed: &after.node(id) != &before.node(id).
  void for_each_match_at(const Graph& graph, std::span<const NodeId> nodes,
                         const Found& found) const;

  struct Index;  ///< The matcher's.

 private:
  std::shared_ptr<std::vector<Rule>> rules_;
  std::shared_ptr<const Index> index_;
};

/// Whether replacing the match would close a cycle, found without building anything.
/// Complexity: linear in the ancestors of the match; constant for rules with one result.
bool closes_cycle(const Graph& graph, const Rule& rule, const Match& match);
/// The graph with the match replaced. The results keep their tensor names.
/// Errors: kInvalidInput if the target does not fit (its shapes, its types, a cycle, or a graph
/// output that would lose its name): the match is then simply of no use.
Result<Graph> apply(const Graph& graph, const Rule& rule, const Match& match);

/// A disagreement of the two sides at some sizes.
struct Counterexample {
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  std::string text;  ///< Output, element, and both values.
};
struct CheckReport {
  int sizes_tried = 0;
  /// The sides agree in doubles only: the rule is a law of a function that is random in the field.
  bool law_of_function = false;
  /// The observed behavior. Means nothing if there is a counterexample.
  FloatBehavior floats = FloatBehavior::kExact;
  Edges edges;  ///< The observed edges, if they were asked for.
  std::optional<Counterexample> counterexample;
};
/// Evaluates both sides in the prime field (and in doubles where a function there is random) at
/// random sizes that satisfy the guard. `edge_tries`: how many inputs at the edges of each type
/// both sides are tried on, all sizes together. Errors: kUnsupported if no sizes satisfy the guard.
Result<CheckReport> check(const Rule& rule, int size_count, std::uint64_t seed, int edge_tries = 0);
/// Whether check() finds sizes that satisfy the guard at which the sides can be computed. Computes
/// neither of them.
bool has_sizes(const Rule& rule, std::uint64_t seed);

}  // namespace soapstone::rules
