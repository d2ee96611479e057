// Runs two graphs side by side and compares every output element.
#include "search/equivalence/equivalence.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/stop_scope.h"
#include "runtime/execution/executor.h"
#include "search/equivalence/comparison.h"
#include "search/equivalence/cut.h"
#include "search/equivalence/double_precision.h"
#include "search/equivalence/overflow.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Literal;
using core::TensorId;

/// Limits on the work of runs in double precision, in operations: for one run that a difference
/// asks for (a few seconds), and for all runs that nothing asks for (a fraction of a second).
constexpr double kMostWork = 3e10, kMostUnaskedWork = 5e8;

core::Status require_same_interface(const Graph& a, const Graph& b) {
  const auto describe = [](const Graph& graph, TensorId id) {
    const core::TensorType& type = graph.tensor(id).type;
    return fmt::format("{}{}", core::to_string(type.data_type),
                       core::to_string(type.shape, graph.symbols()));
  };
  const auto compare = [&](std::span<const TensorId> x, std::span<const TensorId> y,
                           std::string_view what) -> core::Status {
    if (x.size() != y.size()) {
      return core::invalid_input(
          fmt::format("the graphs have {} and {} {}s", x.size(), y.size(), what));
    }
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (a.tensor(x[k]).type == b.tensor(y[k]).type) continue;
      return core::invalid_input(fmt::format("{} {} ({}) is {} in one graph and {} in the other",
                                             what, k, a.tensor(x[k]).name, describe(a, x[k]),
                                             describe(b, y[k])));
    }
    return core::Done{};
  };
  SOAPSTONE_RETURN_IF_ERROR(compare(a.inputs(), b.inputs(), "input"));
  return compare(a.outputs(), b.outputs(), "output");
}

/// Texts are not computed here: such an output is an input handed through, the same one in both
/// graphs.
bool same_source(const Graph& a, const Graph& b, std::size_t output) {
  const auto number = [output](const Graph& graph) {
    const auto inputs = graph.inputs();
    return std::find(inputs.begin(), inputs.end(), graph.outputs()[output]) - inputs.begin();
  };
  return number(a) == number(b) && number(a) < std::ssize(a.inputs());
}

core::Status require_fitting(const Graph& graph, const std::vector<Literal>& inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return core::invalid_input(fmt::format("{} input arrays were given, the model has {} inputs",
                                           inputs.size(), graph.inputs().size()));
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const core::Tensor& tensor = graph.tensor(graph.inputs()[k]);
    const auto dims = core::concrete(tensor.type.shape);
    if (tensor.type.data_type == inputs[k].data_type() && dims && *dims == inputs[k].dims()) {
      continue;
    }
    return core::invalid_input(fmt::format(
        "input {} is {}{}, the array given for it is {}{}", tensor.name,
        core::to_string(tensor.type.data_type), core::to_string(tensor.type.shape, graph.symbols()),
        core::to_string(inputs[k].data_type()), core::to_string(inputs[k].dims())));
  }
  return core::Done{};
}

/// An unrolled network would hold its weights as often as it reads them.
core::Result<runtime::Executable> lean_executable(const Graph& graph, runtime::Backend& backend,
                                                  runtime::Fusion fusion) {
  return runtime::Executable::make(graph, backend,
                                   {.fusion = fusion, .hold_shared_weights = false});
}

}  // namespace

SampleKind sample_kind(int turn) {
  using enum SampleKind;
  constexpr SampleKind kFirst[] = {kNormal, kExtreme, kMasks,  kZero,   kHalves,    kHuge,
                                   kOne,    kTiny,    kPoints, kSpread, kStretched, kBeside};
  constexpr SampleKind kLater[] = {kBeside,    kSpread, kHalves, kPoints,
                                   kStretched, kHalves, kPoints, kExtreme};
  static_assert(std::size(kFirst) == kSampleKinds);
  return turn < kSampleKinds
             ? kFirst[turn]
             : kLater[static_cast<std::size_t>(turn - kSampleKinds) % std::size(kLater)];
}

