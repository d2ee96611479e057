// A rule's source prepared for matching: plain arrays, attribute by attribute in the order in which
// a node holds them, and for every node a plan that walks the whole pattern from there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::rules {

/// The condition on a size or an integer attribute.
struct SizePattern {
  enum class Kind : std::uint8_t {
    kNumber,  ///< `value`
    kSymbol,  ///< whatever symbol number `value` is, or is bound to by this
    kLater,   ///< equation number `value` will decide
  };
  Kind kind = Kind::kNumber;
  std::int64_t value = 0;
  bool operator==(const SizePattern&) const = default;
};

struct AttributePattern {
  enum class Kind : std::uint8_t { kInts, kReal, kRealSymbol, kText };
  Kind kind = Kind::kInts;
  bool is_list = false;
  std::vector<SizePattern> elements;  ///< kInts; kRealSymbol has its symbol here.
  double real = 0;
  std::string text;
  bool operator==(const AttributePattern&) const = default;
};

/// A tensor of the pattern. Slots are numbered: inputs first.
struct SlotPattern {
  enum class Kind : std::uint8_t {
    kInput,
    kLiteral,
    kScalar,  ///< One number, which is what `value` stands for: a `full` of the source.
    kInner
  };
  Kind kind = Kind::kInner;
  core::DataType data_type = core::DataType::kFloat32;  ///< f32: any floating type
  bool constant = false;
  std::vector<SizePattern> dims;  ///< An input's or a scalar's sizes.
  core::LiteralPtr literal;
  SizePattern value;  ///< A scalar's: the symbol of a real number.
};

struct NodePattern {
  const core::OpSchema* op = nullptr;
  std::vector<std::int32_t> inputs;  ///< Slots; −1: left out. None at the end.
  std::vector<std::int32_t> outputs;
  std::vector<AttributePattern> attributes;  ///< In the order of Attributes::values().
  int result_rank = -1;                      ///< The rank of its first result; −1: not known.
  std::size_t place = 0;                     ///< In source order().
  /// Nodes with this operator and these attributes that read one tensor as the same operand are
  /// siblings: number `sibling` of `siblings`, which read it as operand `shared`.
  std::uint32_t sibling = 0, siblings = 1, shared = 0;
};

/// Goes from a matched node to the next one through a tensor that both touch.
struct Step {
  std::int32_t node = 0;
  std::int32_t via = -1;     ///< Slot; −1: the start of a plan.
  bool to_producer = false;  ///< Else to any consumer.
};
using Plan = std::vector<Step>;

/// polynomial = the number that was met. `solve_for` is the one symbol that is still unknown then,
/// with a factor that is known; or −1: all are known.
struct Equation {
  enum class Kind : std::uint8_t {
    kMet,
    kStated,  ///< A `where` clause: the number is 0.
    kChosen,  ///< `solve_for` is any number from `factor` to `rest`: the one in the middle.
  };
  core::Polynomial polynomial;
  std::int64_t solve_for = -1;
  core::Polynomial factor, rest;  ///< polynomial = factor · symbol + rest
  bool of_size = false;           ///< It stands in a shape: a solution is not negative.
  Kind kind = Kind::kMet;
};

struct Pattern {
  std::vector<SlotPattern> slots;
  std::vector<NodePattern> nodes;  ///< In source order(), without those that are scalars.
  std::vector<std::int32_t> outputs;
  std::vector<Plan> plans;  ///< By the node that they start at.
  std::size_t anchor = 0;   ///< Best start when nothing is known.
  std::vector<Equation> equations;
  std::vector<std::uint32_t> equation_order;  ///< An order in which each has at most one unknown.
  std::size_t symbol_count = 0;               ///< Without derived ones.
  std::uint32_t siblings = 1;                 ///< Most of any node.
  /// More siblings than that, for which there are instances of the same rule.
  std::vector<std::uint32_t> larger_families;
};

/// The type that the inputs of type f32 stand for in a match; f32 if there are none. None:
/// different types, which no proof is about.
template <class TypeOfSlot>
std::optional<core::DataType> common_float_type(const Pattern& pattern, TypeOfSlot type_of) {
  std::optional<core::DataType> common;
  for (std::size_t k = 0; k < pattern.slots.size(); ++k) {
    const SlotPattern& slot = pattern.slots[k];
    if (slot.kind != SlotPattern::Kind::kInput || slot.data_type != core::DataType::kFloat32)
      continue;
    const core::DataType type = type_of(k);
    if (common && *common != type) return std::nullopt;
    common = type;
  }
  return common.value_or(core::DataType::kFloat32);
}

/// What a `full` of one number in a source is met as, if a symbol is its value.
enum class Numbers : std::uint8_t {
  kConstants,  ///< A constant of the graph, or a node.
  kNodes,      ///< A node alone.
};
/// Errors: kInvalidInput: a symbol that the source does not determine, or a source in parts that
/// share no tensor.
Result<Pattern> compile_pattern(const Rule& rule, Numbers numbers);

/// How often the operator occurs in graphs, for choosing where to begin: 0 for most operators.
int commonness(const core::OpSchema& op);
/// First `perm`, `axis` or `axes` of an operator: what tells most of its uses apart. None: −1.
int key_attribute(const core::OpSchema& op);
/// Hashes of the numbers of a key attribute, equal for a pattern and what it matches. 0: it has
/// others than numbers, and stands for any.
std::uint64_t attribute_key(const AttributePattern& attribute);
std::uint64_t attribute_key(const core::AttributeValue& value);
/// That of the node's key attribute; 0: it has none.
std::uint64_t pattern_key(const NodePattern& node);

}  // namespace soapstone::rules
