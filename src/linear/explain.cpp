#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "linear/linear.hpp"

namespace conclave::linear {
namespace {

std::string quoted(const std::string& text) {
  constexpr std::size_t most = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, most))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '.' : c;
  return out + (text.size() > most ? "…\"" : "\"");
}
std::string in_words(const Value& value) { return value ? quoted(*value) : "nothing"; }

std::string what_it_did(const Operation& operation) {
  switch (operation.kind) {
    case Kind::put: return "put " + quoted(operation.value);
    case Kind::get: return "get";
    case Kind::erase: return "delete";
    case Kind::swap:
      return fmt::format("swap {} for {}", in_words(operation.wanted), quoted(operation.value));
  }
  return {};
}

std::string what_it_was_told(const Operation& operation) {
  if (!operation.returned) return operation.kind == Kind::get ? " (no answer)" : " (outcome unknown)";
  std::string told;
  if (operation.kind == Kind::swap) told += operation.swapped ? " → done" : " → refused";
  if (operation.found)
    told += (told.empty() ? " → " : ", ") + fmt::format("found {}", in_words(*operation.found));
  if (operation.revision) told += fmt::format(", revision {}", *operation.revision);
  return told;
}

// Places on the time line: one for each instant at which something begins or ends.
std::map<Time, std::size_t> instants(std::span<const Operation> operations) {
  std::map<Time, std::size_t> at;
  for (const Operation& operation : operations) {
    at[operation.invoked];
    if (operation.returned) at[*operation.returned];
  }
  for (std::size_t column = 0; auto& [time, where] : at) where = column++;
  return at;
}

std::string bar(const Operation& operation, const std::map<Time, std::size_t>& at) {
  constexpr std::size_t pitch = 3;
  const std::size_t width = pitch * at.size();
  const std::size_t from = pitch * at.at(operation.invoked);
  std::string line(from, ' ');
  line += '|';
  if (!operation.returned) return line + std::string(width - from, '-') + "…";
  const std::size_t to = pitch * at.at(*operation.returned);
  line += std::string(to > from ? to - from - 1 : 0, '-');
  return line + "|";
}

constexpr std::size_t most_drawn = 40;

// On the screen; a continuation byte of UTF-8 takes no room.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string time_line(const Verdict& verdict) {
  std::vector<std::size_t> places(verdict.witnesses.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return verdict.witnesses[place].invoked; });
  std::string text;
  // What matters is near the end.
  if (places.size() > most_drawn) {
    text += fmt::format("  … {} operations before\n", places.size() - most_drawn);
    places.erase(places.begin(), places.end() - most_drawn);
  }
  History shown;
  for (const std::size_t place : places) shown.push_back(verdict.witnesses[place]);
  const auto at = instants(shown);
  std::size_t widest = 0;
  std::vector<std::string> words;
  for (const Operation& operation : shown) {
    words.push_back((verdict.across_keys ? operation.key + ": " : "") + describe(operation));
    widest = std::max(widest, columns(words.back()));
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    text += fmt::format("  process {:<4} {}{}  {}{}\n", shown[i].process, words[i],
                        std::string(widest - columns(words[i]), ' '), bar(shown[i], at),
                        verdict.misfit == places[i] ? "  <- has no place" : "");
  return text;
}

std::string order_in_words(const Verdict& verdict) {
  constexpr std::size_t most = 12;
  std::string text;
  std::size_t first = verdict.order.size() > most ? verdict.order.size() - most : 0;
  if (first > 0) text = "…";
  for (; first < verdict.order.size(); ++first)
    text += (text.empty() ? "" : ", ") + what_it_did(verdict.witnesses[verdict.order[first]]);
  return text;
}

}  // namespace

std::string describe(const Operation& operation) {
  return what_it_did(operation) + what_it_was_told(operation);
}

std::string explain(const Verdict& verdict) {
  if (verdict.outcome == Outcome::fine) return {};
  if (verdict.outcome == Outcome::gave_up) {
    std::string keys;
    for (const std::string& key : verdict.gave_up) keys += (keys.empty() ? "" : ", ") + quoted(key);
    return fmt::format("gave up on {}: more orders are possible than were allowed to be tried\n", keys);
  }
  if (verdict.across_keys)
    return fmt::format("a write that began later has a revision that is not greater\n\n{}",
                       time_line(verdict));
  std::string text = fmt::format("key {} is not linearizable; {} of its operations show it\n\n",
                                 quoted(verdict.broken.front()), verdict.witnesses.size());
  text += time_line(verdict);
  if (verdict.misfit)
    text += fmt::format(
        "\nThe longest order that explains the others: {}.\n"
        "Nowhere after it began and before it ended does this fit: {}.\n",
        verdict.order.empty() ? "none of them yet" : order_in_words(verdict),
        describe(verdict.witnesses[*verdict.misfit]));
  return text;
}

}  // namespace conclave::linear
