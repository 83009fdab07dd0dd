#include "linear/linear.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "linear/search.hpp"
#include "linear/witnesses.hpp"

namespace conclave::linear {
namespace {

using Places = std::vector<std::size_t>;

std::map<std::string_view, Places> by_key(const History& history) {
  std::map<std::string_view, Places> keys;
  for (std::size_t place = 0; place < history.size(); ++place) keys[history[place].key].push_back(place);
  return keys;
}

void tell_why(const History& history, const Places& chosen, const Found& found, Verdict& verdict) {
  verdict.witnesses = witnesses(history, chosen, found.misfit.value_or(chosen.back()));
  Places all(verdict.witnesses.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Found small = search(verdict.witnesses, all, {});
  verdict.misfit = small.misfit;
  verdict.order = small.order;
}

bool wrote(const Operation& operation) {
  return operation.kind != Kind::get && operation.revision && operation.returned &&
         (operation.kind != Kind::swap || operation.swapped);
}

// Revisions count the changes of the whole store: who begins after somebody was told of a revision writes a
// greater one, whatever the keys.
void compare_revisions(const History& history, Verdict& verdict) {
  Places by_begin;
  Places by_end;
  for (std::size_t place = 0; place < history.size(); ++place) {
    if (wrote(history[place])) by_begin.push_back(place);
    if (history[place].returned && history[place].revision) by_end.push_back(place);
  }
  std::ranges::sort(by_begin, {}, [&](std::size_t place) { return history[place].invoked; });
  std::ranges::sort(by_end, {}, [&](std::size_t place) { return *history[place].returned; });
  std::optional<std::size_t> greatest;
  auto told = by_end.begin();
  for (const std::size_t place : by_begin) {
    for (; told != by_end.end() && *history[*told].returned < history[place].invoked; ++told)
      if (!greatest || *history[*told].revision > *history[*greatest].revision) greatest = *told;
    if (!greatest || *history[place].revision > *history[*greatest].revision) continue;
    verdict.outcome = Outcome::broken;
    verdict.across_keys = true;
    verdict.broken = {history[*greatest].key, history[place].key};
    verdict.witnesses = {history[*greatest], history[place]};
    verdict.order = {0};
    verdict.misfit = 1;
    return;
  }
}

}  // namespace

Verdict judge(const History& history, const Bounds& bounds) {
  Verdict verdict;
  const auto keys = by_key(history);
  verdict.keys = keys.size();
  for (const Operation& operation : history) verdict.unknown += operation.returned ? 0 : 1;
  for (const auto& [key, chosen] : keys) {
    const Found found = search(history, chosen, bounds);
    verdict.steps += found.steps;
    if (found.outcome == Outcome::gave_up) verdict.gave_up.emplace_back(key);
    if (found.outcome != Outcome::broken) continue;
    verdict.broken.emplace_back(key);
    if (verdict.broken.size() == 1) tell_why(history, chosen, found, verdict);
  }
  if (!verdict.broken.empty()) {
    verdict.outcome = Outcome::broken;
    return verdict;
  }
  if (!verdict.gave_up.empty()) verdict.outcome = Outcome::gave_up;
  compare_revisions(history, verdict);
  return verdict;
}

}  // namespace conclave::linear
