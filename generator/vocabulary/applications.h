// Finds the operators that can be applied to operands of given types: with all attributes, the type
// of the result, and the compiled comprehension at each world. Each combination is computed once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/op_schema.h"
#include "generator/vocabulary/vocabulary.h"
#include "generator/vocabulary/world.h"
#include "ops/evaluation/evaluate.h"

namespace soapstone::generator {

using TypeIndex = std::uint16_t;
using ApplicationId = std::uint32_t;

/// Seeds the random functions of the prime field.
inline constexpr std::uint64_t kFunctionKey = 0x5eed;

/// One result of an operator with all its attributes, on operands of given types.
struct Application {
  const core::OpSchema* op = nullptr;
  core::Attributes attributes;  ///< Sizes in them are symbolic.
  std::vector<TypeIndex> operands;
  TypeIndex result = 0;
  std::uint32_t output_index = 0;
  std::uint32_t output_count = 1;
  /// The operator and attributes alone: applications of different outputs or types share it.
  std::uint32_t operation = 0;
  bool commutative = false;  ///< Operands 0 and 1 have one type and may be exchanged.
  /// Made of sums, products and order alone: the prime field decides it exactly.
  bool exact = true;
  bool orders = false;   ///< Depends on which element is larger, or has a function.
  bool divides = false;  ///< By elements: their inverses have no order in the prime field.
  std::vector<ops::CompiledSemantics<ops::Field::Value>> field;  ///< By world.
  std::vector<ops::CompiledSemantics<double>> real;              ///< By world.
};

/// A type of terms with its numbers of elements.
struct ValueType {
  core::TensorType type;
  std::vector<core::Dims> dims;         ///< By world.
  std::vector<std::uint32_t> elements;  ///< By world.
};

class ApplicationTable {
 public:
  ApplicationTable(Vocabulary vocabulary, const Universe& universe);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// Precondition: there is a term of that type.
  TypeIndex id_of(const core::TensorType& type) const;
  const ValueType& type(TypeIndex id) const { return *types_[id]; }
  std::size_t type_count() const { return types_.size(); }
  const Application& operator[](ApplicationId id) const { return *applications_[id]; }
  std::size_t size() const { return applications_.size(); }

  /// All applications to operands of these types, in a fixed order. Not thread-safe: the answers
  /// for all types of a level are asked for before it is enumerated.
  std::span<const ApplicationId> prepare(std::span<const TypeIndex> operands);
  /// The same for what was prepared; thread-safe.
  std::span<const ApplicationId> find(std::span<const TypeIndex> operands) const;
  std::size_t largest_arity() const { return largest_arity_; }

 private:
  TypeIndex intern(const core::TensorType& type);
  std::string key_of(const core::TensorType& type) const;
  void apply(const OperatorInstance& instance, const core::Attributes& attributes,
             std::span<const TypeIndex> operands, std::vector<ApplicationId>& found);
  void compile(Application& application, std::span<const core::TensorType> results) const;

  Vocabulary vocabulary_;
  const core::SymbolTable symbols_;
  const std::vector<World> worlds_;
  std::vector<core::Shape> shapes_;  // of the inputs
  std::size_t largest_arity_ = 1;
  std::vector<std::unique_ptr<const ValueType>> types_;
  std::map<std::string, TypeIndex> type_ids_;
  std::map<std::string, std::uint32_t> operations_;
  std::vector<std::unique_ptr<const Application>> applications_;
  std::map<std::vector<TypeIndex>, std::vector<ApplicationId>> by_operands_;
};

}  // namespace soapstone::generator
