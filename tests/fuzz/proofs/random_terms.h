// Random small graphs over shared inputs of symbolic sizes, with what they compute at a few sizes.
// Every operator of the registry may occur. Graphs that agree in all samples are probably equal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "rules/rule/rule.h"
#include "rules/sampling/sample.h"

namespace soapstone::fuzz {

/// The inputs that all graphs of one run read.
struct World {
  struct Input {
    std::string name;
    core::TensorType type;
  };
  core::SymbolTable symbols;
  std::vector<Input> inputs;
  std::vector<rules::Bindings> sizes;  ///< A few assignments; different symbols differ in each.
};
/// `x: f32[m, n]; i: i64[k]`. Sizes are drawn from 2 to 6.
World make_world(const std::string& text, rules::Random& random);
/// Texts of worlds in which every operator of the registry has a place.
std::vector<std::string> world_texts();

/// Values at one assignment of sizes.
struct Sample {
  core::Dims dims;
  std::vector<ops::Field::Value> field;
  std::vector<double> real;
};

struct TermNode {
  const ops::OpDefinition* op = nullptr;
  core::Attributes attributes;
  std::vector<std::size_t> operands;  ///< Terms.
  std::size_t results = 1;
};

/// An input, or a result of a node.
struct Term {
  std::optional<std::size_t> node;
  std::uint32_t result = 0;        ///< Or the number of the input.
  std::vector<std::size_t> nodes;  ///< All that it is computed by, ascending.
  core::DataType type = core::DataType::kFloat32;
  std::optional<core::Shape> shape;  ///< None where it is no polynomial of the sizes.
  std::vector<Sample> samples;
  std::uint64_t field_print = 0;  ///< Hash of dimensions, type and values in the prime field.
  std::uint64_t real_print = 0;   ///< The same in doubles, to six digits.
};

class TermMaker {
 public:
  TermMaker(World world, std::uint64_t seed);

  /// All results of a new node, or none where what was drawn does not fit together.
  /// `wanted`: the operator; null: any.
  std::vector<Term> draw(const ops::OpDefinition* wanted, std::size_t most_nodes);
  /// From here on the term may be an operand.
  std::size_t keep(Term term);

  const std::vector<Term>& terms() const { return terms_; }
  const TermNode& node(std::size_t k) const { return nodes_[k]; }
  const World& world() const { return world_; }
  rules::Random& random() { return random_; }
  /// The inputs that the term reads, ascending.
  std::vector<std::size_t> inputs_of(const Term& term) const;
  /// A rule of both terms: what the first computes is the second. Errors: as rules::complete.
  core::Result<rules::Rule> rule(const Term& source, const Term& target) const;

 private:
  std::size_t draw_operand();
  bool compute(const TermNode& node, std::vector<Term>& results);
  core::Result<core::Graph> graph(const Term& term, const std::vector<std::size_t>& inputs) const;

  World world_;
  rules::Random random_;
  std::uint64_t key_;  ///< Key of the random functions of the field.
  std::vector<TermNode> nodes_;
  std::vector<Term> terms_;
};

/// None: the operator cannot take these operands.
std::optional<core::Attributes> draw_attributes(const ops::OpDefinition& op,
                                                const std::vector<const Term*>& operands,
                                                const World& world, rules::Random& random);

}  // namespace soapstone::fuzz
