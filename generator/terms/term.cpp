// Renamings and the table of terms.
#include "generator/terms/term.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/check.h"

namespace soapstone::generator {
namespace {

std::uint32_t set_digit(std::uint32_t bits, std::size_t width, std::size_t place, unsigned value) {
  const std::uint32_t mask = ((1u << width) - 1) << (width * place);
  return (bits & ~mask) | (value << (width * place));
}

std::string_view name_of(Constant constant) {
  switch (constant) {
  case Constant::kZero:
    return "0";
  case Constant::kOne:
    return "1";
  case Constant::kIdentity:
    return "identity";
  case Constant::kDelta:
    return "delta";
  case Constant::kAveragePool:
    return "average_kernel";
  }
  CHECK(false, "unreachable");
}

}  // namespace

unsigned VariableCounts::total() const {
  unsigned sum = 0;
  for (std::uint32_t rest = bits; rest != 0; rest >>= 3) sum += rest & 7u;
  return sum;
}

void VariableCounts::set(std::size_t group, unsigned count) {
  bits = set_digit(bits, 3, group, count);
}
void Renaming::set(std::size_t variable, unsigned index) {
  bits = set_digit(bits, 4, variable, index);
}

Renaming identity_renaming(VariableCounts counts) {
  Renaming result;
  std::size_t variable = 0;
  for (std::size_t g = 0; g < Universe::kMostGroups; ++g)
    for (unsigned k = 0; k < counts.of(g); ++k) result.set(variable++, k);
  return result;
}

Renaming compose(Renaming inner, VariableCounts inner_counts, Renaming outer,
                 VariableCounts outer_counts) {
  Renaming result;
  std::size_t variable = 0, first = 0;
  for (std::size_t g = 0; g < Universe::kMostGroups; ++g) {
    for (unsigned k = 0; k < inner_counts.of(g); ++k, ++variable)
      result.set(variable, outer.of(first + inner.of(variable)));
    first += outer_counts.of(g);
  }
  return result;
}

TermTable::TermTable(Universe universe, std::shared_ptr<const ApplicationTable> applications)
    : universe_(std::move(universe)), applications_(std::move(applications)) {
  // It must not move: terms are read while others are added.
  chunks_.reserve(kNoTerm / kChunk + 1);
  for (std::size_t g = 0; g < universe_.groups.size(); ++g) {
    Term term;
    term.variables.set(g, 1);
    add(term);
  }
  while (size_ < leaf_count()) add({});
  for (const InputGroup& group : universe_.groups)
    leaf_types_.push_back(applications_->id_of(group.type));
  for (const ConstantInput& constant : universe_.constants)
    leaf_types_.push_back(applications_->id_of(constant.type));
}

TermId TermTable::leaf_count() const {
  return static_cast<TermId>(universe_.groups.size() + universe_.constants.size());
}

TermId TermTable::add(const Term& term) {
  CHECK(size_ < kNoTerm, "too many terms");
  if (size_ / kChunk == chunks_.size())
    chunks_.push_back(std::make_unique_for_overwrite<Term[]>(kChunk));
  at(size_) = term;
  return size_++;
}

TypeIndex TermTable::type(TermId id) const {
  if (id >= leaf_count()) return (*applications_)[(*this)[id].application].result;
  return leaf_types_[id];
}

int TermTable::operator_count(TermId id) const {
  if (id < leaf_count()) return 0;
  int count = 1;
  for (TermId child : (*this)[id].children)
    if (child != kNoTerm) count += operator_count(child);
  return count;
}

std::size_t TermTable::depth(TermId id) const {
  if (id < leaf_count()) return 0;
  std::size_t most = 0;
  for (TermId child : (*this)[id].children)
    if (child != kNoTerm) most = std::max(most, depth(child));
  return most + 1;
}

std::size_t TermTable::memory_bytes() const { return chunks_.size() * kChunk * sizeof(Term); }

std::string TermTable::to_string(TermId id) const {
  return to_string(id, identity_renaming((*this)[id].variables));
}

std::string TermTable::to_string(TermId id, Renaming names) const {
  if (is_variable(id)) return fmt::format("{}{}", universe_.groups[id].stem, names.of(0));
  if (is_constant(id))
    return std::string(name_of(universe_.constants[id - universe_.groups.size()].constant));
  const Term& term = (*this)[id];
  const Application& application = (*applications_)[term.application];
  std::string text = application.op->name;
  if (application.output_count > 1) text += fmt::format("_{}", application.output_index);
  text += '(';
  for (std::size_t k = 0; k < application.operands.size(); ++k) {
    const VariableCounts counts = (*this)[term.children[k]].variables;
    text += k == 0 ? "" : ", ";
    text += to_string(term.children[k], compose(term.renamings[k], counts, names, term.variables));
  }
  const char* before = "; ";
  for (const auto& [name, value] : application.attributes.values()) {
    if (const core::AttributeSchema* schema = application.op->find_attribute(name);
        schema->default_value && *schema->default_value == value)
      continue;
    text += fmt::format("{}{}={}", before, name, core::to_string(value, universe_.symbols));
    before = ", ";
  }
  return text + ')';
}

}  // namespace soapstone::generator
