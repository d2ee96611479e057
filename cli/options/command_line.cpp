// See command_line.h. The only source that includes CLI11.
#include "cli/options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/base/nearest.h"
#include "jobs/base/output_files.h"
#include "jobs/base/usage_error.h"

namespace soapstone::cli {
namespace {

/// The argument that has no place: an option if there is one, else the first; or empty.
std::string surplus_argument(const CLI::App& app) {
  std::string first;
  for (const std::string& argument : app.remaining()) {
    if (argument.starts_with('-')) return argument;
    if (first.empty()) first = argument;
  }
  return first;
}

/// `did you mean --shape?` for that argument, or empty.
std::string suggest_option(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string given = surplus_argument(app);
  const std::string name = core::nearest(given.substr(0, given.find('=')), names);
  return name.empty() ? name : "did you mean " + name + "?";
}

core::Error parse_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string hint = suggest_option(app);
  if (hint.empty()) hint = fmt::format("{} --help lists the options", app.get_name());
  const std::string surplus = surplus_argument(app);
  const std::string message =
      surplus.empty()
          ? std::string(error.what())
          : fmt::format("there is no {} {}",
                        surplus.starts_with('-') ? "option" : "place for the argument", surplus);
  return jobs::usage_error(message, hint);
}

constexpr const char* kForExperts = "Options for experts";

/// A group without a name is not shown. It has no names in messages either, so this is done last.
void hide_options_for_experts(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (option->get_group() == kForExperts) option->group("");
}

/// Numbers are read as options of that type read them. NaN is in no range.
CLI::Validator number_where(std::function<bool(double)> holds, const std::string& what) {
  return CLI::Validator(
      [holds = std::move(holds), what](std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && holds(value)) return std::string();
        return fmt::format("'{}' is not a number {}", text, what);
      },
      "");
}

}  // namespace

OptionHandle& OptionHandle::type(const std::string& name) {
  option_->type_name(name);
  return *this;
}

OptionHandle& OptionHandle::shows_default() {
  if (default_text_.empty()) {
    option_->capture_default_str();
  } else {
    option_->default_str(default_text_);
  }
  return *this;
}

OptionHandle& OptionHandle::required() {
  option_->required();
  return *this;
}

OptionHandle& OptionHandle::one_each() {
  option_->allow_extra_args(false);
  return *this;
}

OptionHandle& OptionHandle::separated_by(char mark) {
  option_->delimiter(mark);
  return *this;
}

OptionHandle& OptionHandle::needs(const OptionHandle& other) {
  option_->needs(other.option_);
  return *this;
}

OptionHandle& OptionHandle::excludes(const OptionHandle& other) {
  option_->excludes(other.option_);
  return *this;
}

OptionHandle& OptionHandle::between(int least, int most) {
  option_->check(CLI::Range(least, most).description(""));
  return *this;
}

OptionHandle& OptionHandle::between(std::uint64_t least, std::uint64_t most) {
  option_->check(CLI::Range(least, most).description(""));
  return *this;
}

OptionHandle& OptionHandle::between(std::int64_t least, std::int64_t most) {
  option_->check(CLI::Range(least, most).description(""));
  return *this;
}

OptionHandle& OptionHandle::between(double least, double most) {
  option_->check(number_where([=](double value) { return value >= least && value <= most; },
                              fmt::format("from {:g} to {:g}", least, most)));
  return *this;
}

OptionHandle& OptionHandle::not_negative() {
  option_->check(number_where([](double value) { return value >= 0; }, "of at least 0"));
  return *this;
}

OptionHandle& OptionHandle::positive() {
  option_->check(
      number_where([](double value) { return value > 0 && std::isfinite(value); }, "above 0"));
  return *this;
}

OptionHandle& OptionHandle::one_of(std::vector<std::string> words) {
  option_->check(CLI::IsMember(std::move(words)).description(""));
  return *this;
}

OptionHandle& OptionHandle::for_experts() {
  option_->group(kForExperts);
  return *this;
}

OptionHandle& OptionHandle::reads(std::string name) {
  files_->read.push_back({option_, std::move(name)});
  return *this;
}

OptionHandle& OptionHandle::writes(Writing writing) {
  files_->written.push_back({option_, writing});
  return *this;
}

OptionHandle& OptionHandle::check(std::function<std::string(const std::string&)> fault_of) {
  option_->check(CLI::Validator(
      [fault_of = std::move(fault_of)](std::string& text) { return fault_of(text); }, ""));
  return *this;
}

