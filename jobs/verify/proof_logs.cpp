// See proof_logs.h.
#include "jobs/verify/proof_logs.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "core/base/file_io.h"
#include "jobs/base/guard.h"
#include "rules/rule/families.h"
#include "verifier/proof/proof_log.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::jobs {
namespace {

namespace fs = std::filesystem;
using rules::Rule;
using Family = std::span<const Rule>;

core::Result<std::vector<fs::path>> logs_in(const std::string& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".proof") paths.push_back(it->path());
  if (error || paths.empty())
    return core::Error{core::ErrorCode::kInvalidInput,
                       error ? "the folder cannot be read: " + error.message()
                             : "there are no proof logs",
                       folder, "verifying with `proofs` writes them"};
  std::ranges::sort(paths);
  return paths;
}

class LogCheck {
 public:
  LogCheck(std::span<const Rule> rules, int specializations)
      : families_(rules::families(rules)), specializations_(specializations) {}

  /// How many proofs the log holds.
  core::Result<std::size_t> check(const fs::path& path) {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(path));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto proofs, verifier::parse_proofs(text));
    if (proofs.empty()) return core::invalid_input("the log holds no proof");
    SOAPSTONE_RETURN_IF_ERROR(find_subject(proofs));
    SOAPSTONE_RETURN_IF_ERROR(verifier::check_proofs(proofs, *solver_));
    return proofs.size();
  }

  /// Errors: kUnsupported: rules without a log.
  core::Status all_have_logs() const {
    if (logged_.size() == families_.size()) return core::Done{};
    const auto missing = std::ranges::find_if_not(
        families_, [&](const Family& f) { return logged_.contains(f.data()); });
    const Rule& rule = missing->front();
    return core::Error{
        core::ErrorCode::kUnsupported,
        fmt::format("{} of {} rules have no log; the first is {}",
                    families_.size() - logged_.size(), families_.size(), rule.base_name),
        rules::place_of(rule), "verifying with `proofs` writes a log for each rule that is proved"};
  }

 private:
  /// Notes which rule it is. Files may have rules of the same name.
  core::Status find_subject(const std::vector<verifier::LoggedProof>& proofs) {
    const std::string& name = proofs.front().rule.base_name;
    core::Status failure = core::Error{core::ErrorCode::kInvalidInput,
                                       fmt::format("there is no rule {} in these files", name),
                                       {},
                                       "name the file of the rule, too"};
    for (const Family& family : families_) {
      if (family.front().base_name != name) continue;
      failure = verifier::check_subject(proofs, family, specializations_);
      if (!failure) continue;
      logged_.insert(family.data());
      return core::Done{};
    }
    return failure;
  }

  std::vector<Family> families_;
  int specializations_;
  std::set<const Rule*> logged_;
  std::unique_ptr<verifier::Solver> solver_ = verifier::make_z3_solver();
};

core::Result<CheckedLogs> check_logs_unguarded(const std::string& folder,
                                               std::span<const Rule> rules, int specializations,
                                               const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<fs::path> paths, logs_in(folder));
  LogCheck check(rules, specializations);
  std::size_t proofs = 0;
  for (std::size_t k = 0; k < paths.size(); ++k) {
    context.progress.update(k, paths.size(), paths[k].filename().string());
    SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
    auto checked = check.check(paths[k]);
    if (!checked) return checked.error().at(paths[k].string());
    proofs += *checked;
  }
  SOAPSTONE_RETURN_IF_ERROR(check.all_have_logs());
  return CheckedLogs{paths.size(), proofs};
}

}  // namespace

core::Result<CheckedLogs> check_logs(const std::string& folder, std::span<const Rule> rules,
                                     int specializations, const Context& context) {
  return guarded(context, [&](const Context& inner) {
    return check_logs_unguarded(folder, rules, specializations, inner);
  });
}

}  // namespace soapstone::jobs
