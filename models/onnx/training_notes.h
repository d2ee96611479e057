// Notes of a model file that matter to training alone: reading it for inference loses them.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace soapstone::models {

struct TrainingNotes {
  std::set<std::string> initializers;  ///< Their names: what a file calls its weights.
  std::vector<std::string> dropouts;   ///< Dropout nodes that drop something, as messages say it.
  std::map<std::string, double>
      momenta;  ///< Batch norms have one, by the name of the first result.
};

/// Errors: those of parsing a model file.
core::Result<TrainingNotes> read_training_notes(const std::filesystem::path& path);

}  // namespace soapstone::models
