// See term_rule.h. The shape of a match is found by comparing numbers; whether sizes fit, and what
// the target's attributes then are, is asked once for each combination of applications.
#include "generator/selection/term_rule.h"

#include <algorithm>
#include <map>

#include "core/base/hash.h"
#include "ops/definition/registry.h"

namespace soapstone::generator {
namespace {

using core::TensorId;
using Node = PatternTree::Node;

class TreeMaker {
 public:
  TreeMaker(const NumberedVocabulary& vocabulary, std::span<const Variable> variables)
      : vocabulary_(vocabulary), terms_(vocabulary.terms()), variables_(variables) {}

  std::uint8_t add(TermId id, Renaming names) {
    const auto at = static_cast<std::uint8_t>(tree.nodes.size());
    tree.nodes.emplace_back();
    if (terms_.is_variable(id)) {
      const Variable variable{static_cast<std::uint8_t>(id),
                              static_cast<std::uint8_t>(names.of(0))};
      tree.nodes[at].value =
          static_cast<std::uint64_t>(std::ranges::find(variables_, variable) - variables_.begin());
    } else if (terms_.is_constant(id)) {
      tree.nodes[at].kind = Node::Kind::kConstant;
      tree.nodes[at].value = static_cast<std::uint64_t>(
          terms_.universe().constants[id - terms_.universe().groups.size()].constant);
    } else {
      const Term& term = terms_[id];
      const Application& application = terms_.applications()[term.application];
      tree.nodes[at].kind = Node::Kind::kOperator;
      tree.nodes[at].value = vocabulary_.kind(term.application);
      tree.nodes[at].commutative = application.op->commutative;
      for (std::size_t k = 0; k < application.operands.size(); ++k) {
        const TermId child = term.children[k];
        const std::uint8_t operand =
            add(child, compose(term.renamings[k], terms_[child].variables, names, term.variables));
        tree.nodes[at].operands.push_back(operand);
      }
    }
    return at;
  }

  PatternTree tree;

