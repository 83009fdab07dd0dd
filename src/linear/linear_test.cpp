#include "linear/linear.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <sstream>

#include "core/random.hpp"
#include "linear/history_file.hpp"

namespace conclave::linear {
namespace {

// ---- how tests write histories

Operation put(std::uint64_t process, Time from, Time to, std::string value) {
  return {.process = process,
          .key = "k",
          .kind = Kind::put,
          .value = std::move(value),
          .invoked = from,
          .returned = to};
}
Operation get(std::uint64_t process, Time from, Time to, Value found) {
  return {.process = process,
          .key = "k",
          .kind = Kind::get,
          .invoked = from,
          .returned = to,
          .found = {std::move(found)}};
}
Operation erase(std::uint64_t process, Time from, Time to) {
  return {.process = process, .key = "k", .kind = Kind::erase, .invoked = from, .returned = to};
}
Operation swap(std::uint64_t process, Time from, Time to, Value wanted, std::string value, bool swapped) {
  return {.process = process,
          .key = "k",
          .kind = Kind::swap,
          .wanted = std::move(wanted),
          .value = std::move(value),
          .invoked = from,
          .returned = to,
          .swapped = swapped};
}
Operation unknown(Operation operation) {
  operation.returned.reset();
  operation.found.reset();
  operation.swapped = false;
  operation.revision.reset();
  return operation;
}
Operation at_revision(Operation operation, std::uint64_t revision) {
  operation.revision = revision;
  return operation;
}
Operation of_key(Operation operation, std::string key) {
  operation.key = std::move(key);
  return operation;
}
bool fine(const History& history) { return judge(history).outcome == Outcome::fine; }
bool broken(const History& history) { return judge(history).outcome == Outcome::broken; }

// ---- what is known to be good and bad

TEST(Linear, ReadsSeeTheLastWrite) {
  EXPECT_TRUE(fine({put(1, 0, 1, "a"), get(2, 2, 3, "a")}));
  EXPECT_TRUE(
      fine({get(1, 0, 1, std::nullopt), put(1, 2, 3, "a"), erase(1, 4, 5), get(2, 6, 7, std::nullopt)}));
}

TEST(Linear, AStaleReadIsBroken) {
  EXPECT_TRUE(broken({put(1, 0, 1, "a"), put(1, 2, 3, "b"), get(2, 4, 5, "a")}));
  EXPECT_TRUE(broken({put(1, 0, 1, "a"), get(2, 2, 3, std::nullopt)}));
}

TEST(Linear, AValueFromNowhereIsBroken) { EXPECT_TRUE(broken({put(1, 0, 1, "a"), get(2, 2, 3, "b")})); }

TEST(Linear, AWriteMayBeSeenWhileItIsUnderWay) {
  EXPECT_TRUE(fine({put(1, 0, 10, "a"), get(2, 1, 2, "a"), get(3, 3, 4, "a")}));
}

TEST(Linear, WhatWasSeenIsNotUnseen) {
  EXPECT_TRUE(broken({put(1, 0, 10, "a"), get(2, 1, 2, "a"), get(3, 3, 4, std::nullopt)}));
}

TEST(Linear, WhatHappensAtTheSameInstantIsConcurrent) {
  EXPECT_TRUE(fine({put(1, 0, 1, "a"), get(2, 1, 2, std::nullopt)}));
}

TEST(Linear, AWriteWithoutAnOutcomeMayHappenLateOrNever) {
  const Operation lost = unknown(put(1, 0, 0, "a"));
  EXPECT_TRUE(fine({lost, get(2, 100, 101, std::nullopt)}));
  EXPECT_TRUE(fine({lost, get(2, 100, 101, std::nullopt), get(2, 200, 201, "a")}));
  EXPECT_TRUE(broken({lost, get(2, 100, 101, "a"), get(2, 200, 201, std::nullopt)}));
}

TEST(Linear, AWriteWithoutAnOutcomeHappensOnce) {
  EXPECT_TRUE(broken({unknown(put(1, 0, 0, "a")), get(2, 1, 2, "a"), put(2, 3, 4, "b"), get(2, 5, 6, "b"),
                      get(2, 7, 8, "a")}));
}

TEST(Linear, ADeleteWithoutAnOutcomeMayHappenLate) {
  EXPECT_TRUE(
      fine({put(1, 0, 1, "a"), unknown(erase(2, 2, 0)), get(1, 3, 4, "a"), get(1, 5, 6, std::nullopt)}));
  EXPECT_TRUE(broken({put(1, 0, 1, "a"), unknown(erase(2, 2, 0)), get(1, 3, 4, std::nullopt),
                      put(1, 5, 6, "b"), get(1, 7, 8, std::nullopt)}));
}

TEST(Linear, OneOfTwoSwapsWins) {
  EXPECT_TRUE(fine({put(1, 0, 1, "a"), swap(1, 2, 5, "a", "b", true), swap(2, 3, 6, "a", "c", false)}));
  EXPECT_TRUE(broken({put(1, 0, 1, "a"), swap(1, 2, 5, "a", "b", true), swap(2, 3, 6, "a", "c", true)}));
  EXPECT_TRUE(broken({put(1, 0, 1, "a"), swap(1, 2, 5, "a", "b", false)}));
}

TEST(Linear, ASwapCreatesAKeyOnce) {
  EXPECT_TRUE(fine({swap(1, 0, 1, std::nullopt, "a", true), swap(2, 2, 3, std::nullopt, "b", false)}));
  EXPECT_TRUE(broken({swap(1, 0, 1, std::nullopt, "a", true), swap(2, 2, 3, std::nullopt, "b", true)}));
}

TEST(Linear, AChainOfSwapsWithoutOutcomesIsKnownByItsEnd) {
  History history = {unknown(put(1, 0, 0, "0"))};
  for (int i = 0; i < 50; ++i)
    history.push_back(unknown(swap(1, i + 1, 0, std::to_string(i), std::to_string(i + 1), false)));
  history.push_back(get(2, 100, 101, "50"));
  EXPECT_TRUE(fine(history));
  history.push_back(get(2, 102, 103, "49"));
  EXPECT_TRUE(broken(history));
}

TEST(Linear, ARefusalThatSaysNothingIsExplainedByAWriteThatNobodySaw) {
  EXPECT_TRUE(fine({put(1, 0, 1, "a"), unknown(put(2, 2, 0, "b")), swap(1, 3, 4, "a", "c", false)}));
  EXPECT_TRUE(broken({put(1, 0, 1, "a"), swap(1, 3, 4, "a", "c", false)}));
}

TEST(Linear, RevisionsOfAKeyGrow) {
  EXPECT_TRUE(
      fine({at_revision(put(1, 0, 5, "a"), 7), at_revision(put(2, 0, 5, "b"), 6), get(1, 6, 7, "a")}));
  EXPECT_TRUE(
      broken({at_revision(put(1, 0, 5, "a"), 7), at_revision(put(2, 0, 5, "b"), 6), get(1, 6, 7, "b")}));
  EXPECT_TRUE(broken({at_revision(put(1, 0, 1, "a"), 7), at_revision(put(1, 2, 3, "b"), 7)}));
}

TEST(Linear, AReadTellsTheRevisionOfWhatItFound) {
  const Operation wrote = at_revision(put(1, 0, 1, "a"), 7);
  EXPECT_TRUE(fine({wrote, at_revision(get(2, 2, 3, "a"), 7)}));
  EXPECT_TRUE(broken({wrote, at_revision(get(2, 2, 3, "a"), 8)}));
  EXPECT_TRUE(fine({unknown(wrote), at_revision(get(2, 2, 3, "a"), 7), at_revision(get(2, 4, 5, "a"), 7)}));
  EXPECT_TRUE(broken({unknown(wrote), at_revision(get(2, 2, 3, "a"), 7), at_revision(get(2, 4, 5, "a"), 8)}));
}

TEST(Linear, RevisionsGrowAcrossKeys) {
  const History history = {of_key(at_revision(put(1, 0, 1, "a"), 9), "x"),
                           of_key(at_revision(put(2, 2, 3, "b"), 8), "y")};
  const Verdict verdict = judge(history);
  EXPECT_EQ(verdict.outcome, Outcome::broken);
  EXPECT_TRUE(verdict.across_keys);
  EXPECT_EQ(verdict.witnesses, history);
}

TEST(Linear, KeysAreJudgedOneByOne) {
  const History history = {of_key(put(1, 0, 1, "a"), "x"), of_key(put(1, 0, 1, "a"), "y"),
                           of_key(get(1, 2, 3, std::nullopt), "y"), of_key(get(1, 2, 3, "a"), "x")};
  const Verdict verdict = judge(history);
  EXPECT_EQ(verdict.keys, 2u);
  EXPECT_EQ(verdict.broken, std::vector<std::string>{"y"});
}

// ---- what is told

TEST(Linear, AFewOperationsShowWhatIsWrong) {
  History history;
  for (int i = 0; i < 2000; ++i) {
    history.push_back(put(1, 10 * i, 10 * i + 3, std::to_string(i)));
    history.push_back(get(2, 10 * i + 5, 10 * i + 8, std::to_string(i == 1500 ? 1400 : i)));
  }
  const Verdict verdict = judge(history);
  ASSERT_EQ(verdict.outcome, Outcome::broken);
  ASSERT_TRUE(verdict.misfit.has_value());
  EXPECT_EQ(verdict.witnesses[*verdict.misfit], history[3001]);
  EXPECT_LE(verdict.witnesses.size(), 4u);
  const std::string text = explain(verdict);
  EXPECT_NE(text.find("get → found \"1400\""), std::string::npos) << text;
  EXPECT_NE(text.find("has no place"), std::string::npos) << text;
}

TEST(Linear, WitnessesAreBrokenByThemselves) {
  const History history = {put(1, 0, 1, "a"), get(3, 0, 9, "a"), put(1, 2, 3, "b"),
                           erase(1, 4, 5),    put(2, 6, 7, "c"), get(2, 8, 9, "b")};
  const Verdict verdict = judge(history);
  ASSERT_EQ(verdict.outcome, Outcome::broken);
  EXPECT_TRUE(broken(verdict.witnesses));
  EXPECT_LT(verdict.witnesses.size(), history.size());
}

TEST(Linear, ItSaysWhenItGaveUp) {
  // Every order of the writes is possible until the last answer.
  History history;
  for (int i = 0; i < 30; ++i)
    history.push_back(put(static_cast<std::uint64_t>(i), 0, 10, std::to_string(i % 15)));
  history.push_back(get(99, 20, 21, "nobody's"));
  const Verdict verdict = judge(history, {.steps = 10'000, .memory = 1'000'000});
  EXPECT_EQ(verdict.outcome, Outcome::gave_up);
  EXPECT_EQ(verdict.gave_up, std::vector<std::string>{"k"});
  EXPECT_NE(explain(verdict).find("gave up"), std::string::npos);
  EXPECT_EQ(judge(history, {.steps = 100'000'000, .memory = 1'000}).outcome, Outcome::gave_up);
}

// ---- against every order there is

struct Draw {
  std::uint64_t seed;
  std::uint64_t count = 0;
  std::uint64_t below(std::uint64_t bound) {
    return ScrambledBits(scramble(seed * 1'000'003 + ++count)).below(bound);
  }
};

// What is in the key after the operation, if its answer is right.
struct Store {
  Value value = {};
  std::uint64_t revision = 0;  // of the last write that told it
  bool known = true;           // the last write told it
};
std::optional<Store> right(Store store, const Operation& operation) {
  if (operation.returned && operation.found && *operation.found != store.value) return std::nullopt;
  const bool matches = store.value == operation.wanted;
  if (operation.kind == Kind::get) {
    if (!operation.revision || !store.value) return store;
    if (store.known ? *operation.revision != store.revision : *operation.revision <= store.revision)
      return std::nullopt;
    return Store{store.value, *operation.revision, true};
  }
  if (operation.kind == Kind::swap) {
    if (operation.returned && operation.swapped != matches) return std::nullopt;
    if (!matches) return store;
  }
  if (operation.kind == Kind::erase && !store.value) {
    const bool says_so = operation.found && !*operation.found;
    return operation.revision && !says_so ? std::nullopt : std::optional(store);
  }
  store.value = operation.kind == Kind::erase ? Value() : Value(operation.value);
  store.known = operation.revision.has_value();
  if (!operation.revision) return store;
  if (*operation.revision <= store.revision) return std::nullopt;
  store.revision = *operation.revision;
  return store;
}

bool some_order(const History& history, std::vector<bool>& placed, const Store& store) {
  std::optional<Time> first_end;
  for (std::size_t i = 0; i < history.size(); ++i)
    if (!placed[i] && history[i].returned && (!first_end || *history[i].returned < *first_end))
      first_end = history[i].returned;
  if (!first_end) return true;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (placed[i] || history[i].invoked > *first_end) continue;
    const auto next = right(store, history[i]);
    if (!next) continue;
    placed[i] = true;
    const bool found = some_order(history, placed, *next);
    placed[i] = false;
    if (found) return true;
  }
  return false;
}

Value small_value(Draw& draw) {
  const std::uint64_t drawn = draw.below(4);
  return drawn == 0 ? Value() : Value(std::string(1, static_cast<char>('a' + drawn)));
}

// Answers are drawn: most histories are broken. With few values they are not always.
Operation any_operation(Draw& draw, bool with_revisions) {
  const Time from = static_cast<Time>(draw.below(12));
  Operation operation = {
      .process = draw.below(3), .key = "k", .kind = static_cast<Kind>(draw.below(4)), .invoked = from};
  if (operation.kind == Kind::swap) operation.wanted = small_value(draw);
  if (operation.kind == Kind::put || operation.kind == Kind::swap)
    operation.value = std::string(1, static_cast<char>('b' + draw.below(3)));
  if (draw.below(5) == 0) return operation;
  operation.returned = from + static_cast<Time>(draw.below(8));
  if (operation.kind == Kind::get || draw.below(4) == 0) operation.found = small_value(draw);
  operation.swapped = operation.kind == Kind::swap && draw.below(2) == 0;
  const bool nothing = operation.found && !*operation.found;
  const bool writes =
      operation.kind == Kind::put || operation.swapped || (operation.kind != Kind::swap && !nothing);
  if (with_revisions && writes && draw.below(2) == 0) operation.revision = 1 + draw.below(6);
  return operation;
}

TEST(Linear, AgreesWithTryingEveryOrder) {
  std::map<bool, int> count;
  for (std::uint64_t seed = 1; seed <= 30'000; ++seed) {
    Draw draw{seed};
    History history;
    const bool with_revisions = draw.below(2) == 0;
    for (std::uint64_t left = 1 + draw.below(7); left > 0; --left)
      history.push_back(any_operation(draw, with_revisions));
    std::vector<bool> placed(history.size());
    const bool possible = some_order(history, placed, {});
    ++count[possible];
    Verdict verdict = judge(history);
    if (verdict.across_keys) verdict.outcome = Outcome::fine;  // what is said of several keys is not of one
    std::string lines;
    for (const Operation& operation : history) lines += to_line(operation) + "\n";
    ASSERT_EQ(verdict.outcome, possible ? Outcome::fine : Outcome::broken) << "seed " << seed << "\n"
                                                                           << lines;
    if (verdict.outcome != Outcome::broken) continue;
    placed.assign(verdict.witnesses.size(), false);
    ASSERT_FALSE(some_order(verdict.witnesses, placed, {})) << "witnesses of seed " << seed << "\n" << lines;
  }
  EXPECT_GT(count[true], 3000);
  EXPECT_GT(count[false], 3000);
}

// ---- large ones

// What clients of a store that does one thing at a time are told, at instants between invocation and return.
History from_a_store(std::size_t operations, std::size_t keys, std::uint64_t processes, bool with_revisions,
                     std::uint64_t seed) {
  Draw draw{seed};
  std::map<std::string, std::pair<Value, std::uint64_t>> store;
  std::uint64_t revision = 1;
  std::vector<Time> free_at(processes);
  History history;
  for (Time now = 0; history.size() < operations; ++now) {
    const std::uint64_t process = draw.below(processes);
    if (free_at[process] >= now) continue;
    Operation operation = {.process = process, .key = "k" + std::to_string(draw.below(keys))};
    auto& [value, written] = store[operation.key];
    operation.invoked =
        now - static_cast<Time>(draw.below(static_cast<std::uint64_t>(now - free_at[process])));
    const bool lost = draw.below(100) == 0;
    const Time end = now + 1 + static_cast<Time>(draw.below(2 * processes));
    free_at[process] = end;
    operation.found = value;
    const std::uint64_t kind = draw.below(10);
    operation.kind = kind < 5 ? Kind::get : kind < 8 ? Kind::put : kind < 9 ? Kind::swap : Kind::erase;
    const std::string fresh = std::to_string(history.size());
    if (operation.kind == Kind::put || operation.kind == Kind::swap) operation.value = fresh;
    if (operation.kind == Kind::swap) operation.wanted = draw.below(2) == 0 ? value : Value("other");
    operation.swapped = operation.kind == Kind::swap && operation.wanted == value;
    const bool changes =
        operation.kind == Kind::put || operation.swapped || (operation.kind == Kind::erase && value);
    if (!lost || draw.below(2) == 0) {
      if (changes) {
        written = ++revision;
        value = operation.kind == Kind::erase ? Value() : Value(fresh);
      }
    }
    if (with_revisions && (changes || (operation.kind == Kind::get && value))) operation.revision = written;
    operation.returned = end;
    history.push_back(lost ? unknown(operation) : operation);
  }
  return history;
}

void judge_a_large_one(bool with_revisions) {
  const History history = from_a_store(100'000, 10, 20, with_revisions, 7);
  const auto began = std::chrono::steady_clock::now();
  const Verdict verdict = judge(history);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf(
      "100,000 operations of 20 processes on 10 keys, revisions %s: %.2f s, %llu steps, %zu unknown\n",
      with_revisions ? "known" : "not known", seconds, static_cast<unsigned long long>(verdict.steps),
      verdict.unknown);
  EXPECT_EQ(verdict.outcome, Outcome::fine) << explain(verdict);
  EXPECT_GT(verdict.unknown, 500u);
  EXPECT_LT(seconds, 30);
}
TEST(Linear, ALargeHistoryTakesSeconds) { judge_a_large_one(false); }
TEST(Linear, ALargeHistoryWithRevisionsTakesSeconds) { judge_a_large_one(true); }

TEST(Linear, OneWrongAnswerInALargeHistoryIsFound) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    History history = from_a_store(20'000, 5, 10, seed % 2 == 0, seed);
    Draw draw{seed};
    std::size_t place = 5'000 + draw.below(10'000);
    while (history[place].kind != Kind::get || !history[place].returned || !*history[place].found) ++place;
    // What was there long before: some hundred writes ago.
    for (std::size_t old = place - 4'000;; ++old) {
      if (history[old].key != history[place].key || !history[old].returned || history[old].kind != Kind::put)
        continue;
      history[place].found = history[old].value;
      history[place].revision = history[old].revision;
      break;
    }
    const Verdict verdict = judge(history);
    ASSERT_EQ(verdict.outcome, Outcome::broken) << "seed " << seed;
    EXPECT_LE(verdict.witnesses.size(), 10u) << explain(verdict);
  }
}

// ---- files

TEST(HistoryFile, KeepsWhatItIsGiven) {
  const History history = {at_revision(put(1, -5, 1, "a \"quoted\"\n"), 3), get(2, 2, 3, std::nullopt),
                           unknown(erase(3, 4, 0)), swap(4, 5, 6, std::nullopt, "x", true),
                           swap(4, 7, 8, "x", "y", false)};
  std::string text;
  for (const Operation& operation : history) text += to_line(operation) + "\n\n";
  std::istringstream in(text);
  const auto again = read_history(in);
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(*again, history);
}

TEST(HistoryFile, SaysWhatIsWrongWithALine) {
  const std::pair<const char*, const char*> wrong[] = {
      {"7", "no JSON object"},
      {"{\"process\":1}", "\"op\""},
      {R"({"process":1,"op":"fly","key":"a","begin":0})", "fly"},
      {R"({"process":-1,"op":"get","key":"a","begin":0})", "\"process\""},
      {R"({"process":1,"op":"put","key":"a","begin":0})", "\"value\""},
      {R"({"process":1,"op":"get","key":"a","begin":0,"end":1})", "\"found\""},
      {R"({"process":1,"op":"get","key":"a","begin":5,"end":1,"found":null})", "before it began"},
      {R"({"process":1,"op":"get","key":"a","begin":18446744073709551615})", "\"begin\""},
      {R"({"process":1,"op":"swap","key":"a","wanted":null,"value":"x","begin":0,"end":1})", "\"swapped\""}};
  for (const auto& [line, word] : wrong) {
    const auto read = from_line(line);
    ASSERT_FALSE(read.has_value()) << line;
    EXPECT_NE(read.error().find(word), std::string::npos) << line << ": " << read.error();
  }
  std::istringstream in(std::string(longest_line + 1, 'x'));
  EXPECT_FALSE(read_history(in).has_value());
  std::istringstream deep(std::string(longest_line - 1, '['));
  EXPECT_FALSE(read_history(deep).has_value());
}

}  // namespace
}  // namespace conclave::linear
