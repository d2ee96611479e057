// Access to attributes by name and kind, their hash, and attribute values as text.
#include "core/graph/op_schema.h"

#include <algorithm>
#include <bit>

#include "core/base/hash.h"
#include "core/graph/tensor_type.h"
#include "core/syntax/lexer.h"

namespace soapstone::core {
namespace {

template <class T>
const T& get(const Attributes& attributes, std::string_view name) {
  const AttributeValue* value = attributes.find(name);
  CHECK(value, "no attribute " + std::string(name));
  const T* typed = std::get_if<T>(value);
  CHECK(typed, "attribute " + std::string(name) + " has another kind");
  return *typed;
}

std::int64_t number(const Polynomial& value, std::string_view name) {
  CHECK(value.is_constant(), "attribute " + std::string(name) + " is symbolic");
  return value.constant();
}

struct HashValue {
  std::uint64_t operator()(const Polynomial& value) const { return value.hash(); }
  std::uint64_t operator()(double value) const { return std::bit_cast<std::uint64_t>(value); }
  std::uint64_t operator()(const std::string& value) const { return hash_text(value); }
  std::uint64_t operator()(const std::vector<Polynomial>& values) const {
    std::uint64_t hash = values.size();
    for (const Polynomial& value : values) hash = hash_combine(hash, value.hash());
    return hash;
  }
};

}  // namespace

void Attributes::set(std::string_view name, AttributeValue value) {
  values_.insert_or_assign(std::string(name), std::move(value));
}

const AttributeValue* Attributes::find(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? nullptr : &at->second;
}

std::int64_t Attributes::get_int(std::string_view name) const {
  return number(get_size(name), name);
}
double Attributes::get_real(std::string_view name) const { return get<double>(*this, name); }
const std::string& Attributes::get_text(std::string_view name) const {
  return get<std::string>(*this, name);
}
std::vector<std::int64_t> Attributes::get_ints(std::string_view name) const {
  std::vector<std::int64_t> numbers;
  for (const Polynomial& value : get_sizes(name)) numbers.push_back(number(value, name));
  return numbers;
}
const Polynomial& Attributes::get_size(std::string_view name) const {
  return get<Polynomial>(*this, name);
}
const std::vector<Polynomial>& Attributes::get_sizes(std::string_view name) const {
  return get<std::vector<Polynomial>>(*this, name);
}

bool Attributes::operator==(const Attributes& other) const {
  const auto same = [](const auto& a, const auto& b) {
    const auto* x = std::get_if<double>(&a.second);
    const auto* y = std::get_if<double>(&b.second);
    if (a.first != b.first) return false;
    if (x == nullptr || y == nullptr) return a.second == b.second;
    return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  };
  return std::ranges::equal(values_, other.values_, same);
}

std::uint64_t Attributes::hash() const {
  std::uint64_t hash = values_.size();
  for (const auto& [name, value] : values_) {
    hash = hash_combine(hash, hash_text(name));
    hash = hash_combine(hash, value.index());
    hash = hash_combine(hash, std::visit(HashValue{}, value));
  }
  return hash;
}

std::string to_string(const AttributeValue& value, const SymbolTable& names) {
  struct ToText {
    const SymbolTable& names;
    std::string operator()(const Polynomial& value) const { return value.to_string(names); }
    std::string operator()(double value) const { return real_text(value); }
    std::string operator()(const std::string& value) const { return quote(value); }
    std::string operator()(const std::vector<Polynomial>& values) const {
      return to_string(Shape(values), names);
    }
  };
  return std::visit(ToText{names}, value);
}

const AttributeSchema* OpSchema::find_attribute(std::string_view wanted) const {
  for (const AttributeSchema& attribute : attributes) {
    if (attribute.name == wanted) return &attribute;
  }
  return nullptr;
}

const AttributeSchema* OpSchema::find_role(AttributeRole role) const {
  const auto found = std::ranges::find(attributes, role, &AttributeSchema::role);
  return found == attributes.end() ? nullptr : &*found;
}

OperandRole OpSchema::operand_role(std::size_t operand) const {
  if (operand_roles.empty()) return OperandRole::kData;
  return operand_roles[std::min(operand, operand_roles.size() - 1)];
}

bool OpSchema::has_operand(OperandRole role) const {
  return std::ranges::find(operand_roles, role) != operand_roles.end();
}

std::uint64_t OpSchema::hash() const { return hash_text(name); }

}  // namespace soapstone::core
