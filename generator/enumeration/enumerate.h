// Finds all equal pairs of small terms: level by level, one representative of each class of equal
// terms is extended, and every other member of a class makes a pair with it. The result does not
// depend on the number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "generator/enumeration/tiles.h"
#include "generator/terms/term.h"
#include "generator/vocabulary/vocabulary.h"

namespace soapstone::generator {

struct EnumerateOptions {
  int ops =
      3;  ///< Operators in a term, counted as a tree. A split counts once for each result used.
  int jobs = 0;                            ///< Threads; 0: one a core.
  std::uint64_t seed = 1;                  ///< Draws the inputs' values.
  std::uint64_t memory_limit_bytes = 0;    ///< 0: none.
  std::filesystem::path resume_dir;        ///< Empty: finished tiles are not kept.
  core::ProgressSink* progress = nullptr;  ///< Null: silent.
  const core::StopToken* stop = nullptr;
  /// Null: this process computes all tiles. Otherwise its results go to rank 0; the others get
  /// the statistics of the levels, but no pairs.
  TileExchange* exchange = nullptr;
};

/// `newcomer` computes what `representative` computes, under these names.
struct EqualPair {
  TermId representative = kNoTerm;
  TermId newcomer = kNoTerm;
  /// The variables of the representative in names of the newcomer. One that the newcomer does not
  /// use (it then has no influence) has a name beyond the newcomer's variables.
  Renaming names;
  /// Equal in the prime field, where sums, products and order are exact; otherwise in doubles
  /// alone: a law of some function.
  bool exact = true;
};

struct LevelStatistics {
  int ops = 0;
  std::uint64_t candidates = 0;  ///< Terms that were evaluated.
  std::uint64_t classes = 0;     ///< New ones.
  std::uint64_t pairs = 0;
};

struct Enumeration {
  TermTable terms;               ///< Representatives of all levels and the newcomers of all pairs.
  std::vector<EqualPair> pairs;  ///< By size of the newcomer, in a fixed order.
  std::vector<LevelStatistics> levels;
  std::uint64_t peak_memory_bytes = 0;  ///< The enumeration's own tables.
};

/// Errors: kRequirementNotMet if the memory limit is too small; kInterrupted if told to stop (what
/// is finished is in resume_dir); kInvalidInput if resume_dir belongs to another run.
core::Result<Enumeration> enumerate(const Vocabulary& vocabulary, const EnumerateOptions& options);

/// The sides of a rule that says what the pair says: source = newcomer, target = representative.
core::Result<Sides> sides_of(const Enumeration& enumeration, const EqualPair& pair);

}  // namespace soapstone::generator