int default_samples(const Graph& graph) {
  constexpr std::int64_t kEnoughNumbers = 1024;
  constexpr double kMostMore = 28, kMostWorkOfMore = 1e9;
  std::int64_t numbers = 1;
  for (const TensorId id : graph.inputs()) {
    const core::TensorType& type = graph.tensor(id).type;
    const auto dims = core::concrete(type.shape);
    if (dims && core::size_bytes(type.data_type) > 0) numbers += core::element_count(*dims);
  }
  const std::int64_t whole_samples = kEnoughNumbers / numbers;
  const double more = std::min(static_cast<double>(whole_samples),
                               kMostWorkOfMore / std::max(reference_work(graph), 1.0));
  return kSampleKinds + static_cast<int>(std::min(kMostMore, more));
}

std::optional<SampleKind> kind_of(const EquivalenceOptions& options, int sample) {
  const int turn = sample - static_cast<int>(options.inputs.size());
  return turn < 0 ? std::nullopt : std::optional(sample_kind(turn));
}

bool has_wide_inputs(const EquivalenceOptions& options, int sample) {
  const auto kind = kind_of(options, sample);
  return kind && is_wide(*kind);
}

bool has_short_inputs(const EquivalenceOptions& options, int sample) {
  return kind_of(options, sample) == SampleKind::kHalves;
}

std::vector<Literal> inputs_of_sample(const Graph& graph, const EquivalenceOptions& options,
                                      int sample) {
  const auto own = static_cast<int>(options.inputs.size());
  if (sample < own) {
    // A cut graph has inputs that the user knows nothing of.
    std::vector<Literal> all = sample_inputs(graph, SampleKind::kNormal, options.seed);
    std::ranges::copy(options.inputs[static_cast<std::size_t>(sample)], all.begin());
    return all;
  }
  const int turn = sample - own;
  const SampleKind kind = sample_kind(turn);
  const auto& stretches = options.landmarks.stretches;
  const bool stretches_inputs = kind == SampleKind::kStretched && !stretches.empty();
  std::vector<Literal> all =
      stretches_inputs ? stretched(sample_inputs(graph, SampleKind::kNormal, options.seed),
                                   stretches[static_cast<std::size_t>(turn / 2) % stretches.size()])
                       : sample_inputs(graph, kind, options.seed + static_cast<std::uint64_t>(turn),
                                       options.landmarks);
  for (std::size_t k = 0; k < options.defaults.size() && turn % 2 == 0; ++k)
    if (options.defaults[k]) all[k] = *options.defaults[k];
  return all;
}

std::vector<Literal> moved_inputs(const EquivalenceOptions& options, int sample,
                                  std::vector<Literal> inputs, std::uint64_t seed) {
  return has_short_inputs(options, sample) ? std::move(inputs) : perturbed(inputs, seed);
}

std::string describe_sample(const EquivalenceOptions& options, int sample) {
  const auto own = static_cast<int>(options.inputs.size());
  if (sample < own) return fmt::format("your own input {}", sample + 1);
  const int turn = sample - own;
  return fmt::format("{} (random input {}, seed {})", to_string(sample_kind(turn)), turn + 1,
                     options.seed);
}

void EquivalenceReport::add(std::span<const OutputError> errors, bool ill) {
  if (ill) ++ill_conditioned;
  for (std::size_t k = 0; k < errors.size(); ++k) {
    const OutputError& error = errors[k];
    OutputError& sum = outputs[k];
    sum.overflowed += error.overflowed;
    sum.equal = sum.equal && error.equal;
    if (ill && error.equal) {
      ill_conditioned_rel_error = std::max(ill_conditioned_rel_error, error.max_rel_error);
      continue;
    }
    sum.max_abs_error = std::max(sum.max_abs_error, error.max_abs_error);
    sum.max_rel_error = std::max(sum.max_rel_error, error.max_rel_error);
  }
}

bool EquivalenceReport::differs_behind_opaque_alone() const {
  return !equal && std::ranges::all_of(outputs, [](const OutputError& output) {
    return output.equal || output.is_behind || output.is_operand;
  });
}

bool EquivalenceReport::operands_differ() const {
  return std::ranges::any_of(
      outputs, [](const OutputError& output) { return output.is_operand && !output.equal; });
}

double EquivalenceReport::max_rel_error() const {
  double result = 0;
  for (const OutputError& output : outputs) result = std::max(result, output.max_rel_error);
  return result;
}

std::size_t EquivalenceReport::overflowed() const {
  std::size_t sum = 0;
  for (const OutputError& output : outputs) sum += output.overflowed;
  return sum;
}