CommandLine::CommandLine(std::string command, std::string description)
    : app_(std::make_unique<CLI::App>(std::move(description), std::move(command))) {}
CommandLine::~CommandLine() = default;

template <class T>
OptionHandle CommandLine::add(const std::string& names, T& value, const std::string& help) {
  return {app_->add_option(names, value, help), files_};
}

template OptionHandle CommandLine::add(const std::string&, std::string&, const std::string&);
template OptionHandle CommandLine::add(const std::string&, int&, const std::string&);
template OptionHandle CommandLine::add(const std::string&, std::uint64_t&, const std::string&);
template OptionHandle CommandLine::add(const std::string&, double&, const std::string&);
template OptionHandle CommandLine::add(const std::string&, std::optional<double>&,
                                       const std::string&);
template OptionHandle CommandLine::add(const std::string&, std::optional<std::int64_t>&,
                                       const std::string&);
template OptionHandle CommandLine::add(const std::string&, std::optional<std::uint64_t>&,
                                       const std::string&);
template OptionHandle CommandLine::add(const std::string&, std::vector<std::string>&,
                                       const std::string&);
template OptionHandle CommandLine::add(const std::string&, std::vector<std::size_t>&,
                                       const std::string&);

OptionHandle CommandLine::add_flag(const std::string& names, bool& value, const std::string& help) {
  return {app_->add_flag(names, value, help), files_};
}

OptionHandle CommandLine::add_flag(const std::string& names, std::string& value,
                                   const std::string& help) {
  return {app_->add_flag(names, value, help), files_};
}

OptionHandle CommandLine::add_each(const std::string& names, const std::string& help,
                                   std::function<void(const std::string&)> take) {
  const auto take_all = [take = std::move(take)](const std::vector<std::string>& values) {
    for (const std::string& value : values) take(value);
  };
  return {app_->add_option_function<std::vector<std::string>>(names, take_all, help), files_};
}

OptionHandle CommandLine::add_word(const std::string& names, const std::string& help,
                                   std::string default_text,
                                   const std::function<void(const std::string&)>& take) {
  return {app_->add_option_function<std::string>(names, take, help), files_,
          std::move(default_text)};
}

void CommandLine::add_help_all() {
  app_->set_help_all_flag("--help-all", "Show options for experts, too, and exit");
}

void CommandLine::set_version(const std::string& text) {
  app_->set_version_flag("--version", text);
}

void CommandLine::set_footer(const std::string& text) { app_->footer(text); }

std::string CommandLine::with_options(const std::string& text) const {
  std::string shown;
  std::size_t at = 0;
  for (std::size_t open; (open = text.find('`', at)) != std::string::npos;) {
    const std::size_t close = text.find('`', open + 1);
    if (close == std::string::npos) break;
    std::string option = "--" + text.substr(open + 1, close - open - 1);
    std::ranges::replace(option, '_', '-');
    const bool known = app_->get_option_no_throw(option) != nullptr;
    shown += text.substr(at, open - at);
    shown += known ? option : text.substr(open, close + 1 - open);
    at = close + 1;
  }
  return shown + text.substr(at);
}

bool CommandLine::was_given(const std::string& name) const {
  const CLI::Option* const option = app_->get_option_no_throw(name);
  return option != nullptr && option->count() > 0;
}

core::Result<bool> CommandLine::parse(int argc, const char* const* argv, bool may_print) {
  try {
    app_->parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return parse_error(*app_, error);
    if (error.get_name() == "CallForHelp") hide_options_for_experts(*app_);
    if (may_print) app_->exit(error);  // --help, --version
    return false;
  }
}

core::Status CommandLine::check_files() const {
  const auto is_set = [](const bool* flag) { return flag != nullptr && *flag; };
  std::vector<jobs::InputFile> inputs;
  for (const auto& [option, name] : files_.read)
    for (const std::string& path : option->results()) inputs.push_back({name, path});
  std::vector<std::string> names;
  for (const auto& [option, writing] : files_.written) names.push_back(option->get_name());
  std::vector<jobs::OutputFile> outputs;
  for (std::size_t k = 0; k < files_.written.size(); ++k) {
    const auto& [option, writing] = files_.written[k];
    if (is_set(writing.is_left_out)) continue;
    for (const std::string& path : option->results())
      outputs.push_back({names[k], path, is_set(writing.overwrite), writing.is_regular,
                         writing.overwrite != nullptr ? "--overwrite" : ""});
  }
  return jobs::check_outputs(inputs, outputs);
}

}  // namespace soapstone::cli
