// The part of an operator that the graph needs to know: its name, its attributes, and what its
// definition states of them in the words of op_facts.h. Shapes and meaning are in ops/, which
// extends this struct.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/graph/op_facts.h"
#include "core/graph/polynomial.h"

namespace soapstone::core {

/// Integers (also symbolic ones), reals, texts, and lists of integers.
using AttributeValue = std::variant<Polynomial, double, std::string, std::vector<Polynomial>>;

struct AttributeSchema {
  std::string name;
  AttributeRole role;
  /// The value of an attribute that is not given. None: it must be given.
  std::optional<AttributeValue> default_value;
  /// Values that the generator may try (besides what shapes imply).
  std::vector<AttributeValue> values_to_try;

  AttributeKind kind() const { return kind_of(role); }
};

/// The attributes of a node: every attribute of its schema, defaults filled in, sorted by name.
/// An opaque node may hold any.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, AttributeValue>> values)
      : values_(values) {}

  void set(std::string_view name, AttributeValue value);
  const AttributeValue* find(std::string_view name) const;
  /// Precondition for all four: it is there, with that kind and with concrete numbers.
  std::int64_t get_int(std::string_view name) const;
  double get_real(std::string_view name) const;
  const std::string& get_text(std::string_view name) const;
  std::vector<std::int64_t> get_ints(std::string_view name) const;
  /// The symbolic forms of the first and the last, which need not be concrete numbers.
  const Polynomial& get_size(std::string_view name) const;
  const std::vector<Polynomial>& get_sizes(std::string_view name) const;

  const std::map<std::string, AttributeValue, std::less<>>& values() const { return values_; }
  std::uint64_t hash() const;
  /// Numbers are equal if their bits are: 0 and -0 are not.
  bool operator==(const Attributes& other) const;

 private:
  std::map<std::string, AttributeValue, std::less<>> values_;
};

/// The attribute value as the text format writes it.
std::string to_string(const AttributeValue& value, const SymbolTable& names);

struct OpSchema {
  std::string name;  ///< Lower snake case, as in the text format: `conv`, `batch_norm`.
  std::vector<AttributeSchema> attributes;
  std::size_t min_inputs = 1;
  std::size_t max_inputs = 1;  ///< kAnyNumber: variadic.
  bool commutative = false;    ///< The first two inputs may be exchanged.
  bool averages = false;       ///< Divides sums by the number of their terms.
  Movement movement = Movement::kNone;
  std::vector<OperandRole> operand_roles;  ///< Operands behind the last are like it.
  static constexpr std::size_t kAnyNumber = 1u << 20;

  /// The stand-in for operators without a meaning that we know: any attributes, never folded.
  bool is_opaque() const { return name == "opaque"; }
  const AttributeSchema* find_attribute(std::string_view name) const;
  /// The first attribute with that role; null: there is none.
  const AttributeSchema* find_role(AttributeRole role) const;
  OperandRole operand_role(std::size_t operand) const;
  bool has_operand(OperandRole role) const;
  /// A hash of the name; stable across runs.
  std::uint64_t hash() const;

 protected:
  ~OpSchema() = default;
};

/// Finds schemas by name. Implemented by ops/, so that the text format needs no operator.
class OpCatalog {
 public:
  virtual ~OpCatalog() = default;
  virtual const OpSchema* find(std::string_view name) const = 0;
};

}  // namespace soapstone::core