/// A graph that the original is compared with.
struct ComparedGraph {
  CutGraph cut;
  runtime::Executable executable;
  std::vector<Floor> floors;
  std::optional<DoublePrecision> twin;   ///< For what double precision shows unasked.
  std::optional<DoublePrecision> asked;  ///< For the one difference that it explains.
  /// Of the last sample that was asked for.
  int sample = -1;
  std::optional<std::vector<std::vector<double>>> exact;
  std::vector<bool> leaving;
};

struct EquivalenceCheck::State {
  State(const Graph& graph, runtime::Backend& device, EquivalenceOptions wanted)
      : original(graph), backend(device), options(std::move(wanted)) {}

  const Graph& original;
  runtime::Backend& backend;
  EquivalenceOptions options;
  CutGraph cut;
  std::optional<CutPair> pair;  ///< Its first graph is `cut`.
  std::vector<Floor> floors;
  std::optional<runtime::Executable> executable, unfused;
  std::optional<DoublePrecision> precise;
  std::optional<DoublePrecision> noisy, noisy_behind_short;  ///< The latter for short inputs.
  std::map<int, std::vector<Literal>> results;  ///< Results of the original, by sample.
  std::map<int, std::vector<std::vector<double>>> exact;
  std::map<int, std::optional<std::vector<bool>>> leaving;  ///< leaves_range(), by sample.
  std::map<int, std::vector<Literal>> replaced;  ///< Inputs that the original rejects, by others.
  std::set<int> skipped;                         ///< Samples of which it rejects all.
  LastInputs drawn;

  int samples() const { return options.samples + static_cast<int>(options.inputs.size()); }
  std::vector<Literal> inputs(int sample) {
    const auto other = replaced.find(sample);
    return other != replaced.end() ? other->second : drawn.of(cut.graph, options, sample);
  }
  bool is_rejected(int sample);
  core::Result<Expected> expected(int sample);
  const std::vector<std::vector<double>>* exact_results(int sample);
  bool ask_rounding(int sample, Expected& expected, int turn);
  DoublePrecision& noisy_for(int sample);
  std::optional<std::vector<std::vector<double>>> moved(int sample, int turn);
  core::Result<ComparedGraph> make_other(const Graph& other, int sample_count) const;
  std::vector<bool> leaves_range_on(int sample, const ComparedGraph& other);
  RangeEvidence range_of(int sample, std::size_t output, ComparedGraph& other);
  core::Result<bool> compare_on(int sample, ComparedGraph& other, Comparison& comparison);
  core::Result<CutGraph> cut_alike(const Graph& other) const;
  core::Status prepare(CutGraph made);
  void compare_texts(const Graph& other, Comparison& comparison) const;
  std::optional<DoublePrecision> exact_twin(const Graph& other, int sample_count) const;
};

/// An index that comes out of arithmetic may be out of range, whatever was drawn. Zeros and ones
/// for all integers are tried in its place.
bool EquivalenceCheck::State::is_rejected(int sample) {
  if (results.contains(sample)) return false;
  if (skipped.contains(sample)) return true;
  if (sample < static_cast<int>(options.inputs.size())) return false;  // the user's: an error
  for (int attempt = 0; attempt <= kPlainAttempts; ++attempt) {
    auto tried = drawn.of(cut.graph, options, sample);
    if (attempt > 0) tried = with_plain_integers(cut.graph, std::move(tried), attempt);
    auto literals = executable->run(tried);
    if (literals) {
      results.emplace(sample, *std::move(literals));
      if (attempt > 0) replaced.emplace(sample, std::move(tried));
      return false;
    }
    if (literals.error().code != core::ErrorCode::kInvalidInput) return false;
  }
  skipped.insert(sample);
  return true;
}

core::Result<Expected> EquivalenceCheck::State::expected(int sample) {
  const auto known = results.find(sample);
  if (known != results.end()) return Expected{to_doubles(known->second), {}};
  SOAPSTONE_ASSIGN_OR_RETURN(auto literals, executable->run(inputs(sample)));
  const auto& kept = results.emplace(sample, std::move(literals)).first->second;
  return Expected{to_doubles(kept), {}};
}

/// Null: it would take too long.
const std::vector<std::vector<double>>* EquivalenceCheck::State::exact_results(int sample) {
  const auto known = exact.find(sample);
  if (known != exact.end()) return &known->second;
  if (!precise) precise.emplace(cut.graph, kMostWork);
  auto values = precise->run(inputs(sample));
  if (!values) return nullptr;
  return &exact.emplace(sample, *std::move(values)).first->second;
}

