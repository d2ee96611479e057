// See profiles.h.
#include "parallel/described/profiles.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "parallel/topology/json_parser.h"
#include "parallel/topology/json_reader.h"

namespace soapstone::parallel {
namespace {

using ProfileReader = JsonReader<nlohmann::ordered_json>;

constexpr std::int64_t kMostLayers = 1 << 20;
constexpr std::int64_t kMostGpus = 1 << 20;
constexpr std::int64_t kMostMicrobatch = 1 << 30;
constexpr double kBytesOfMb = 1e6, kBytesOfGb = 1e9;

double positive(const ProfileReader& field) {
  const double value = field.not_negative();
  if (value == 0) field.fail("0 is not positive");
  return value;
}

std::vector<double> figures_of_layers(const ProfileReader& list, std::size_t layers) {
  std::vector<double> figures;
  list.for_each([&](const ProfileReader& figure) { figures.push_back(figure.not_negative()); });
  if (figures.size() != layers)
    list.fail(fmt::format("{} figures are not one for each of {} layers", figures.size(), layers));
  figures.resize(layers);
  return figures;
}

class ProfilesReader {
 public:
  explicit ProfilesReader(const nlohmann::ordered_json& json) : document_(json, "", error_) {}

  core::Result<Profiles> read() {
    document_.field("models").for_each_field(
        [&](const std::string& name, const ProfileReader& entry) {
          profiles_.models[name] = read_model(entry);
        });
    document_.field("devices").for_each_field(
        [&](const std::string& name, const ProfileReader& entry) {
          profiles_.devices[name] = {positive(entry.field("memory_mb")) * kBytesOfMb,
                                     entry.field("gpus_per_node").integer(1, kMostGpus)};
        });
    read_links(document_.field("links"));
    document_.field("profiles")
        .for_each_field([&](const std::string& model, const ProfileReader& entry) {
          read_times(model, entry);
        });
    if (error_) return *error_;
    return std::move(profiles_);
  }

 private:
  static ProfiledModel read_model(const ProfileReader& entry) {
    ProfiledModel model;
    model.layers = static_cast<std::size_t>(entry.field("layers").integer(1, kMostLayers));
    model.element_bytes = positive(entry.field("element_bytes"));
    if (entry.has("layer_kinds")) {
      std::vector<std::string> kinds;
      entry.field("layer_kinds").for_each([&](const ProfileReader& kind) {
        kinds.push_back(kind.text());
      });
      model.begins_with_embedding = !kinds.empty() && kinds.front() == "embedding";
    }
    entry.field("per_gpu_by_tensor_parallel")
        .for_each_field([&](const std::string& degree, const ProfileReader& sizes) {
          const std::int64_t gpus = read_degree(degree, sizes);
          model.sizes[gpus] = {
              figures_of_layers(sizes.field("parameters"), model.layers),
              figures_of_layers(sizes.field("saved_activation_elements"), model.layers),
              figures_of_layers(sizes.field("output_elements"), model.layers)};
        });
    return model;
  }

  static std::int64_t read_degree(const std::string& text, const ProfileReader& entry) {
    constexpr std::size_t kMostDigits = 6;
    const bool is_number = !text.empty() && text.size() <= kMostDigits && text.front() != '0' &&
                           std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) {
      entry.fail(fmt::format("'{}' is no degree of tensor parallelism", text));
      return 1;
    }
    return std::stoll(text);
  }

  void read_links(const ProfileReader& links) {
    links.field("inter_node").for_each([&](const ProfileReader& entry) {
      auto& fits =
          profiles_
              .between_nodes[{known_device(entry.field("from")), known_device(entry.field("to"))}];
      const LinkFit fit = read_fit(entry);
      if (std::ranges::count(fits, fit.pairs, &LinkFit::pairs) > 0)
        entry.fail(fmt::format("there is a link of {} pairs before it", fit.pairs));
      fits.push_back(fit);
    });
    links.field("intra_node").for_each([&](const ProfileReader& entry) {
      const std::pair key(known_device(entry.field("device")),
                          entry.field("gpus").integer(2, kMostGpus));
      if (!profiles_.within_node.emplace(key, read_fit(entry)).second)
        entry.fail(fmt::format("there is a link of {} GPUs before it", key.second));
    });
  }

  std::string known_device(const ProfileReader& field) const {
    std::string name = field.text();
    if (!profiles_.devices.contains(name))
      field.fail(fmt::format("'{}' is none of the devices", name));
    return name;
  }

  static LinkFit read_fit(const ProfileReader& entry) {
    LinkFit link;
    link.pairs = entry.field("pairs").integer(1, kMostGpus);
    std::vector<double> numbers;
    entry.field("fit").for_each(
        [&](const ProfileReader& number) { numbers.push_back(number.number()); });
    if (numbers.size() != link.fit.size())
      entry.field("fit").fail("a fit has three numbers");
    else
      std::ranges::copy(numbers, link.fit.begin());
    link.most_bytes_per_s = positive(entry.field("max_gb_per_s")) * kBytesOfGb;
    return link;
  }

  void read_times(const std::string& name, const ProfileReader& of_model) {
    const auto model = profiles_.models.find(name);
    if (model == profiles_.models.end())
      return of_model.fail(fmt::format("'{}' is none of the models", name));
    of_model.for_each_field([&](const std::string& device, const ProfileReader& list) {
      if (!profiles_.devices.contains(device))
        return list.fail(fmt::format("'{}' is none of the devices", device));
      std::vector<LayerTimes>& times = profiles_.times[{name, device}];
      std::set<std::pair<std::int64_t, std::int64_t>> known;
      list.for_each([&](const ProfileReader& entry) {
        times.push_back(read_profile(entry, model->second.layers));
        if (!known.emplace(times.back().tensor_parallel, times.back().microbatch).second)
          entry.fail("there is a profile of this microbatch and degree before it");
      });
      std::ranges::sort(times, {}, &LayerTimes::microbatch);
    });
  }

  static LayerTimes read_profile(const ProfileReader& entry, std::size_t layers) {
    return {entry.field("tensor_parallel").integer(1, kMostGpus),
            entry.field("microbatch").integer(1, kMostMicrobatch),
            figures_of_layers(entry.field("forward_s"), layers),
            figures_of_layers(entry.field("backward_s"), layers),
            positive(entry.field("update_s"))};
  }

  std::optional<core::Error> error_;
  ProfileReader document_;
  Profiles profiles_;
};

}  // namespace

core::Result<Profiles> profiles_from_json(std::string_view text) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto json, parse_json<nlohmann::ordered_json>(text));
  return ProfilesReader(json).read();
}

}  // namespace soapstone::parallel
