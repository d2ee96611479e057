// Every open dimension alone first, then all that may stay open together, at two more assignments.
#include "jobs/optimize/open_result.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "jobs/models/model_files.h"
#include "models/onnx/writing/contrib.h"
#include "search/baseline/simplify.h"
#include "search/equivalence/equivalence.h"
#include "search/proofs/proof_chain.h"

namespace soapstone::jobs {
namespace {

using models::OpenDimension;
using Sizes = std::vector<std::int64_t>;

namespace fs = std::filesystem;

/// Larger files are read each time.
constexpr std::uintmax_t kMostKeptBytes = std::uintmax_t{1} << 29;

/// A result is compared with the model at so many sizes beside those given.
constexpr std::size_t kOtherSizes = 2;

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

/// Constant expressions that are others at other sizes: the file has to compute them.
std::set<core::NodeId> varying_constants(const core::Graph& graph, const core::Graph& other) {
  std::set<core::NodeId> varying;
  const auto differs = [&](core::TensorId id) {
    if (!id.valid()) return false;
    const core::Tensor& tensor = graph.tensor(id);
    if (tensor.producer.valid()) return varying.contains(tensor.producer);
    return !other.contains(id) || tensor.type != other.tensor(id).type ||
           (tensor.value && other.tensor(id).value && !(*tensor.value == *other.tensor(id).value));
  };
  for (const core::NodeId id : graph.order()) {
    if (!graph.is_constant_expression(id)) continue;
    const core::Node& node = graph.node(id);
    if (!other.contains(id) || node.attributes != other.node(id).attributes ||
        std::ranges::any_of(node.inputs, differs))
      varying.insert(id);
  }
  return varying;
}

class Opening {
 public:
  Opening(const OptimizeRequest& request, const OptimizeJob& job, const core::Graph& graph,
          const search::ProofChain& chain, search::Latitude latitude, const Context& context)
      : request_(request), job_(job), graph_(graph), chain_(chain), latitude_(latitude),
        models_(*job.other_sizes), context_(context) {}

  /// The open dimensions that alone cannot stay open, and why. A dimension of which the model
  /// itself has no other size is none of them. At a stop: none, as nobody knows.
  std::vector<std::string> closed() {
    std::vector<std::string> closed;
    for (const OpenDimension& dimension : models_.dimensions(request_, job_, context_.stop)) {
      const bool may = may_stay_open(dimension);
      if (context_.stop.stop_requested()) return {};
      if (!may && why_closed_.contains(dimension.text())) closed.push_back(closed_text(dimension));
    }
    return closed;
  }

  OpenResult run() {
    context_.progress.stage("trying other sizes");
    const auto& dimensions = models_.dimensions(request_, job_, context_.stop);
    std::vector<OpenDimension> open;
    for (const OpenDimension& dimension : dimensions) {
      if (context_.stop.stop_requested()) break;
      if (decides_for_these_sizes())
        why_closed_[dimension.text()] = "a choice is decided by a constant that depends on sizes";
      else if (may_stay_open(dimension))
        open.push_back(dimension);
    }
    auto file = open.empty() ? std::nullopt : at_all_sizes(open);
    if (file && !passes_judge(*file, open)) file.reset();
    if (!file) open.clear();
    std::string text = note(dimensions, open);
    return {
        std::move(file), std::move(judgment_), {varying_.begin(), varying_.end()}, std::move(text)};
  }

 private:
  /// The model at other sizes, and what the steps make of it. None: it has no such size.
  struct Sized {
    std::shared_ptr<const models::OnnxModel> model;
    std::optional<core::Graph> graph;  ///< None: the steps cannot be taken there.
    std::string why_not;
  };

  /// Whether a choice was decided by a constant that may vary: it may be made otherwise at sizes
  /// that nobody tries.
  bool decides_for_these_sizes() const {
    const auto is_for_these = [&](core::NodeId id) {
      if (!job_.model.graph.contains(id)) return true;
      const core::TensorId mask = job_.model.graph.node(id).inputs[0];
      const core::LiteralPtr& value = job_.model.graph.tensor(mask).value;
      return !value || models::may_vary(job_.model, *value);
    };
    return std::ranges::any_of(chain_.steps, [&](const search::ChainStep& step) {
      return step.kind == search::ChainStep::Kind::kDecideChoices &&
             std::ranges::any_of(step.nodes, is_for_these);
    });
  }