DoublePrecision& EquivalenceCheck::State::noisy_for(int sample) {
  using Between = DoublePrecision::Between;
  const bool is_short = has_short_inputs(options, sample);
  auto& made = is_short ? noisy_behind_short : noisy;
  if (!made)
    made.emplace(cut.graph, kMostWork, is_short ? Between::kNoiseBehindShort : Between::kNoise);
  return *made;
}

/// With noise between the nodes; for large graphs, with other kernels and with inputs as rounding
/// might have left them. Nothing: that is not to be had either.
std::optional<std::vector<std::vector<double>>> EquivalenceCheck::State::moved(int sample,
                                                                               int turn) {
  const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(turn);
  DoublePrecision& noise = noisy_for(sample);
  if (noise.is_affordable()) return noise.run(inputs(sample), seed);
  if (!unfused) {
    auto made = lean_executable(cut.graph, backend, runtime::Fusion::kNone);
    if (!made) return std::nullopt;
    unfused.emplace(*std::move(made));
  }
  const auto again = unfused->run(moved_inputs(options, sample, inputs(sample), seed));
  if (!again) return std::nullopt;
  return to_doubles(*again);
}

/// From double precision if that is affordable, then from as many other runs as are needed.
bool EquivalenceCheck::State::ask_rounding(int sample, Expected& expected, int turn) {
  const auto* const known = exact_results(sample);
  if (turn == 0 && known != nullptr) {
    for (std::size_t k = 0; k < known->size(); ++k)
      expected.rounding.push_back(rounding_of(expected.values[k], (*known)[k]));
    return true;
  }
  if (turn >= kMostMoves) return false;
  const auto values = moved(sample, turn);
  const OtherRun run = noisy_for(sample).is_affordable() ? OtherRun::kNoisy : OtherRun::kMoved;
  if (!values || (run == OtherRun::kNoisy && known == nullptr)) return false;
  expected.rounding.resize(values->size());
  for (std::size_t k = 0; k < values->size(); ++k) {
    if (floors[k].is_integer()) continue;
    const auto& from = run == OtherRun::kNoisy ? (*known)[k] : expected.values[k];
    expected.rounding[k].widen(
        of_moved(options, sample, floors[k], rounding_between(from, (*values)[k], run)));
  }
  return true;
}

core::Result<CutGraph> EquivalenceCheck::State::cut_alike(const Graph& other) const {
  SOAPSTONE_RETURN_IF_ERROR(require_same_interface(original, other));
  if (pair) return pair->b;
  SOAPSTONE_ASSIGN_OR_RETURN(CutGraph result, cut_at_opaque(other));
  SOAPSTONE_RETURN_IF_ERROR(require_same_interface(cut.graph, result.graph));
  return result;
}

void EquivalenceCheck::State::compare_texts(const Graph& other, Comparison& comparison) const {
  const auto outputs = cut.graph.outputs();
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (core::size_bytes(cut.graph.tensor(outputs[k]).type.data_type) > 0) continue;
    if (!same_source(cut.graph, other, k)) comparison.fail(0, "is another text");
  }
}

/// For what double precision shows unasked, if that is cheap.
std::optional<DoublePrecision> EquivalenceCheck::State::exact_twin(const Graph& other,
                                                                   int sample_count) const {
  if (!options.same_constants) return std::nullopt;
  const double most = kMostUnaskedWork / std::max(sample_count, 1);
  if (reference_work(cut.graph) > most) return std::nullopt;
  DoublePrecision twin(other, most);
  if (!twin.is_affordable()) return std::nullopt;
  return twin;
}

core::Result<ComparedGraph> EquivalenceCheck::State::make_other(const Graph& other,
                                                                int sample_count) const {
  SOAPSTONE_ASSIGN_OR_RETURN(CutGraph cut_other, cut_alike(other));
  SOAPSTONE_ASSIGN_OR_RETURN(auto made,
                             lean_executable(cut_other.graph, backend, runtime::Fusion::kFull));
  auto twin = exact_twin(cut_other.graph, sample_count);
  auto of_other = floors_of(cut_other.graph);
  return ComparedGraph{
      std::move(cut_other), std::move(made), std::move(of_other), std::move(twin), {}, -1, {}, {}};
}