 private:
  const NumberedVocabulary& vocabulary_;
  const TermTable& terms_;
  std::span<const Variable> variables_;
};

/// Whether `a` has fewer operators than `b`, and no input more often.
bool is_smaller(const PatternTree& a, const PatternTree& b) {
  std::map<std::uint64_t, int> surplus;  // occurrences in a beyond those in b, by input
  int operators = 0;
  const auto count = [&](const PatternTree& tree, int each) {
    for (const Node& node : tree.nodes) {
      if (node.kind == Node::Kind::kOperator) operators += each;
      if (node.kind == Node::Kind::kVariable) surplus[node.value] += each;
    }
  };
  count(a, 1);
  count(b, -1);
  return operators < 0 &&
         std::ranges::all_of(surplus, [](const auto& input) { return input.second <= 0; });
}

/// A source may match a larger member where a term has an operand, by so many operators in all. The
/// class of an input or of zero has thousands of members, and is the operand of most terms.
constexpr int kMostGrowth = 2;

/// The bit that the makers of a class must have.
std::uint64_t wanted_makers(const Node& node) {
  return node.kind == Node::Kind::kOperator ? kind_bit(node.value) : 0;
}

}  // namespace

PatternTree pattern_of(const NumberedVocabulary& vocabulary, const NamedTerm& side,
                       std::span<const Variable> variables) {
  TreeMaker maker(vocabulary, variables);
  maker.add(side.term, side.names);
  return std::move(maker.tree);
}

TermRule::TermRule(std::vector<rules::Rule> instances, PatternTree source, PatternTree target,
                   bool is_two_way)
    : is_two_way_(is_two_way), shrinks_(is_smaller(target, source)),
      instances_of_rule_(std::move(instances)), source_(std::move(source)),
      target_(std::move(target)) {
  fixed_.resize(source_.nodes.size());
  for (const rules::Rule& rule : instances_of_rule_.rules())
    note_fixed(rule.source, 0, rule.source.outputs()[0]);
  const Node& root = source_.nodes[0];
  for (std::size_t k = 0; k < root.operands.size(); ++k)
    wanted_[k] = wanted_makers(source_.nodes[root.operands[k]]);
}

bool TermRule::may_match(ApplicationId id, const Makers& operands) const {
  if (!admits_root(id)) return false;
  const auto has = [&](std::size_t wanted, std::size_t operand) {
    return (wanted_[wanted] & ~operands[operand]) == 0;
  };
  for (std::size_t k = 2; k < kMostChildren; ++k)
    if (!has(k, k)) return false;
  return (has(0, 0) && has(1, 1)) || (source_.nodes[0].commutative && has(0, 1) && has(1, 0));
}

/// Takes out what two instances do not agree on, or what is a symbol.
void TermRule::note_fixed(const core::Graph& side, std::size_t at, TensorId tensor) {
  const Node& node = source_.nodes[at];
  if (node.kind != Node::Kind::kOperator) return;
  const core::Node& made = side.node(side.tensor(tensor).producer);
  for (const auto& [name, value] : made.attributes.values()) {
    const auto numbers = [](const core::AttributeValue& v) {
      if (const auto* p = std::get_if<core::Polynomial>(&v)) return p->is_constant();
      if (const auto* list = std::get_if<std::vector<core::Polynomial>>(&v))
        return std::ranges::all_of(*list, [](const auto& p) { return p.is_constant(); });
      return true;
    };
    const auto [known, is_new] = fixed_[at].try_emplace(name, value);
    if (!numbers(value) || (!is_new && known->second != value)) known->second.reset();
  }
  for (std::size_t k = 0; k < node.operands.size(); ++k)
    note_fixed(side, node.operands[k], made.inputs[k]);
}

void TermRule::use(const NumberedVocabulary& vocabulary) {
  vocabulary_ = &vocabulary;
  instances_ = std::make_unique<Instances>();
  const ApplicationTable& applications = vocabulary.terms().applications();
  admitted_.assign(source_.nodes.size(), {});
  for (std::size_t at = 0; at < source_.nodes.size(); ++at) {
    if (source_.nodes[at].kind != Node::Kind::kOperator) continue;
    admitted_[at].resize(applications.size());
    for (ApplicationId id = 0; id < applications.size(); ++id)
      admitted_[at][id] = vocabulary.kind(id) == source_.nodes[at].value &&
                          std::ranges::all_of(fixed_[at], [&](const auto& fixed) {
                            const core::AttributeValue* value =
                                applications[id].attributes.find(fixed.first);
                            return !fixed.second || (value != nullptr && *value == *fixed.second);
                          });
  }
}

std::size_t TermRule::KeyHash::operator()(const std::vector<std::uint32_t>& key) const {
  std::uint64_t hash = key.size();
  for (std::uint32_t part : key) hash = core::hash_combine(hash, part);
  return hash;
}

/// Binds the nodes of the source one after the other; operands get their class from their parent.
class TermRule::Matcher {
 public:
  Matcher(const TermRule& rule, const TermClasses& classes)
      : rule_(rule), classes_(classes), nodes_(rule.source_.nodes), class_of_(nodes_.size()),
        chosen_(nodes_.size()),
        variables_(rule.instances_of_rule_.rules()[0].source.inputs().size()) {}

  void run(TermId term, const Found& found) {
    found_ = &found;
    if (!rule_.admits_root(classes_.terms()[term].application)) return;
    choose(0, term, identity_renaming(classes_.terms()[term].variables));
  }

 private:
  void bind(std::size_t at) {
    if (at == nodes_.size()) return finish();
    const Node& node = nodes_[at];
    const NamedTerm named = class_of_[at];
    const TermTable& terms = classes_.terms();
    if (node.kind == Node::Kind::kVariable) {
      std::optional<NamedTerm>& bound = variables_[node.value];
      if (bound) {
        chosen_[at] = terms.type(named.term);
        if (bound->term == named.term && bound->names == named.names) bind(at + 1);
        return;
      }
      bound = named;
      chosen_[at] = terms.type(named.term);
      bind(at + 1);
      bound.reset();
    } else if (node.kind == Node::Kind::kConstant) {
      if (!terms.is_constant(named.term)) return;
      const auto& constant =
          terms.universe().constants[named.term - terms.universe().groups.size()];
      if (static_cast<std::uint64_t>(constant.constant) != node.value) return;
      chosen_[at] = named.term;
      bind(at + 1);
    } else {
      const VariableCounts counts = terms[named.term].variables;
      const int least = classes_.operators(named.term);
      for (const TermClasses::Member& member : classes_.members(named.term)) {
        const int growth = classes_.operators(member.term) - least;
        if (growth > growth_left_) return;  // the members behind it are no smaller
        const Term& term = terms[member.term];
        if (rule_.admitted_[at][term.application] == 0) continue;
        growth_left_ -= growth;
        choose(at, member.term, compose(member.names, term.variables, named.names, counts));
        growth_left_ += growth;
      }
    }
  }

