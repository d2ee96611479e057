// Numbers for the sizes of a vocabulary: different primes, so that no two shapes coincide.
#include <array>

#include "core/base/hash.h"
#include "generator/selection/term_rule.h"
#include "ops/definition/registry.h"

namespace soapstone::generator {
namespace {

std::uint64_t hash_of(const core::TensorType& type, const core::Dims& dims) {
  std::uint64_t hash = static_cast<std::uint64_t>(type.data_type);
  for (std::int64_t size : dims) hash = core::hash_combine(hash, static_cast<std::uint64_t>(size));
  return hash;
}

std::uint64_t hash_of(const core::OpSchema& op, const core::Attributes& attributes,
                      std::span<const TypeIndex> operands, std::uint32_t output) {
  std::uint64_t hash = core::hash_combine(op.hash(), attributes.hash());
  for (TypeIndex id : operands) hash = core::hash_combine(hash, id);
  return core::hash_combine(hash, output);
}

}  // namespace

NumberedVocabulary::NumberedVocabulary(const TermTable& terms) : terms_(terms) {
  constexpr std::array<std::int64_t, 12> kPrimes{7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47};
  for (std::size_t k = 0; k < terms.universe().symbols.size(); ++k)
    world_.sizes.push_back(kPrimes[k % kPrimes.size()]);
  const ApplicationTable& applications = terms.applications();
  for (std::size_t k = 0; k < applications.type_count(); ++k) {
    const core::TensorType& type = applications.type(static_cast<TypeIndex>(k)).type;
    types_.try_emplace(hash_of(type, world_.dims(type.shape)), static_cast<TypeIndex>(k));
  }
  for (ApplicationId id = 0; id < applications.size(); ++id) {
    const Application& a = applications[id];
    kinds_.push_back(kind_of(a));
    applications_.try_emplace(hash_of(*a.op, attributes(id), a.operands, a.output_index), id);
  }
}

core::TensorType NumberedVocabulary::type(TypeIndex id) const {
  const core::TensorType& type = terms_.applications().type(id).type;
  return {type.data_type, core::to_shape(world_.dims(type.shape))};
}

core::Attributes NumberedVocabulary::attributes(ApplicationId id) const {
  return world_.attributes(terms_.applications()[id].attributes);
}

std::optional<TypeIndex> NumberedVocabulary::find_type(const core::TensorType& concrete) const {
  const auto dims = core::concrete(concrete.shape);
  const auto found = dims ? types_.find(hash_of(concrete, *dims)) : types_.end();
  if (found == types_.end()) return std::nullopt;
  return found->second;
}

std::optional<ApplicationId> NumberedVocabulary::find(const core::OpSchema& op,
                                                      const core::Attributes& concrete,
                                                      std::span<const TypeIndex> operands,
                                                      std::uint32_t output) const {
  const auto found = applications_.find(hash_of(op, concrete, operands, output));
  if (found == applications_.end()) return std::nullopt;
  return found->second;
}

std::optional<TermId> NumberedVocabulary::find_constant(Constant constant, TypeIndex type) const {
  const Universe& universe = terms_.universe();
  for (std::size_t k = 0; k < universe.constants.size(); ++k) {
    const auto id = static_cast<TermId>(universe.groups.size() + k);
    if (universe.constants[k].constant == constant && terms_.type(id) == type) return id;
  }
  return std::nullopt;
}

core::Result<core::TensorId> NumberedVocabulary::append_constant(core::GraphBuilder& builder,
                                                                 TermId constant) const {
  const NamedTerm leaf{constant, {}};
  SOAPSTONE_ASSIGN_OR_RETURN(const Sides sides, to_graphs(terms_, std::span(&leaf, 1), {}));
  std::unordered_map<std::uint32_t, core::TensorId> made;
  for (core::NodeId id : sides.source.order()) {
    const core::Node& node = sides.source.node(id);
    std::vector<core::TensorId> inputs;
    for (core::TensorId input : node.inputs) inputs.push_back(made.at(input.value));
    SOAPSTONE_ASSIGN_OR_RETURN(
        const auto outputs,
        ops::append(builder, node.op->name, std::move(inputs), world_.attributes(node.attributes)));
    for (std::size_t k = 0; k < outputs.size(); ++k)
      made.emplace(node.outputs[k].value, outputs[k]);
  }
  return made.at(sides.source.outputs()[0].value);
}

}  // namespace soapstone::generator