/// What lies before a cut is on the way to each result behind it, so all count there.
std::vector<bool> EquivalenceCheck::State::leaves_range_on(int sample, const ComparedGraph& other) {
  const auto values = inputs(sample);
  if (!leaving.contains(sample)) leaving[sample] = search::leaves_range(cut.graph, backend, values);
  const auto& ours = leaving[sample];
  const auto theirs = search::leaves_range(other.cut.graph, backend, values);
  std::vector<bool> either(floors.size(), true);
  if (!ours || !theirs) return either;
  for (std::size_t k = 0; k < either.size(); ++k) either[k] = (*ours)[k] || (*theirs)[k];
  if (cut.cut_nodes > 0)
    either.assign(either.size(), std::ranges::find(either, true) != either.end());
  return either;
}

/// Double precision knows no narrower type on the way: where the other graph has one and the
/// original has not, what overflows in it is lost. Doubles themselves have no wider type.
RangeEvidence EquivalenceCheck::State::range_of(int sample, std::size_t output,
                                                ComparedGraph& other) {
  if (other.floors[output].largest < floors[output].largest) return {{HUGE_VAL}, {0}, false};
  if (other.sample != sample) {
    other.sample = sample;
    other.leaving = leaves_range_on(sample, other);
    if (!other.asked) other.asked.emplace(other.cut.graph, kMostWork);
    other.exact = other.asked->run(inputs(sample));
  }
  const auto* const ours = exact_results(sample);
  const bool is_known = ours != nullptr && other.exact && floors[output].spacing != 0x1p-52;
  RangeEvidence range{{}, {}, other.leaving[output]};
  if (is_known) {
    range.original = (*ours)[output];
    range.other = (*other.exact)[output];
  }
  return range;
}

core::Result<bool> EquivalenceCheck::State::compare_on(int sample, ComparedGraph& other,
                                                       Comparison& comparison) {
  if (is_rejected(sample)) return true;
  SOAPSTONE_ASSIGN_OR_RETURN(Expected wanted, expected(sample));
  const auto actual = other.executable.run(inputs(sample));
  if (!actual && actual.error().code == core::ErrorCode::kInvalidInput) {
    comparison.fail(sample, "rejects an input that the original takes: " + actual.error().message);
    return false;
  }
  if (!actual) return actual.error();
  const auto ask = [&](Expected& asked, int turn) { return ask_rounding(sample, asked, turn); };
  const auto ask_range = [&](std::size_t output) { return range_of(sample, output, other); };
  bool equal = comparison.add(sample, wanted, to_doubles(*actual), ask, ask_range);
  if (!other.twin) return equal;
  // Doubles do not wrap as integers do.
  if (has_wide_inputs(options, sample) && has_plain_integers(cut.graph)) return equal;
  const auto* const ours = exact_results(sample);
  if (ours == nullptr) return equal;
  if (const auto theirs = other.twin->run(inputs(sample)))
    equal = comparison.add_exact(sample, wanted, *ours, *theirs, ask) && equal;
  return equal;
}

core::Status EquivalenceCheck::State::prepare(CutGraph made) {
  for (const auto& inputs : options.inputs)
    SOAPSTONE_RETURN_IF_ERROR(require_fitting(original, inputs));
  cut = std::move(made);
  SOAPSTONE_ASSIGN_OR_RETURN(executable,
                             lean_executable(cut.graph, backend, runtime::Fusion::kFull));
  floors = floors_of(cut.graph);
  return core::Done{};
}

core::Result<EquivalenceCheck> EquivalenceCheck::make(const Graph& original,
                                                      runtime::Backend& backend,
                                                      const EquivalenceOptions& options) {
  auto state = std::make_unique<State>(original, backend, options);
  SOAPSTONE_ASSIGN_OR_RETURN(CutGraph cut, cut_at_opaque(original));
  SOAPSTONE_RETURN_IF_ERROR(state->prepare(std::move(cut)));
  return EquivalenceCheck(std::move(state));
}

core::Result<EquivalenceCheck>
EquivalenceCheck::make_pair(const Graph& original, const Graph& other, const OpaqueFacts& facts,
                            runtime::Backend& backend, const EquivalenceOptions& options) {
  SOAPSTONE_RETURN_IF_ERROR(require_same_interface(original, other));
  auto state = std::make_unique<State>(original, backend, options);
  SOAPSTONE_ASSIGN_OR_RETURN(state->pair, cut_pair(original, other, facts, backend, options.seed));
  SOAPSTONE_RETURN_IF_ERROR(state->prepare(state->pair->a));
  return EquivalenceCheck(std::move(state));
}

