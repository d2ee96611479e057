// The independent half of the equivalence check: the judge runs both files.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search/equivalence/comparison.h"
#include "search/equivalence/equivalence.h"
#include "search/equivalence/judge.h"

namespace soapstone::search {

struct JudgeReport {
  std::string runtime;  ///< Judge::runtime()
  /// False: no independent runtime has looked at the result, and `reason` says why.
  bool looked = false;
  std::string reason;
  /// A run that the runtime refuses of both files, so that it was not compared; may be empty.
  std::string note;
  EquivalenceReport equivalence;
};

/// Remembers what the original computes, so that several graphs can be compared with it.
class Judgment {
 public:
  /// All must outlive it. `original` gives the interface and its types.
  Judgment(Judge& judge, const core::Graph& original, const EquivalenceOptions& options);

  const Judge& judge() const { return judge_; }
  /// Empty if the runtime can run the original, on some sample at least, as it is written or with
  /// its own optimizations; else why not. Once told to stop it tries no more than one sample.
  std::string refusal(const core::StopToken& stop = {});
  /// Whether that refusal is no fault of the inputs: it cannot load the original, or refuses it on
  /// inputs of types that samples are drawn of.
  bool refuses_for_good(const core::StopToken& stop = {});
  /// Whether the runtime finds the graph, written as a file, equal to the original file: without
  /// its own optimizations, so that it runs what is written, and with them, as it will be deployed.
  /// A runtime that runs the original and not the result has found a difference, and so has one
  /// whose results have other names, types or sizes than the original's, or than `original` says.
  JudgeReport run(const core::Graph& rewritten, core::ProgressSink& progress,
                  const core::StopToken& stop);
  /// On that sample alone. Errors: the judge does not work any more.
  core::Result<bool> differs_on(const core::Graph& rewritten, int sample);
  void allow(Latitude latitude) { options_.latitude = latitude; }
  /// Whoever can look between the nodes tells by output whether numbers leave the range of their
  /// types there, in the original or in the rewritten graph. Without that a finite result is never
  /// excused.
  using AskOverflow = std::function<std::vector<bool>(const core::Graph& rewritten, int sample)>;
  void explain_overflow_by(AskOverflow ask) { ask_overflow_ = std::move(ask); }

 private:
  struct Results {
    std::vector<std::vector<double>> values;
    std::vector<core::TensorType> types;
    std::vector<std::string> names;
    /// Why the runtime does not run the file as it is written, so that these are with its own
    /// optimizations. Empty: it does.
    std::string refused_as_written;
  };
  /// How far runs of the original are apart that differ in rounding alone, by output.
  struct Noise {
    std::vector<Rounding> optimized, moved;
    int moves = 0;  ///< Runs that `moved` is the largest of.
  };
  int samples() const { return options_.samples + static_cast<int>(options_.inputs.size()); }
  const std::vector<core::Literal>& inputs_on(int sample);
  core::Result<Results> run_original(const std::vector<core::Literal>& inputs);
  const core::Result<Results>& original_on(int sample);
  core::Result<Results> run_on(Judge::Model model, const std::vector<core::Literal>& inputs);
  std::vector<Rounding> rounding_to(int sample, const core::Result<Results>& again, OtherRun run);
  void move(int sample, Noise& noise);
  const Noise& noise_on(int sample, int moves);
  bool ask_rounding(int sample, Expected& expected, int turn);
  RangeEvidence range_of(int sample, std::size_t output) const;
  bool is_as_read(int sample, const Results& original, Comparison& comparison) const;
  bool has_interface_of(const Results& original, int sample, const Results& actual,
                        bool as_deployed, Comparison& comparison) const;
  bool compare(int sample, const Results& actual, Expected& expected, bool as_deployed,
               Comparison& comparison);
  void refuse(int sample, const core::Error& error, bool as_deployed, Comparison& comparison);
  core::Result<bool> compare_as_written(int sample, Expected& expected, Comparison& comparison);
  void compare_optimized(int sample, Expected& expected, Comparison& comparison);
  core::Status compare_on(int sample, Comparison& comparison);
  void forget(int sample);
  Comparison comparison() const;

  Judge& judge_;
  const core::Graph& original_;
  EquivalenceOptions options_;
  std::vector<Floor> floors_;
  AskOverflow ask_overflow_;
  const core::Graph* rewritten_ = nullptr;              ///< The one that is being judged.
  std::map<int, core::Result<Results>> results_;        ///< Results of the original, by sample.
  std::map<int, std::vector<core::Literal>> replaced_;  ///< Inputs that it refuses, by others.
  std::map<int, Noise> noise_;                          ///< By sample.
  std::string note_;                                    ///< JudgeReport::note
  LastInputs drawn_;
};

}  // namespace soapstone::search
