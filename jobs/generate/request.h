// The request and the outcome of generate().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "generator/selection/derivation.h"
#include "generator/selection/reduce.h"
#include "jobs/deployment/deployment.h"
#include "jobs/gains/rule_gain.h"
#include "jobs/generate/generated_rules.h"
#include "parallel/ranks/launch.h"
#include "parallel/ranks/ranks.h"

namespace soapstone::jobs {

struct GenerateRequest {
  int ops = 3;                         ///< Operators on each side of an equality at most.
  std::vector<std::string> operators;  ///< By name; empty: those of the preset.
  std::string preset = "all";          ///< One of generator::preset_names().
  std::vector<std::size_t> ranks =
      {};  ///< Ranks of the inputs; only with `operators`. Empty: a default.
  /// Rule files whose consequences are left out; `shipped`: the shipped ones but generated.rules.
  std::vector<std::string> known = {};
  std::string output = {};  ///< Path of the rule file to write; empty: none is written.
  int jobs = 0;             ///< Threads; 0: all cores. The result does not depend on it.
  std::uint64_t seed = 1;
  std::uint64_t memory_limit_mb = 0;     ///< MiB for the tables of the enumeration; 0: any.
  std::string resume = {};               ///< Folder that keeps what is finished; empty: none.
  GainKind gains = GainKind::kRoofline;  ///< By which a comment above each rule says its gain.
  /// Derive all equalities again from the rules that are kept, and add what that does not reach.
  bool check = false;
  /// Of the last look at what is kept, and of the check. Larger e-graphs find little more.
  generator::DerivationLimits limits = {600};
  /// The processes that share the enumeration; null: this one alone.
  parallel::Ranks* processes = nullptr;
  parallel::MpiLaunch launch = {};
  RuntimeRequest runtime = {};  ///< Where gains are measured, if they are.

  /// Whether another process does all but the enumeration, and has the outcome.
  bool is_assistant() const { return launch.rank > 0; }
};

/// How far the rules that are kept lead.
struct Completeness {
  std::size_t derived = 0, no_rules = 0, wrong = 0;
  std::vector<std::string> lost;
};

/// The gain of a rule by some costs.
struct NotedGain {
  std::string rule, costs;
  RuleGain gain;
};

struct GenerateOutcome {
  std::vector<generator::LevelStatistics> levels;
  std::uint64_t peak_memory_bytes = 0;
  generator::ReduceStatistics reduced;
  std::size_t with_several_results = 0, kept = 0;
  std::vector<NamedRule> rules;
  std::vector<UnprovedRule> unproved;
  std::vector<NotedGain> gains;
  std::optional<Completeness> check;  ///< If the request asks for it.
  /// False: it was told to stop while it minimized. `rules` are then what was kept till then.
  bool finished = true;
  std::string text;  ///< The rules as a rule file.
  double enumerate_s = 0, reduce_s = 0, minimize_s = 0, prove_ms = 0;  ///< CPU time of the process.
};

}  // namespace soapstone::jobs
