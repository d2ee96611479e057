// See update_settings.h.
#include "jobs/train/update_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/check.h"
#include "jobs/base/usage_error.h"

namespace soapstone::jobs {
namespace {

using parallel::Optimizer;

/// A setting, the field of the request that it is in, and the attribute of the update operator that
/// it is.
struct Setting {
  const char *name, *field, *attribute;
};

std::vector<Setting> settings_of(Optimizer optimizer) {
  const Setting decay{"weight_decay", "weight_decay", "norm_coefficient"};
  switch (optimizer) {
  case Optimizer::kSgd:
    return {decay};
  case Optimizer::kMomentum:
    return {{"momentum", "momentum", "alpha"}, {"nesterov", "nesterov", "mode"}, decay};
  case Optimizer::kAdam:
  case Optimizer::kAdamW:
    return {{"beta1", "betas", "alpha"},
            {"beta2", "betas", "beta"},
            {"epsilon", "epsilon", "epsilon"},
            decay};
  }
  CHECK(false, "unreachable");
}

core::Error unknown_setting(const std::vector<Setting>& known, const std::string& name) {
  std::vector<std::string> fields;
  for (const Setting& s : known)
    if (std::string field = fmt::format("`{}`", s.field);
        std::ranges::find(fields, field) == fields.end())
      fields.push_back(std::move(field));
  const std::string field = name == "beta1" || name == "beta2" ? "betas" : name;
  return usage_error(fmt::format("this optimizer has no `{}`", field),
                     fmt::format("it has {}", fmt::join(fields, ", ")));
}

}  // namespace

core::Status set_update(const TrainRequest& request, parallel::TrainingOptions& options) {
  options.optimizer = request.optimizer;
  const std::vector<Setting> known = settings_of(request.optimizer);
  for (const auto& [name, value] : request.settings) {
    const auto setting =
        std::ranges::find_if(known, [&](const Setting& s) { return name == s.name; });
    if (setting == known.end()) return unknown_setting(known, name);
    if (request.optimizer == Optimizer::kAdamW && name == "weight_decay")
      options.weight_decay = value;
    else if (name == "nesterov")
      options.update_attributes.set(setting->attribute,
                                    std::string(value != 0 ? "nesterov" : "standard"));
    else
      options.update_attributes.set(setting->attribute, value);
  }
  return core::Done{};
}

}  // namespace soapstone::jobs
