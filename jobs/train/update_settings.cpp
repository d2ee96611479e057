// See update_settings.h.
#include "jobs/train/update_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "jobs/base/usage_error.h"

namespace soapstone::jobs {
namespace {

using parallel::Optimizer;

/// A setting, and the attribute of the update operator that it is.
struct Setting {
  const char* name;
  const char* attribute;
};

std::vector<Setting> settings_of(Optimizer optimizer) {
  switch (optimizer) {
  case Optimizer::kSgd:
    return {{"weight_decay", "norm_coefficient"}};
  case Optimizer::kMomentum:
    return {{"momentum", "alpha"}, {"nesterov", "mode"}, {"weight_decay", "norm_coefficient"}};
  case Optimizer::kAdam:
    return {{"beta1", "alpha"},
            {"beta2", "beta"},
            {"epsilon", "epsilon"},
            {"weight_decay", "norm_coefficient"}};
  case Optimizer::kAdamW:
    return {{"beta1", "alpha"}, {"beta2", "beta"}, {"epsilon", "epsilon"}, {"weight_decay", ""}};
  }
  CHECK(false, "unreachable");
}

}  // namespace

core::Status set_update(const TrainRequest& request, parallel::TrainingOptions& options) {
  options.optimizer = request.optimizer;
  const std::vector<Setting> known = settings_of(request.optimizer);
  for (const auto& [name, value] : request.settings) {
    const auto setting =
        std::ranges::find_if(known, [&](const Setting& s) { return name == s.name; });
    if (setting == known.end()) {
      std::vector<std::string> names;
      for (const Setting& s : known) names.push_back(fmt::format("`{}`", s.name));
      return usage_error(fmt::format("this optimizer has no `{}`", name),
                         fmt::format("it has {}", fmt::join(names, ", ")));
    }
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