  void choose(std::size_t at, TermId term, Renaming names) {
    const Node& node = nodes_[at];
    chosen_[at] = classes_.terms()[term].application;
    std::array<NamedTerm, kMostChildren> operands;
    for (std::size_t k = 0; k < node.operands.size(); ++k)
      operands[k] = classes_.operand(term, names, k);
    bind_operands(at, operands);
    if (!node.commutative || node.operands.size() < 2) return;
    std::swap(operands[0], operands[1]);
    bind_operands(at, operands);
  }

  void bind_operands(std::size_t at, std::span<const NamedTerm> operands) {
    const Node& node = nodes_[at];
    for (std::size_t k = 0; k < node.operands.size(); ++k)
      if ((wanted_makers(nodes_[node.operands[k]]) & ~classes_.makers(operands[k].term)) != 0)
        return;
    for (std::size_t k = 0; k < node.operands.size(); ++k)
      class_of_[node.operands[k]] = operands[k];
    bind(at + 1);
  }

  void finish() {
    const Instance& instance = rule_.instance(chosen_);
    if (!instance.fits) return;
    if (auto rewritten = build(instance)) (*found_)(*rewritten);
  }

  std::optional<NamedTerm> build_class(const Instance& instance, std::size_t at) const {
    const Node& node = rule_.target_.nodes[at];
    if (node.kind == Node::Kind::kVariable) return variables_[node.value];
    if (node.kind == Node::Kind::kConstant) return NamedTerm{instance.of_node[at], {}};
    std::array<NamedTerm, kMostChildren> operands;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const auto operand = build_class(instance, node.operands[k]);
      if (!operand) return std::nullopt;
      operands[k] = *operand;
    }
    return find(instance.of_node[at], std::span(operands).first(node.operands.size()));
  }

  /// Operands that commute stand in the order in which the vocabulary has them.
  std::optional<NamedTerm> find(ApplicationId application, std::span<NamedTerm> operands) const {
    in_order(application, operands);
    return classes_.find(application, operands);
  }

  void in_order(ApplicationId id, std::span<NamedTerm> operands) const {
    const Application& application = classes_.terms().applications()[id];
    if (application.op->commutative && operands.size() > 1 &&
        classes_.terms().type(operands[0].term) != application.operands[0])
      std::swap(operands[0], operands[1]);
  }

  std::optional<Rewritten> build(const Instance& instance) const {
    const Node& root = rule_.target_.nodes[0];
    Rewritten result;
    if (root.kind != Node::Kind::kOperator) {
      const auto whole = build_class(instance, 0);
      if (!whole) return std::nullopt;
      result.operands.push_back(*whole);
      return result;
    }
    for (std::uint8_t operand : root.operands) {
      const auto named = build_class(instance, operand);
      if (!named) return std::nullopt;
      result.operands.push_back(*named);
    }
    result.application = instance.of_node[0];
    in_order(*result.application, result.operands);
    return result;
  }

  const TermRule& rule_;
  const TermClasses& classes_;
  const Found* found_ = nullptr;
  const std::vector<Node>& nodes_;
  int growth_left_ = kMostGrowth;
  std::vector<NamedTerm> class_of_;
  std::vector<std::uint32_t> chosen_;
  std::vector<std::optional<NamedTerm>> variables_;
};

TermRule::Rewriter::Rewriter(const TermRule& rule, const TermClasses& classes)
    : matcher_(std::make_unique<Matcher>(rule, classes)) {}
TermRule::Rewriter::~Rewriter() = default;
TermRule::Rewriter::Rewriter(Rewriter&&) noexcept = default;
void TermRule::Rewriter::run(TermId term, const Found& found) { matcher_->run(term, found); }

const TermRule::Instance& TermRule::instance(std::span<const std::uint32_t> source) const {
  std::vector<std::uint32_t> key(source.begin(), source.end());
  {
    const std::shared_lock lock(instances_->mutex);
    const auto known = instances_->known.find(key);
    if (known != instances_->known.end()) return *known->second;
  }
  auto made = std::make_unique<const Instance>(make_instance(key));
  const std::unique_lock lock(instances_->mutex);
  return *instances_->known.try_emplace(std::move(key), std::move(made)).first->second;
}

/// The source as a graph with numbers for sizes; equal nodes are one.
class TermRule::SourceGraph {
 public:
  SourceGraph(const TermRule& rule, std::span<const std::uint32_t> chosen)
      : rule_(rule), vocabulary_(*rule.vocabulary_), chosen_(chosen) {}

