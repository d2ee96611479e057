// See file_clock.h.
#include "jobs/deployment/file_clock.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/file_io.h"
#include "core/base/hash.h"
#include "core/base/stop_scope.h"
#include "jobs/deployment/worker_timing.h"

namespace soapstone::jobs {
namespace {

namespace fs = std::filesystem;

/// Models that the worker holds at once: the original, the best so far, the one on trial.
constexpr std::size_t kMostLoaded = 3;
constexpr int kMostRounds = 400;
/// A comparison ends early if the ratio is this far from 1, whichever way.
constexpr double kClear = 0.004;
/// It also ends if the interval is no wider than this: more rounds would tell nothing of use.
constexpr double kPrecise = 0.008;
/// How much longer than the original a changed model may take before the worker counts as hanging,
/// and what it may take in any case.
constexpr double kPatience = 50, kLeastLoadWaitS = 60, kLeastRunWaitS = 10;

std::string encode(const cost::Comparison& c) {
  return fmt::format("{:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {} {:.8g} {:.8g} {:.8g}",
                     c.a.median_us, c.a.low_us, c.a.high_us, c.b.median_us, c.b.low_us, c.b.high_us,
                     c.a.rounds, c.ratio.median, c.ratio.low, c.ratio.high);
}

/// None: the text is not one that encode() makes.
std::optional<cost::Comparison> decode(std::string_view text) {
  std::array<double, 10> numbers{};
  for (double& number : numbers) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !(number > 0)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  const auto& n = numbers;
  const int rounds = static_cast<int>(std::min(n[6], 1e9));
  return cost::Comparison{
      {n[0], n[1], n[2], rounds}, {n[3], n[4], n[5], rounds}, {n[7], n[8], n[9]}};
}

bool is_decided(const cost::RatioInterval& ratio) {
  return ratio.low > 1 + kClear || ratio.high < 1 - kClear || ratio.high - ratio.low < kPrecise;
}

void remove_file(fs::path file) {
  std::error_code ignored;
  fs::remove(file, ignored);
  fs::remove(file += ".data", ignored);  // weights of a model above 2 GB
}

}  // namespace

core::Result<std::unique_ptr<FileClock>> FileClock::make(Deployment deployment, fs::path original,
                                                         const core::Graph& graph, Write write,
                                                         cost::CostDatabase* records,
                                                         std::string key) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto folder, core::PrivateFolder::make());
  if (original.empty()) {
    original = folder.path() / "original.onnx";
    SOAPSTONE_RETURN_IF_ERROR(write(graph, original));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(TimedFile file, load_to_time(deployment, original, graph, 0));
  deployment.worker.limit_waits(std::max(kLeastLoadWaitS, kPatience * file.load_s),
                                std::max(kLeastRunWaitS, kPatience * file.first_s));
  std::unique_ptr<FileClock> clock(new FileClock(std::move(deployment), std::move(folder),
                                                 std::move(write), records, std::move(key)));
  clock->inputs_ = std::move(file.inputs);
  clock->loaded_.push_back({graph.hash(), 0, file.model, std::move(original), true});
  return clock;
}

/// The original stays: it is needed again at the end.
void FileClock::close_oldest() {
  const auto oldest = std::ranges::find(loaded_, false, &Loaded::is_original);
  deployment_.worker.close(oldest->model);
  remove_file(oldest->file);
  loaded_.erase(oldest);
}

core::Result<FileClock::Loaded> FileClock::load(const core::Graph& graph) {
  const auto known = std::ranges::find_if(loaded_, [&](const Loaded& model) {
    return !model.is_original && model.hash == graph.hash();
  });
  if (known != loaded_.end()) {
    std::rotate(known, known + 1, loaded_.end());
    return loaded_.back();
  }
  if (loaded_.size() >= kMostLoaded) close_oldest();
  const fs::path file = folder_.path() / fmt::format("{:016x}.onnx", graph.hash());
  SOAPSTONE_RETURN_IF_ERROR(write_(graph, file));
  const auto loaded = load_file(graph.hash(), file);
  if (!loaded) {
    remove_file(file);
    return loaded.error();
  }
  loaded_.push_back(*loaded);
  return *loaded;
}

core::Result<FileClock::Loaded> FileClock::load_file(std::uint64_t hash, const fs::path& file) {
  Loaded loaded{hash, 0, 0, file, false};
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(file));
  // The same graph may be written in more than one way; weights in another file are in its hash.
  loaded.digest = core::hash_combine(hash, core::hash_text(text));
  SOAPSTONE_ASSIGN_OR_RETURN(loaded.model, deployment_.worker.load(file, deployment_.load));
  if (auto status = deployment_.worker.prepare(loaded.model, inputs_); !status) {
    deployment_.worker.close(loaded.model);
    return status.error();
  }
  return loaded;
}

/// Looking often, and stopping when the difference is clear, finds gains that are none. So a gain
/// counts as fresh samples show it.
core::Result<cost::Comparison> FileClock::measure(std::size_t a, std::size_t b, double budget_s,
                                                  const core::StopToken& stop) {
  const auto compared = [&](std::span<const workers::Samples> samples) {
    return comparison_of(samples[0], samples[1], is_processor_time(deployment_, samples));
  };
  const std::array models = {a, b};
  TurnOptions options{kMostRounds, budget_s, {}};
  options.is_enough = [&](auto samples) { return is_decided(compared(samples).ratio); };
  SOAPSTONE_ASSIGN_OR_RETURN(const auto first, sample_in_turn(deployment_, models, options, stop));
  const cost::Comparison seen = compared(first);
  if (seen.ratio.low <= 1) return seen;
  const TurnOptions again{seen.a.rounds, budget_s, {}};
  SOAPSTONE_ASSIGN_OR_RETURN(const auto fresh, sample_in_turn(deployment_, models, again, stop));
  return compared(fresh);
}

core::Result<cost::Comparison> FileClock::compare(const core::Graph& a, const core::Graph& b,
                                                  double budget_s, const core::StopToken& stop) {
  const core::StopScope scope(&stop);
  SOAPSTONE_ASSIGN_OR_RETURN(const Loaded loaded_b, load(b));
  SOAPSTONE_ASSIGN_OR_RETURN(const Loaded loaded_a, load(a));
  const std::string signature =
      fmt::format("comparison of warm runs {:016x} {:016x}", loaded_a.digest, loaded_b.digest);
  if (const auto known = records_ ? records_->find(key_, signature) : std::nullopt)
    if (const auto before = decode(known->implementation)) return *before;
  SOAPSTONE_ASSIGN_OR_RETURN(const cost::Comparison result,
                             measure(loaded_a.model, loaded_b.model, budget_s, stop));
  if (records_ != nullptr) {
    // What cannot be kept is measured again the next time.
    static_cast<void>(records_->store(
        key_, signature,
        {result.b.median_us, result.b.high_us - result.b.low_us, result.b.rounds, encode(result)}));
  }
  return result;
}

core::Result<cost::Comparison> FileClock::compare_file(const core::Graph&, const core::Graph& b,
                                                       double budget_s,
                                                       const core::StopToken& stop) {
  const core::StopScope scope(&stop);
  SOAPSTONE_ASSIGN_OR_RETURN(const Loaded loaded, load(b));
  const auto original = std::ranges::find(loaded_, true, &Loaded::is_original);
  return measure(original->model, loaded.model, budget_s, stop);
}

}  // namespace soapstone::jobs