  std::optional<Sized> at(std::span<const OpenDimension> dimensions, const Sizes& sizes) const {
    Sized sized{models_.at(request_, job_, dimensions, sizes), std::nullopt, {}};
    if (!sized.model) return std::nullopt;
    auto graph =
        search::replay_at_other_sizes(chain_, sized.model->graph, *job_.backend,
                                      {.allow_range_changes = request_.rules.allow_range_changes,
                                       .allow_unproved = request_.rules.allow_unproved,
                                       .memory = &models_.replays()},
                                      context_.stop);
    if (graph)
      sized.graph = *std::move(graph);
    else
      sized.why_not = graph.error().to_string();
    return sized;
  }

  /// The graph with its constants folded but for some.
  core::Result<core::Graph> folded(const core::Graph& graph, const models::ModelHeader& header,
                                   const std::set<core::NodeId>& varying) const {
    if (request_.keep_constants) return graph;
    std::vector<core::NodeId> kept = models::constants_within_originals(graph, header);
    kept.insert(kept.end(), varying.begin(), varying.end());
    return search::fold_constants(graph, *job_.backend, kept);
  }

  core::Result<models::OpenExport> begin(const std::set<core::NodeId>& varying) const {
    SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph graph,
                               folded(graph_, *job_.model.header, varying));
    return models::OpenExport::begin(graph, *job_.model.header);
  }

  bool agrees(models::OpenExport& file, const Sized& sized, const std::set<core::NodeId>& varying) {
    why_not_ = sized.why_not;
    if (!sized.graph) return false;
    const auto graph = folded(*sized.graph, *sized.model->header, varying);
    const auto same = graph ? file.add(*graph, *sized.model->header) : core::Status(graph.error());
    if (!same) why_not_ = same.error().to_string();
    return same.ok();
  }

  /// Whether that is so at two other sizes: what holds below a bound may hold at one.
  bool may_stay_open(const OpenDimension& dimension) {
    std::optional<models::OpenExport> file;
    std::set<core::NodeId> varying;
    Sizes found;
    for (const std::int64_t size : others(dimension.size)) {
      const auto sized = at(std::span(&dimension, 1), {size});
      if (!sized) continue;
      if (!file) {
        if (sized->graph) varying = varying_constants(graph_, *sized->graph);
        auto begun = begin(varying);
        if (!begun) {
          why_closed_[dimension.text()] = begun.error().to_string();
          return false;
        }
        file.emplace(*std::move(begun));
      }
      if (!agrees(*file, *sized, varying)) {
        why_closed_[dimension.text()] = why_not_;
        return false;
      }
      found.push_back(size);
      if (found.size() == kOtherSizes) break;
    }
    if (found.size() < kOtherSizes) return false;
    sizes_.push_back(std::move(found));
    varying_.insert(varying.begin(), varying.end());
    return true;
  }

  /// Both files computed the same there too.
  bool is_equivalent(const Sized& sized) {
    if (!job_.optimize.verify) return true;
    search::EquivalenceOptions verify = *job_.optimize.verify;
    verify.inputs.clear();  // they have the sizes that were given
    verify.latitude = latitude_;
    const auto report = search::check_equivalence(sized.model->graph, *sized.graph, *job_.backend,
                                                  verify, context_.progress, context_.stop);
    if (!report) {
      why_not_ = report.error().to_string();
    } else if (!report->equal) {
      const search::Difference difference = report->difference.value_or(search::Difference{});
      why_not_ = fmt::format("on {}, the result {}", difference.input, difference.what);
    }
    return report.ok() && report->equal;
  }

  std::optional<models::OpenExport> at_all_sizes(std::span<const OpenDimension> open) {
    auto file = begin(varying_);
    if (!file) return std::nullopt;
    for (const std::size_t turn : {0u, 1u}) {
      const Sizes sizes = sizes_together(open, turn);
      const auto sized = at(open, sizes);
      if (!sized || !agrees(*file, *sized, varying_) || !is_equivalent(*sized)) {
        why_none_ = fmt::format("at {}: {}", text_of(open, sizes),
                                sized ? why_not_ : "the model has no such sizes");
        return std::nullopt;
      }
      others_.push_back({sized->model->graph, text_of(open, sizes), false, *sized->graph});
    }
    return std::optional(*std::move(file));
  }