  core::Result<TensorId> add(std::size_t at) {
    const Node& node = rule_.source_.nodes[at];
    if (node.kind == Node::Kind::kVariable) {
      TensorId& input = inputs_[node.value];
      if (!input.valid())
        input = builder_.add_input("x" + std::to_string(node.value),
                                   vocabulary_.type(static_cast<TypeIndex>(chosen_[at])));
      return input;
    }
    if (node.kind == Node::Kind::kConstant) {
      TensorId& constant = constants_[chosen_[at]];
      if (constant.valid()) return constant;
      SOAPSTONE_ASSIGN_OR_RETURN(constant, vocabulary_.append_constant(builder_, chosen_[at]));
      return constant;
    }
    const Application& application = vocabulary_.terms().applications()[chosen_[at]];
    std::vector<TensorId> operands;
    std::vector<std::uint32_t> ids;
    for (std::uint8_t below : node.operands) {
      SOAPSTONE_ASSIGN_OR_RETURN(const TensorId operand, add(below));
      operands.push_back(operand);
      ids.push_back(operand.value);
    }
    auto& results = nodes_[{application.operation, ids}];
    if (results.empty()) {
      SOAPSTONE_ASSIGN_OR_RETURN(results,
                                 ops::append(builder_, application.op->name, std::move(operands),
                                             vocabulary_.attributes(chosen_[at])));
    }
    return results[application.output_index];
  }

  core::Result<core::Graph> finish(TensorId result) && {
    builder_.set_name(result, "y");
    builder_.set_outputs({result});
    return std::move(builder_).finish();
  }

 private:
  const TermRule& rule_;
  const NumberedVocabulary& vocabulary_;
  std::span<const std::uint32_t> chosen_;
  core::GraphBuilder builder_;
  std::map<std::uint64_t, TensorId> inputs_;
  std::map<std::uint32_t, TensorId> constants_;
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::vector<TensorId>> nodes_;
};

TermRule::Instance TermRule::make_instance(std::span<const std::uint32_t> source) const {
  Instance result;
  SourceGraph builder(*this, source);
  const auto root = builder.add(0);
  if (!root) return result;
  const auto graph = std::move(builder).finish(*root);
  if (!graph) return result;
  std::optional<rules::Bindings> sizes;
  core::RuleId matched;
  instances_of_rule_.for_each_match(*graph, [&](core::RuleId id, const rules::Match& match) {
    if (match.outputs[0] != graph->outputs()[0]) return true;
    sizes.emplace(match.sizes.begin(), match.sizes.end());
    matched = id;
    return false;
  });
  if (!sizes) return result;
  const auto special = rules::specialize(instances_of_rule_[matched], *sizes);
  if (!special) return result;
  result.of_node.resize(target_.nodes.size());
  std::vector<std::optional<TypeIndex>> types(target_.nodes.size());
  result.fits = resolve(special->target, 0, special->target.outputs()[0], types, result);
  return result;
}

bool TermRule::resolve(const core::Graph& target, std::size_t at, TensorId tensor,
                       std::vector<std::optional<TypeIndex>>& types, Instance& instance) const {
  const Node& node = target_.nodes[at];
  types[at] = vocabulary_->find_type(target.tensor(tensor).type);
  if (!types[at]) return false;
  if (node.kind == Node::Kind::kVariable) return true;
  if (node.kind == Node::Kind::kConstant) {
    const auto constant = vocabulary_->find_constant(static_cast<Constant>(node.value), *types[at]);
    instance.of_node[at] = constant.value_or(0);
    return constant.has_value();
  }
  const core::Node& made = target.node(target.tensor(tensor).producer);
  std::vector<TypeIndex> operands;
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    if (!resolve(target, node.operands[k], made.inputs[k], types, instance)) return false;
    operands.push_back(*types[node.operands[k]]);
  }
  const auto output =
      static_cast<std::uint32_t>(std::ranges::find(made.outputs, tensor) - made.outputs.begin());
  auto found = vocabulary_->find(*made.op, made.attributes, operands, output);
  if (!found && node.commutative && operands.size() > 1) {
    std::swap(operands[0], operands[1]);
    found = vocabulary_->find(*made.op, made.attributes, operands, output);
  }
  instance.of_node[at] = found.value_or(0);
  return found.has_value();
}

}  // namespace soapstone::generator
