// How one graph became another, step by step: which rule was applied where. Anyone can replay it
// with the two models, the prover and nothing else: the rules stand in the chain.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "rules/rule/rule.h"
#include "runtime/launches/backend.h"
#include "search/proofs/lemma.h"
#include "verifier/proof/verify.h"

namespace soapstone::search {

struct ChainStep {
  enum class Kind : std::uint8_t {
    kRule,
    kDecideChoices,    ///< decide_choices() of the nodes
    kMergeDuplicates,  ///< merge_duplicates()
    kFoldConstants,    ///< fold_constants()
    kDerive,           ///< Rules prove another one, without symbols; the graph stays as it is.
  };
  /// A rule of the chain holds at tensors of a derivation, numbered as by Derivation.
  struct Use {
    std::size_t rule = 0;
    std::vector<std::size_t> inputs;
    std::vector<std::int64_t> sizes;  ///< By symbol.
  };
  Kind kind = Kind::kRule;
  // For kRule: the rule's position in the chain, and the match that was replaced. For kDerive: the
  // rule that is proved. For kFoldConstants: the nodes that were left unfolded.
  std::size_t rule = 0;
  std::vector<core::NodeId> nodes;
  std::vector<core::TensorId> inputs;
  std::vector<Use> uses;     ///< For kDerive: the uses of rules, in order.
  std::uint64_t result = 0;  ///< Hash of the graph after the step.
};

struct ProofChain {
  std::uint64_t input = 0;         ///< Hash of the graph before the first step.
  std::vector<rules::Rule> rules;  ///< Without evidence, each name once.
  std::vector<ChainStep> steps;

  /// Precondition: the match was found in the graph after the last step.
  void add_rule(const rules::Rule& rule, const rules::Match& match, std::uint64_t result);
  /// The same with a lemma, which is derived from rules of that set where it is first used.
  void add_lemma(const Lemma& lemma, const rules::RuleSet& rules, const rules::Match& match,
                 std::uint64_t result);
  void add(ChainStep::Kind kind, std::uint64_t result);
  void add_choices(const std::vector<core::NodeId>& choices, std::uint64_t result);

 private:
  std::size_t index_of(const rules::Rule& rule);
};

/// In the text language:
///
///   chain 1
///   input 0x9a1bc30e55d20f17
///
///   rule "merge_matmuls[A=1]"
///     …
///
///   steps 2
///     merge_duplicates result=0x5f…
///     apply "merge_matmuls[A=1]" nodes=[3, 5] inputs=[1, 2, 4] result=0x77…
///     derive "equality_saturation" uses=2
///       use "merge_matmuls[A=1]" inputs=[1, 2, 4] sizes=[1, 8, 8, 4]
///       …
///     apply "equality_saturation" nodes=[…] inputs=[…] result=0x1c…
std::string print(const ProofChain& chain);
/// Errors: kInvalidInput with line and column: no chain, one that was cut off, a broken rule.
core::Result<ProofChain> parse_chain(std::string_view text);

struct Replay {
  core::Graph graph;  ///< The graph that the steps make of the input.
  std::size_t proofs = 0;
  double proof_cpu_ms = 0;
};
/// Rules that replays have proved, for the next replay: chains that are tried in turn have most
/// rules in common. Its replays have equal options. Not thread-safe.
class ReplayMemory {
 public:
  ReplayMemory();
  ~ReplayMemory();

 private:
  friend class Replayer;
  struct Rules;
  std::unique_ptr<Rules> rules_;
};

struct ReplayOptions {
  verifier::VerifyOptions verify = {};
  bool allow_range_changes = false;  ///< The same as in AdmissionOptions.
  bool allow_unproved = false;       ///< Rules of the chain are taken that are not proved, too.
  ReplayMemory* memory = nullptr;    ///< None: all is proved anew.
};
/// Proves every rule for the parameters that its match has, whatever a file says, tries it at the
/// edges of types, and applies it; what was derived, by what it is derived from.
/// Errors: kNotEquivalent, with the step in `where`: another input, a match that is not there, a
/// rule that is not admitted, another result.
core::Result<Replay> replay(const ProofChain& chain, const core::Graph& input,
                            runtime::Backend& backend, const ReplayOptions& options,
                            core::ProgressSink& progress, const core::StopToken& stop);

/// The same steps at other sizes: `input` is the graph of the same model, read with other sizes of
/// its open dimensions. Every rule is proved for the parameters that its match has there.
/// Errors: kNotEquivalent, with the step in `where`: it cannot be taken there.
core::Result<core::Graph> replay_at_other_sizes(const ProofChain& chain, const core::Graph& input,
                                                runtime::Backend& backend,
                                                const ReplayOptions& options,
                                                const core::StopToken& stop);

}  // namespace soapstone::search
