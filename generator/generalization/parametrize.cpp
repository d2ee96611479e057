// See parametrize.h.
#include "generator/generalization/parametrize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "generator/sides/rebuild.h"

namespace soapstone::generator {
namespace {

using core::AttributeValue;
using core::Graph;
using core::Polynomial;
using core::Result;

/// Whether the numbers in a list may become symbols.
bool may_vary(core::AttributeRole role, const Parametrize& what) {
  switch (role) {
  case core::AttributeRole::kPermutation:
    return what.perms;
  case core::AttributeRole::kPad:
  case core::AttributeRole::kBorder:
    return what.pads;
  case core::AttributeRole::kStride:
  case core::AttributeRole::kDilation:
  case core::AttributeRole::kWindow:
    return what.windows;
  default:
    return false;
  }
}

bool is_number(const Polynomial& p) { return p.is_constant(); }

class Parametrizer {
 public:
  Parametrizer(const Sides& sides, const Parametrize& what)
      : what_(what), table_(sides.source.symbols()) {}

  Result<Sides> run(const Sides& sides) {
    // Twice: symbols of the first run are in the table of the second.
    for (int round = 0; round < 2; ++round) {
      SOAPSTONE_ASSIGN_OR_RETURN(Graph source, with_symbols(sides.source));
      SOAPSTONE_ASSIGN_OR_RETURN(Graph target, with_symbols(sides.target));
      if (symbols_.empty()) return core::invalid_input("no number can become a symbol");
      if (round == 1) return Sides{std::move(source), std::move(target)};
    }
    CHECK(false, "unreachable");
  }

 private:
  /// The symbol for a number in some place.
  Polynomial symbol(const std::string& place, std::int64_t number) {
    const auto [known, is_new] = symbols_.try_emplace({place, number});
    if (is_new) {
      std::string name;
      do name = fmt::format("p{}", next_++);
      while (table_.find(name));
      known->second = table_.intern(name);
    }
    return known->second;
  }

  std::vector<Polynomial> shape(std::vector<Polynomial> sizes) {
    constexpr std::size_t kOfImages = 4, kFirstOfWindow = 2;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (is_number(sizes[d]) && (sizes[d].constant() != 1 ||
                                  (what_.ones && sizes.size() == kOfImages && d >= kFirstOfWindow)))
        sizes[d] = symbol(fmt::format("dimension {}", d), sizes[d].constant());
    return sizes;
  }

  AttributeValue replaced(const core::OpSchema& op, const std::string& name,
                          const AttributeValue& value) {
    const auto* list = std::get_if<std::vector<Polynomial>>(&value);
    const core::AttributeSchema* schema = op.find_attribute(name);
    if (list == nullptr || schema == nullptr) return value;
    const core::AttributeRole role = schema->role;
    // The shape of a constant is that of a tensor.
    if (what_.kernel_sizes && op.max_inputs == 0 && role == core::AttributeRole::kShape)
      return shape(*list);
    if (!may_vary(role, what_)) return value;
    constexpr std::size_t kOneOrder = 2;  // besides the one that changes nothing
    if (role == core::AttributeRole::kPermutation && list->size() <= kOneOrder) return value;
    // Equal lists are one, in whatever operators they are; a size in a list stays.
    std::vector<Polynomial> symbols = *list;
    std::string place = name;
    for (const Polynomial& p : *list) place += "," + core::to_string(AttributeValue(p), table_);
    for (std::size_t k = 0; k < symbols.size(); ++k)
      if (is_number(symbols[k]))
        symbols[k] = symbol(fmt::format("{}#{}", place, k), symbols[k].constant());
    return symbols;
  }

  Result<Graph> with_symbols(const Graph& side) {
    const auto shape_of = [&](core::Shape sizes) {
      return what_.kernel_sizes ? shape(std::move(sizes)) : sizes;
    };
    const auto value_of = [&](const core::OpSchema& op, const std::string& name,
                              const AttributeValue& value) { return replaced(op, name, value); };
    return rebuilt(side, table_, shape_of, value_of);
  }

  Parametrize what_;
  core::SymbolTable table_;
  std::map<std::pair<std::string, std::int64_t>, Polynomial> symbols_;
  std::size_t next_ = 0;
};

}  // namespace

Result<Sides> parametrized(const Sides& sides, const Parametrize& what) {
  return Parametrizer(sides, what).run(sides);
}

}  // namespace soapstone::generator
