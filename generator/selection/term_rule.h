// An equality that is kept, as a rewrite rule on classes of terms: where it matches at the root of
// a term, operands being whatever they are known to equal, and what it makes of that. It is found
// in one vocabulary and may be used in another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "generator/selection/term_classes.h"
#include "rules/rule/rule.h"

namespace soapstone::generator {

/// A side of a rule as a tree, parents before operands.
struct PatternTree {
  struct Node {
    enum class Kind : std::uint8_t { kVariable, kConstant, kOperator };
    Kind kind = Kind::kVariable;
    /// The number of an input of the rule; a Constant; or the kind of an application.
    std::uint64_t value = 0;
    bool commutative = false;
    std::vector<std::uint8_t> operands;  ///< Nodes.
  };
  std::vector<Node> nodes;
};

/// Answers to what is asked of a vocabulary again and again: kinds of applications, types and
/// applications by their numbers at sizes that are all different.
class NumberedVocabulary {
 public:
  explicit NumberedVocabulary(const TermTable& terms);

  const TermTable& terms() const { return terms_; }
  /// The kind is made of operator, number of operands and number of the output.
  std::uint64_t kind(ApplicationId id) const { return kinds_[id]; }
  core::TensorType type(TypeIndex id) const;
  core::Attributes attributes(ApplicationId id) const;
  std::optional<TypeIndex> find_type(const core::TensorType& concrete) const;
  std::optional<ApplicationId> find(const core::OpSchema& op, const core::Attributes& concrete,
                                    std::span<const TypeIndex> operands,
                                    std::uint32_t output) const;
  std::optional<TermId> find_constant(Constant constant, TypeIndex type) const;
  /// Adds a constant at these sizes to a graph.
  core::Result<core::TensorId> append_constant(core::GraphBuilder& builder, TermId constant) const;

 private:
  const TermTable& terms_;
  World world_;
  std::vector<std::uint64_t> kinds_;
  std::unordered_map<std::uint64_t, TypeIndex> types_;
  std::unordered_map<std::uint64_t, ApplicationId> applications_;
};

/// `variables[k]` is input k of the rule.
PatternTree pattern_of(const NumberedVocabulary& vocabulary, const NamedTerm& side,
                       std::span<const Variable> variables);

class TermRule {
 public:
  /// `instances` differ in ranks and attribute values. Precondition: the trees are those of their
  /// sides. `is_two_way`: there is one from right to left, too.
  TermRule(std::vector<rules::Rule> instances, PatternTree source, PatternTree target,
           bool is_two_way);
  bool is_two_way() const { return is_two_way_; }
  /// Whether the target has fewer operators than the source, and no input more often.
  bool shrinks() const { return shrinks_; }

  std::uint64_t root_kind() const { return source_.nodes[0].value; }
  /// Prepares the rule for this vocabulary, which it works with from now on. Not thread-safe.
  void use(const NumberedVocabulary& vocabulary);
  bool admits_root(ApplicationId id) const { return admitted_[0][id] != 0; }
  /// Bits of the kinds (see kind_bit()) of each operand of a term.
  using Makers = std::array<std::uint64_t, kMostChildren>;
  /// Whether a term may match at its root at all: cheap, and mostly not so.
  bool may_match(ApplicationId id, const Makers& operands) const;

  class Matcher;
  /// The result of rewriting a term: an application of classes, or (without one) a class.
  struct Rewritten {
    std::optional<ApplicationId> application;
    std::vector<NamedTerm> operands;  ///< Or the class alone.
  };
  using Found = std::function<void(const Rewritten&)>;
  /// Calls `found` for every match at the root of the term. One for each thread.
  class Rewriter {
   public:
    Rewriter(const TermRule& rule, const TermClasses& classes);
    ~Rewriter();
    Rewriter(Rewriter&&) noexcept;
    void run(TermId term, const Found& found);

   private:
    std::unique_ptr<Matcher> matcher_;
  };

 private:
  /// Applications and constants of the target for the applications, constants and types of inputs
  /// of the source.
  struct Instance {
    bool fits = false;
    std::vector<std::uint32_t> of_node;  ///< By node of the target: ApplicationId or TermId.
  };
  class SourceGraph;
  const Instance& instance(std::span<const std::uint32_t> source) const;
  Instance make_instance(std::span<const std::uint32_t> source) const;
  bool resolve(const core::Graph& target, std::size_t node, core::TensorId tensor,
               std::vector<std::optional<TypeIndex>>& types, Instance& instance) const;

  void note_fixed(const core::Graph& side, std::size_t node, core::TensorId tensor);

  bool is_two_way_;
  bool shrinks_;
  rules::RuleSet instances_of_rule_;
  /// By node of the source: attribute values that all instances have in common.
  std::vector<std::map<std::string, std::optional<core::AttributeValue>>> fixed_;
  Makers wanted_{};                                  ///< By operand of the source's root.
  std::vector<std::vector<std::uint8_t>> admitted_;  ///< By node of the source and application.
  PatternTree source_, target_;
  const NumberedVocabulary* vocabulary_ = nullptr;
  struct KeyHash {
    std::size_t operator()(const std::vector<std::uint32_t>& key) const;
  };
  struct Instances {
    std::shared_mutex mutex;
    std::unordered_map<std::vector<std::uint32_t>, std::unique_ptr<const Instance>, KeyHash> known;
  };
  std::unique_ptr<Instances> instances_;
};

}  // namespace soapstone::generator