  /// Other sizes of all dimensions. Each grows by another number, so that nothing that depends on
  /// one looks as if it depended on another one.
  Sizes sizes_together(std::span<const OpenDimension> open, std::size_t turn) const {
    Sizes sizes;
    std::set<std::int64_t> taken;
    for (std::size_t k = 0; k < open.size(); ++k) {
      const OpenDimension& dimension = open[k];
      Sizes may{sizes_[k][turn], sizes_[k][1 - turn]};
      std::ranges::copy(others(dimension.size), std::back_inserter(may));
      const auto is_new = [&](std::int64_t size) {
        return !taken.contains(size - dimension.size) &&
               models_.at(request_, job_, std::span(&dimension, 1), {size}) != nullptr;
      };
      const auto size = std::ranges::find_if(may, is_new);
      sizes.push_back(size != may.end() ? *size : sizes_[k][turn]);
      taken.insert(sizes.back() - dimension.size);
    }
    return sizes;
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
    std::vector<SizedOriginal> originals{{job_.model.graph, text_of(open, given), true, graph_}};
    originals.insert(originals.end(), others_.begin(), others_.end());
    auto judgment = judge_open(request_, job_, file, originals, latitude_, context_);
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
        closed.push_back(closed_text(dimension));
    }
    std::string text;
    if (!left.empty())
      text = fmt::format("open in the result, and checked at {}: {}",
                         fmt::join(checked, " and at "), fmt::join(left, ", "));
    if (!closed.empty())
      text += fmt::format("{}the result is for these sizes and declares them: {}",
                          text.empty() ? "" : "; ", fmt::join(closed, ", "));
    if (!why_none_.empty())
      text += fmt::format("; a file that leaves them open was not made: {}", why_none_);
    if (!judgment_.difference.empty())
      text += fmt::format("; a file that leaves them open was refused: {}", judgment_.difference);
    if (!judgment_.note.empty()) text += "; " + judgment_.note;
    return text;
  }

  std::string closed_text(const OpenDimension& dimension) const {
    const auto why = why_closed_.find(dimension.text());
    return fmt::format("{}={}{}", dimension.text(), dimension.size,
                       why == why_closed_.end() ? "" : fmt::format(" ({})", why->second));
  }

  const OptimizeRequest& request_;
  const OptimizeJob& job_;
  const core::Graph& graph_;
  const search::ProofChain& chain_;
  search::Latitude latitude_;
  OtherSizes& models_;
  const Context& context_;
  std::vector<Sizes> sizes_;           // of each dimension that may stay open: two others
  std::vector<SizedOriginal> others_;  // at all of them together
  std::set<core::NodeId> varying_;
  std::string why_not_;                            // what was tried last does not hold
  std::map<std::string, std::string> why_closed_;  // by dimension
  std::string why_none_;                           // no file has all of them open
  OpenJudgment judgment_;
};

}  // namespace

std::shared_ptr<const models::OnnxModel> OtherSizes::at(const OptimizeRequest& request,
                                                        const OptimizeJob& job,
                                                        std::span<const OpenDimension> dimensions,
                                                        const Sizes& sizes) {
  models::ImportOptions import;
  import.shapes = models::shapes_at(job.model, dimensions, sizes);
  import.fold_default_inputs = request.fold_default_inputs;
  const auto [known, is_new] = models_.try_emplace(import.shapes);
  if (!is_new) return known->second;
  auto model = models::read_onnx(job.model_file, import);
  if (!model) return nullptr;
  if (request.contrib) model->header = models::with_contrib(*model->header);
  auto read = std::make_shared<const models::OnnxModel>(*std::move(model));
  std::error_code unknown;
  if (const auto bytes = fs::file_size(job.model_file, unknown); !unknown && bytes < kMostKeptBytes)
    known->second = read;
  else
    models_.erase(known);
  return read;
}

const std::vector<OpenDimension>& OtherSizes::dimensions(const OptimizeRequest& request,
                                                         const OptimizeJob& job,
                                                         const core::StopToken& stop) {
  const auto has_other = [&](const OpenDimension& dimension) {
    std::size_t count = 0;  // one other may be 1, which is repeated
    for (const std::int64_t size : others(dimension.size)) {
      if (stop.stop_requested() || count == kOtherSizes) break;
      count += at(request, job, std::span(&dimension, 1), {size}) != nullptr ? 1 : 0;
    }
    return count == kOtherSizes;
  };
  if (!dimensions_) dimensions_ = models::free_dimensions(job.model, has_other);
  return *dimensions_;
}

OpenResult leave_sizes_open(const OptimizeRequest& request, const OptimizeJob& job,
                            const search::OptimizeReport& report, const Context& context) {
  if (models::open_dimensions(job.model).empty()) return {};
  return Opening(request, job, report.graph, report.chain, report.latitude, context).run();
}

void keep_sizes_open(const OptimizeRequest& request, OptimizeJob& job, const Context& context) {
  if (request.fix_shapes || models::open_dimensions(job.model).empty()) return;
  job.optimize.may_vary = [&](const core::Literal& constant) {
    return models::may_vary(job.model, constant);
  };
  job.optimize.closed_sizes = [&](const core::Graph& graph, const search::ProofChain& chain) {
    return Opening(request, job, graph, chain, {}, context).closed();
  };
}

}  // namespace soapstone::jobs
