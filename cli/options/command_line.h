// The command line: which options there are, and reading them. CLI11 stays behind this header, as
// its own headers take ten seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
class Option;
}  // namespace CLI

namespace soapstone::cli {

/// How the file of an option is written. Flags are those of other options, which must outlive the
/// command line.
struct Writing {
  bool is_regular = false;            ///< jobs::OutputFile::is_regular
  const bool* overwrite = nullptr;    ///< Set, by --overwrite: the file may be one that is read.
  const bool* is_left_out = nullptr;  ///< Set: nothing is written there.
};

/// The options whose values are files.
struct FileOptions {
  struct Read {
    CLI::Option* option;
    std::string name;
  };
  struct Written {
    CLI::Option* option;
    Writing writing;
  };
  std::vector<Read> read;
  std::vector<Written> written;
};

/// One option that was declared. Its functions can be chained.
class OptionHandle {
 public:
  OptionHandle(CLI::Option* option, FileOptions& files, std::string default_text = {})
      : option_(option), files_(&files), default_text_(std::move(default_text)) {}

  OptionHandle& type(const std::string& name);  ///< The word for its value in the help.
  OptionHandle& shows_default();
  OptionHandle& required();
  OptionHandle& one_each();               ///< Takes one value each time that it is given.
  OptionHandle& separated_by(char mark);  ///< Takes several values in one word.
  OptionHandle& needs(const OptionHandle& other);
  OptionHandle& excludes(const OptionHandle& other);

  OptionHandle& between(int least, int most);
  OptionHandle& between(std::uint64_t least, std::uint64_t most);
  OptionHandle& between(std::int64_t least, std::int64_t most);
  OptionHandle& between(double least, double most);  ///< NaN is not.
  OptionHandle& not_negative();
  OptionHandle& positive();  ///< And finite.
  OptionHandle& one_of(std::vector<std::string> words);
  OptionHandle& for_experts();  ///< Shown by --help-all alone.
  /// Its values are files that are read, which no output may overwrite. `name`: "the model".
  OptionHandle& reads(std::string name);
  /// Its values are files that are written: CommandLine::check_files() looks at them.
  OptionHandle& writes(Writing writing = {});
  /// `fault_of` returns what is wrong with a value, or an empty text.
  OptionHandle& check(std::function<std::string(const std::string&)> fault_of);

 private:
  CLI::Option* option_;
  FileOptions* files_;
  std::string default_text_;
};

class CommandLine {
 public:
  CommandLine(std::string command, std::string description);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Declares an option that is written to `value`, which must outlive this. `names`:
  /// "-o,--output"; a word without dashes is a positional argument.
  template <class T>
  OptionHandle add(const std::string& names, T& value, const std::string& help);
  OptionHandle add_flag(const std::string& names, bool& value, const std::string& help);
  /// A flag with a text: `names` ends in its text when no other is given: "--explain{-}".
  OptionHandle add_flag(const std::string& names, std::string& value, const std::string& help);
  /// An option whose values go to a function.
  OptionHandle add_each(const std::string& names, const std::string& help,
                        std::function<void(const std::string&)> take);

  /// An option whose one value goes to a function.
  OptionHandle add_word(const std::string& names, const std::string& help, std::string default_text,
                        const std::function<void(const std::string&)>& take);

  /// An option whose values are words for values of a type.
  template <class T>
  OptionHandle add_choice(const std::string& names, T& value,
                          std::vector<std::pair<std::string, T>> choices, const std::string& help) {
    std::vector<std::string> words;
    std::string chosen;
    for (const auto& [word, meaning] : choices) {
      words.push_back(word);
      if (meaning == value) chosen = word;
    }
    const auto take = [&value, choices = std::move(choices)](const std::string& given) {
      for (const auto& [word, meaning] : choices)
        if (word == given) value = meaning;
    };
    OptionHandle option = add_word(names, help, std::move(chosen), take);
    option.one_of(std::move(words));
    return option;
  }

  /// Declares --help-all, for commands that have options for experts.
  void add_help_all();
  void set_version(const std::string& text);
  /// Shown below the options.
  void set_footer(const std::string& text);

  /// The text of a job, with options in place of the fields of its request that stand in backticks:
  /// --keep-constants for `keep_constants`. A field without an option stays.
  std::string with_options(const std::string& text) const;

  /// After parse(): whether the option was on the command line.
  bool was_given(const std::string& name) const;

  /// False: --help or --version was asked for, and printed if `may_print`. Errors: kUsage.
  core::Result<bool> parse(int argc, const char* const* argv, bool may_print);
  /// After parse(): errors of jobs::check_outputs(), of all options that name files.
  core::Status check_files() const;

 private:
  std::unique_ptr<CLI::App> app_;
  FileOptions files_;
};

extern template OptionHandle CommandLine::add(const std::string&, std::string&, const std::string&);
extern template OptionHandle CommandLine::add(const std::string&, int&, const std::string&);
extern template OptionHandle CommandLine::add(const std::string&, std::uint64_t&,
                                              const std::string&);
extern template OptionHandle CommandLine::add(const std::string&, double&, const std::string&);
extern template OptionHandle CommandLine::add(const std::string&, std::optional<double>&,
                                              const std::string&);
extern template OptionHandle CommandLine::add(const std::string&, std::optional<std::int64_t>&,
                                              const std::string&);
extern template OptionHandle CommandLine::add(const std::string&, std::optional<std::uint64_t>&,
                                              const std::string&);
extern template OptionHandle CommandLine::add(const std::string&, std::vector<std::string>&,
                                              const std::string&);
extern template OptionHandle CommandLine::add(const std::string&, std::vector<std::size_t>&,
                                              const std::string&);

}  // namespace soapstone::cli
