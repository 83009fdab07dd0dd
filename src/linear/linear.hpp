// Whether what clients of a store were told could have come from one store that does one thing at a time.
//
//   const linear::Verdict verdict = linear::judge(history);
//   if (verdict.outcome == linear::Outcome::broken) fmt::print("{}", linear::explain(verdict));
//
// A history is linearizable (M. Herlihy, J. Wing, TOPLAS 12(3), 1990) if each operation can be given one
// instant between its invocation and its return, such that all of them, one after the other, explain all
// answers. Keys are judged one by one: a history is linearizable if and only if its keys are.
//
// Search    J. Wing, C. Gong, J. Parallel Distrib. Comput. 17, 1993, with the memory of G. Lowe, Concurrency
//           Computat.: Pract. Exper. 29(4), 2017: no set of operations is placed twice with the same result.
// Departs   The memory has a fingerprint of 128 bits in place of the set: should two ever be equal by chance,
//           a good history may be called broken, and never the other way round.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace conclave::linear {

using Time = std::int64_t;                 // of one clock that all processes share
using Value = std::optional<std::string>;  // none: there is no such key

enum class Kind : std::uint8_t { put, get, erase, swap };

struct Operation {
  std::uint64_t process = 0;
  std::string key = {};
  Kind kind = Kind::get;
  Value wanted = {};       // swap: what must be there
  std::string value = {};  // put and swap: what is there afterwards
  Time invoked = 0;
  std::optional<Time> returned = {};  // none: nobody knows whether it ever happened, or will
  // What it was told, if it returned.
  std::optional<Value> found = {};  // what was there before, if it was told; a get is
  bool swapped = false;
  // At which revision of the store it wrote; of a get, when what it found was written. Revisions grow.
  std::optional<std::uint64_t> revision = {};

  bool operator==(const Operation&) const = default;
};
using History = std::vector<Operation>;

// How long to search. What is not known then is not called fine.
struct Bounds {
  std::uint64_t steps = 200'000'000;  // attempts to place an operation, for each key
  std::uint64_t memory = 20'000'000;  // situations remembered, for each key: 24 bytes each at least
};

enum class Outcome { fine, broken, gave_up };

struct Verdict {
  Outcome outcome = Outcome::fine;
  std::size_t keys = 0;
  std::size_t unknown = 0;  // operations without an outcome
  std::uint64_t steps = 0;
  std::vector<std::string> broken = {};   // keys
  std::vector<std::string> gave_up = {};  // keys
  // Of the first key that is broken: a few of its operations, which are broken by themselves. Answers that do
  // not matter are left out of them.
  History witnesses = {};
  std::vector<std::size_t> order = {};     // a longest explanation: which of them, one after the other
  std::optional<std::size_t> misfit = {};  // which of them returned what nothing explains
  bool across_keys = false;  // the witnesses are two operations whose revisions contradict their times
};

Verdict judge(const History& history, const Bounds& bounds = {});

// What is wrong, for a person: the witnesses on a time line.
std::string explain(const Verdict& verdict);
// One operation in words: get "x" → "1".
std::string describe(const Operation& operation);

}  // namespace conclave::linear
