// See cases.h. A form with many guards is split again within each case.
#include "verifier/algebra/cases.h"

#include <utility>

namespace soapstone::verifier {
namespace {

constexpr int kMostNestedCases = 40;

/// Counts how deep a recursion is.
class Nesting {
 public:
  explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

}  // namespace

std::vector<Fact> cases_of(const Fact& fact) {
  std::vector<Fact> cases{fact};
  for (Fact& opposite : fact.negation()) cases.push_back(std::move(opposite));
  return cases;
}

const Fact* Cases::outer_guard(const NormalForm& form, const FactSet& context) const {
  for (const Summand& summand : form) {
    for (const Fact& fact : summand.guards) {
      if (!fact.mentions_any(summand.binders) && !proof_.implied(context, fact)) return &fact;
    }
  }
  return nullptr;
}

NormalForm Cases::under(const NormalForm& form, const FactSet& context) const {
  NormalForm result;
  for (const Summand& summand : form) {
    Summand kept = summand;
    std::erase_if(kept.guards, [&](const Fact& fact) {
      return !fact.mentions_any(summand.binders) && proof_.implied(context, fact);
    });
    if (proof_.possible(unite(context, kept.guards))) result.push_back(std::move(kept));
  }
  return result;
}

NormalForm Cases::split(const std::vector<NormalForm>& forms, const FactSet& context,
                        const Build& build) {
  proof_.spend();
  const Nesting nesting(depth_);
  for (const NormalForm& form : forms) {
    const Fact* found = outer_guard(form, context);
    if (found == nullptr) continue;
    if (depth_ > kMostNestedCases) throw OutOfBudget{"too many cases within each other"};
    NormalForm result;
    for (const Fact& fact : cases_of(*found)) {
      FactSet inside = context;
      insert(inside, fact);
      if (!proof_.possible(inside)) continue;
      std::vector<NormalForm> there;
      for (const NormalForm& each : forms) there.push_back(under(each, inside));
      for (Summand& summand : split(there, inside, build)) {
        insert(summand.guards, fact);
        result.push_back(std::move(summand));
      }
    }
    return result;
  }
  return build(forms, context);
}

}  // namespace soapstone::verifier
