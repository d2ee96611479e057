// Every open dimension alone first, then all that may stay open together, at two more assignments.
#include "jobs/optimize/open_result.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "jobs/models/model_files.h"
#include "models/onnx/writing/contrib.h"
#include "search/equivalence/equivalence.h"
#include "search/proofs/proof_chain.h"

namespace soapstone::jobs {
namespace {

using models::OpenDimension;
using Sizes = std::vector<std::int64_t>;

/// Other sizes to try: near ones, which cost no more, then those that divide as this one does.
Sizes others(std::int64_t size) {
  Sizes sizes;
  for (const std::int64_t other : {size + 1, 2 * size, size + 2, 3 * size, 1L, size / 2, size + 4,
                                   size + 8, size + 16, size + 32}) {
    if (other > 0 && other != size && std::find(sizes.begin(), sizes.end(), other) == sizes.end())
      sizes.push_back(other);
  }
  return sizes;
}

class Opening {
 public:
  Opening(const OptimizeRequest& request, const OptimizeJob& job, const core::Graph& graph,
          const search::ProofChain& chain, const Context& context)
      : request_(request), job_(job), graph_(graph), chain_(chain), context_(context) {}

  OpenResult run() {
    const auto dimensions = models::open_dimensions(job_.model);
    if (dimensions.empty()) return {};
    context_.progress.stage("trying other sizes");
    std::vector<OpenDimension> open;
    for (const OpenDimension& dimension : dimensions) {
      if (!context_.stop.stop_requested() && may_stay_open(dimension)) open.push_back(dimension);
    }
    auto file = open.empty() ? std::nullopt : at_all_sizes(open);
    if (file && !passes_judge(*file, open)) file.reset();
    if (!file) open.clear();
    std::string text = note(dimensions, open);
    return {std::move(file), std::move(judgment_), std::move(text)};
  }

 private:
  /// The model at other sizes, and what the steps make of it. None: it has no such size.
  struct Sized {
    models::OnnxModel model;
    std::optional<core::Graph> graph;  ///< None: the steps cannot be taken there.
  };

  std::optional<Sized> at(std::span<const OpenDimension> dimensions, const Sizes& sizes) const {
    models::ImportOptions import;
    import.shapes = models::shapes_at(job_.model, dimensions, sizes);
    auto model = models::read_onnx(job_.model_file, import);
    if (!model) return std::nullopt;
    Sized sized{*std::move(model), std::nullopt};
    if (request_.contrib) sized.model.header = models::with_contrib(*sized.model.header);
    auto graph = search::replay_at_other_sizes(
        chain_, sized.model.graph, *job_.backend,
        {.allow_range_changes = request_.rules.allow_range_changes}, context_.stop);
    if (graph) sized.graph = *std::move(graph);
    return sized;
  }

  static bool agrees(models::OpenExport& file, const Sized& sized) {
    if (!sized.graph) return false;
    const auto same = file.add(*sized.graph, *sized.model.header);
    return same.ok() && *same;
  }

  bool may_stay_open(const OpenDimension& dimension) {
    auto file = models::OpenExport::begin(graph_, *job_.model.header);
    if (!file) return false;
    Sizes& found = sizes_.emplace_back();
    for (const std::int64_t size : others(dimension.size)) {
      const auto sized = at(std::span(&dimension, 1), {size});
      if (!sized) continue;
      if (!agrees(*file, *sized)) break;
      found.push_back(size);
      if (found.size() == 2) return true;
    }
    sizes_.pop_back();
    return false;
  }

  /// Both files computed the same there too.
  bool is_equivalent(const Sized& sized) const {
    if (!job_.optimize.verify) return true;
    search::EquivalenceOptions verify = *job_.optimize.verify;
    verify.inputs.clear();  // they have the sizes that were given
    const auto report = search::check_equivalence(sized.model.graph, *sized.graph, *job_.backend,
                                                  verify, context_.progress, context_.stop);
    return report.ok() && report->equal;
  }

  std::optional<models::OpenExport> at_all_sizes(std::span<const OpenDimension> open) {
    auto file = models::OpenExport::begin(graph_, *job_.model.header);
    if (!file) return std::nullopt;
    for (const std::size_t turn : {0u, 1u}) {
      Sizes sizes;
      for (const Sizes& found : sizes_) sizes.push_back(found[turn]);
      const auto sized = at(open, sizes);
      if (!sized || !agrees(*file, *sized) || !is_equivalent(*sized)) return std::nullopt;
      others_.push_back({sized->model.graph, text_of(open, sizes)});
    }
    return std::optional(*std::move(file));
  }

  static std::string text_of(std::span<const OpenDimension> dimensions, const Sizes& sizes) {
    std::vector<std::string> text;
    for (std::size_t k = 0; k < dimensions.size(); ++k)
      text.push_back(fmt::format("{}={}", dimensions[k].text(), sizes[k]));
    return fmt::format("{}", fmt::join(text, ", "));
  }

  bool passes_judge(const models::OpenExport& file, std::span<const OpenDimension> open) {
    if (!job_.optimize.verify) return true;
    Sizes given;
    for (const OpenDimension& dimension : open) given.push_back(dimension.size);
    std::vector<SizedOriginal> originals{{job_.model.graph, text_of(open, given), true}};
    originals.insert(originals.end(), others_.begin(), others_.end());
    auto judgment = judge_open(request_, job_, file, originals, context_);
    if (judgment)
      judgment_ = *std::move(judgment);
    else
      judgment_.difference = judgment.error().to_string();
    return judgment_.difference.empty();
  }

  std::string note(const std::vector<OpenDimension>& all,
                   const std::vector<OpenDimension>& open) const {
    const auto is_open = [&](const OpenDimension& dimension) {
      return std::ranges::any_of(
          open, [&](const OpenDimension& other) { return other.places == dimension.places; });
    };
    std::vector<std::string> closed, left, checked;
    for (const SizedOriginal& other : others_) checked.push_back(other.sizes);
    for (const OpenDimension& dimension : all) {
      if (is_open(dimension))
        left.push_back(dimension.text());
      else
        closed.push_back(fmt::format("{}={}", dimension.text(), dimension.size));
    }
    std::string text;
    if (!left.empty())
      text = fmt::format("open in the result, and checked at {}: {}",
                         fmt::join(checked, " and at "), fmt::join(left, ", "));
    if (!closed.empty())
      text += fmt::format("{}the result is for these sizes and declares them: {}",
                          text.empty() ? "" : "; ", fmt::join(closed, ", "));
    if (!judgment_.difference.empty())
      text += fmt::format("; a file that leaves them open was refused: {}", judgment_.difference);
    if (!judgment_.note.empty()) text += "; " + judgment_.note;
    return text;
  }

  const OptimizeRequest& request_;
  const OptimizeJob& job_;
  const core::Graph& graph_;
  const search::ProofChain& chain_;
  const Context& context_;
  std::vector<Sizes> sizes_;           // of each dimension that may stay open: two others
  std::vector<SizedOriginal> others_;  // at all of them together
  OpenJudgment judgment_;
};

}  // namespace

OpenResult leave_sizes_open(const OptimizeRequest& request, const OptimizeJob& job,
                            const core::Graph& graph, const search::ProofChain& chain,
                            const Context& context) {
  return Opening(request, job, graph, chain, context).run();
}

}  // namespace soapstone::jobs