EquivalenceCheck::EquivalenceCheck(std::unique_ptr<State> state) : state_(std::move(state)) {}
EquivalenceCheck::~EquivalenceCheck() = default;
EquivalenceCheck::EquivalenceCheck(EquivalenceCheck&&) noexcept = default;
EquivalenceCheck& EquivalenceCheck::operator=(EquivalenceCheck&&) noexcept = default;

void EquivalenceCheck::allow(Latitude latitude) { state_->options.latitude = latitude; }

core::Result<EquivalenceReport> EquivalenceCheck::run(const Graph& other,
                                                      core::ProgressSink& progress,
                                                      const core::StopToken& stop) {
  State& state = *state_;
  SOAPSTONE_ASSIGN_OR_RETURN(ComparedGraph side, state.make_other(other, state.samples()));
  std::optional<Comparison> comparison;
  comparison.emplace(state.options, state.floors, state.cut.output_names);
  state.compare_texts(side.cut.graph, *comparison);
  const int total = state.samples();
  int done = 0;
  for (; done < total && (done == 0 || !stop.stop_requested()); ++done) {
    // On one sample at least the result must be checked, however long that takes.
    const core::StopScope scope(done == 0 ? nullptr : &stop);
    const Comparison before = *comparison;
    const auto equal = state.compare_on(done, side, *comparison);
    if (scope.has_interrupted()) {
      comparison.emplace(before);
      break;
    }
    if (!equal) return equal.error();
    progress.update(static_cast<std::uint64_t>(done) + 1, static_cast<std::uint64_t>(total), "");
  }
  EquivalenceReport report = comparison->take(done - static_cast<int>(state.skipped.size()));
  report.cut_outputs = state.cut.left_out;
  report.cut_nodes = state.cut.cut_nodes;
  if (!state.pair) return report;
  report.unmatched = state.pair->unmatched;
  for (std::size_t k = 0; k < report.outputs.size(); ++k) {
    report.outputs[k].is_operand = state.pair->is_operand[k];
    report.outputs[k].is_behind = state.pair->is_behind[k];
  }
  // A graph that rejects random numbers in place of what opaque nodes compute may take the latter.
  if (state.cut.cut_nodes + side.cut.cut_nodes > 0 && report.difference &&
      report.difference->output.empty())
    for (OutputError& output : report.outputs) output.is_behind = true;
  return report;
}

core::Result<bool> EquivalenceCheck::differs_on(const Graph& other, int sample) {
  State& state = *state_;
  SOAPSTONE_ASSIGN_OR_RETURN(ComparedGraph side, state.make_other(other, state.samples()));
  Comparison comparison(state.options, state.floors, state.cut.output_names);
  SOAPSTONE_ASSIGN_OR_RETURN(const bool equal, state.compare_on(sample, side, comparison));
  return !equal;
}

std::vector<bool> EquivalenceCheck::leaves_range(const Graph& other, int sample) {
  State& state = *state_;
  std::vector<bool> all(state.original.outputs().size(), true);
  if (state.is_rejected(sample)) return all;
  auto side = state.make_other(other, state.samples());
  if (!side) return all;
  std::vector<bool> leaving = state.leaves_range_on(sample, *side);
  if (state.cut.cut_nodes == 0) return leaving;
  // Nobody sees what lies behind opaque nodes. From numbers of ordinary magnitude they are taken to
  // make such numbers; else all may have overflowed in them.
  const bool may_leave =
      has_wide_inputs(state.options, sample) || std::ranges::find(leaving, true) != leaving.end();
  return std::vector<bool>(all.size(), may_leave);
}

core::Result<EquivalenceReport> check_equivalence(const Graph& a, const Graph& b,
                                                  runtime::Backend& backend,
                                                  const EquivalenceOptions& options,
                                                  core::ProgressSink& progress,
                                                  const core::StopToken& stop) {
  SOAPSTONE_ASSIGN_OR_RETURN(EquivalenceCheck check, EquivalenceCheck::make(a, backend, options));
  return check.run(b, progress, stop);
}

}  // namespace soapstone::search
