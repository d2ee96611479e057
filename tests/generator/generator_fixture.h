// Enumerates small vocabularies and finds laws among the pairs.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "generator/vocabulary/presets.h"

namespace soapstone::generator {

inline Enumeration enumerate_operators(const std::vector<std::string>& operators, int ops,
                                       EnumerateOptions options = {}) {
  options.ops = ops;
  const auto vocabulary = vocabulary_of(operators);
  EXPECT_TRUE(vocabulary) << vocabulary.error().to_string();
  auto result = enumerate(*vocabulary, options);
  EXPECT_TRUE(result) << result.error().to_string();
  return *std::move(result);
}

inline Enumeration enumerate_vocabulary(const Vocabulary& vocabulary, int ops,
                                        EnumerateOptions options = {}) {
  options.ops = ops;
  auto result = enumerate(vocabulary, options);
  EXPECT_TRUE(result) << result.error().to_string();
  return *std::move(result);
}

/// Precondition: the preset has that theme.
inline Vocabulary theme_of(std::string_view preset_name, std::string_view name) {
  const auto found = preset(preset_name);
  for (const Theme& theme : found->themes)
    if (theme.name == name) return theme.vocabulary;
  ADD_FAILURE() << preset_name << " has no theme " << name;
  return {};
}

inline Enumeration enumerate_theme(std::string_view name, int ops,
                                   const EnumerateOptions& options = {}) {
  return enumerate_vocabulary(theme_of("all", name), ops, options);
}

inline Enumeration enumerate_taso(int ops, const EnumerateOptions& options = {}) {
  return enumerate_vocabulary(theme_of("taso", "taso"), ops, options);
}

/// Attributes left out, and variables numbered in the order in which they occur: equal laws have
/// equal texts whatever their variables are called. A variable is a name that ends in a digit and
/// is no function: `a0`, `w33_1`.
inline std::string plain(std::string_view law) {
  std::string text;
  std::map<std::string, std::size_t, std::less<>> numbers;
  for (std::size_t k = 0; k < law.size();) {
    if (law[k] == ';') {
      while (k < law.size() && law[k] != ')') ++k;
      continue;
    }
    std::size_t end = k;
    while (end < law.size() &&
           (std::isalnum(static_cast<unsigned char>(law[end])) || law[end] == '_'))
      ++end;
    if (end == k) {
      text += law[k++];
      continue;
    }
    const std::string word(law.substr(k, end - k));
    const bool is_variable = std::isalpha(static_cast<unsigned char>(word[0])) &&
                             std::isdigit(static_cast<unsigned char>(word.back())) &&
                             (end == law.size() || law[end] != '(');
    text += is_variable ? word.substr(0, 1) +
                              std::to_string(numbers.emplace(word, numbers.size()).first->second)
                        : word;
    k = end;
  }
  return text;
}

inline std::string law_of(const Enumeration& enumeration, const EqualPair& pair) {
  return enumeration.terms.to_string(pair.newcomer) + " = " +
         enumeration.terms.to_string(pair.representative, pair.names);
}
inline std::string reversed_law_of(const Enumeration& enumeration, const EqualPair& pair) {
  return enumeration.terms.to_string(pair.representative, pair.names) + " = " +
         enumeration.terms.to_string(pair.newcomer);
}

/// Whether a pair says this, in either direction.
inline bool has_law(const Enumeration& enumeration, std::string_view law) {
  const std::string wanted = plain(law);
  for (const EqualPair& pair : enumeration.pairs)
    if (plain(law_of(enumeration, pair)) == wanted ||
        plain(reversed_law_of(enumeration, pair)) == wanted)
      return true;
  return false;
}

inline std::vector<std::string> all_laws(const Enumeration& enumeration) {
  std::vector<std::string> laws;
  for (const EqualPair& pair : enumeration.pairs) laws.push_back(law_of(enumeration, pair));
  return laws;
}

}  // namespace soapstone::generator
