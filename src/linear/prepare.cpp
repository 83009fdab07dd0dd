#include "linear/prepare.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace conclave::linear {
namespace {

class Numbers {
 public:
  std::uint32_t of(const Value& value) { return value ? of_text(*value) : 0; }
  // The text outlives the numbers.
  std::uint32_t of_text(std::string_view text) {
    return numbers_.try_emplace(text, static_cast<std::uint32_t>(numbers_.size() + 1)).first->second;
  }
  std::size_t size() const { return numbers_.size() + 1; }

 private:
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

Prepared number(const Operation& operation, std::size_t place, Numbers& numbers) {
  Prepared prepared = {.place = place, .kind = operation.kind, .invoked = operation.invoked};
  if (operation.kind == Kind::swap) prepared.wanted = numbers.of(operation.wanted);
  if (operation.kind == Kind::put || operation.kind == Kind::swap)
    prepared.value = numbers.of_text(operation.value);
  prepared.may_be_missing = !operation.returned;
  if (!operation.returned) return prepared;
  prepared.returned = *operation.returned;
  if (operation.found) prepared.found = numbers.of(*operation.found);
  prepared.refused = operation.kind == Kind::swap && !operation.swapped;
  const bool idle = prepared.refused || (operation.kind == Kind::erase && prepared.found == 0u);
  if (operation.revision && !idle) prepared.revision = *operation.revision;
  return prepared;
}

bool writes_value(const Prepared& operation) { return operation.writes() && operation.value != 0; }

// Who writes what, and who saw it. A swap without an outcome is a witness once it is known to have happened.
class Witnesses {
 public:
  Witnesses(std::vector<Prepared>& operations, std::size_t values)
      : operations_(operations), writers_(values), writer_(values) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (!writes_value(operations[i])) continue;
      ++writers_[operations[i].value];
      writer_[operations[i].value] = i;
    }
  }

  void settle() {
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (!operations_[i].may_be_missing) testify(i);
  }
  // Whether its value can only be seen by whoever saw this operation.
  bool unmistakable(const Prepared& operation) const {
    return writes_value(operation) && writers_[operation.value] == 1;
  }

 private:
  // What this one needed was written before it returned.
  void testify(std::size_t witness) {
    for (std::size_t next = witness;;) {
      const Prepared& saw = operations_[next];
      const auto needed = saw.needs();
      if (!needed || *needed == 0 || writers_[*needed] != 1 || writer_[*needed] == next) return;
      Prepared& wrote = operations_[writer_[*needed]];
      if (wrote.revision == 0 && saw.kind == Kind::get) wrote.revision = saw.revision;
      const Time known = std::max(wrote.invoked, saw.returned);  // who saw it too early is wrong by itself
      if (!wrote.may_be_missing && wrote.returned <= known) return;
      wrote.may_be_missing = false;
      wrote.returned = known;
      wrote.by_testimony = true;
      next = writer_[*needed];
    }
  }

  std::vector<Prepared>& operations_;
  std::vector<std::uint32_t> writers_;
  std::vector<std::size_t> writer_;
};

// A refusal that does not say what was there is explained by anything else; a delete that deleted, by
// anything.
bool explained_by_anything(const Prepared& operation) {
  const bool erased = operation.kind == Kind::erase && operation.revision != 0;
  return !operation.found && (operation.refused || erased);
}

void drop_the_unseen(std::vector<Prepared>& operations, const Witnesses& witnesses, std::size_t values) {
  const bool anything_helps = std::ranges::any_of(operations, explained_by_anything);
  for (bool dropped = true; dropped;) {
    std::vector<bool> seen(values);
    for (const Prepared& operation : operations)
      if (const auto needed = operation.needs()) seen[*needed] = true;
    const auto without = std::erase_if(operations, [&](const Prepared& operation) {
      if (!operation.may_be_missing) return false;
      if (operation.kind == Kind::get) return true;
      return !anything_helps && witnesses.unmistakable(operation) && !seen[operation.value];
    });
    dropped = without > 0;
  }
}

void rank_by_revision(std::vector<Prepared>& operations) {
  std::vector<Prepared*> ranked;
  for (Prepared& operation : operations)
    if (operation.writes() && operation.revision != 0) ranked.push_back(&operation);
  std::ranges::stable_sort(ranked, {}, &Prepared::revision);
  for (std::uint32_t rank = 0; Prepared * operation : ranked) operation->rank = ++rank;
}

}  // namespace

std::vector<Prepared> prepare(const History& history, std::span<const std::size_t> chosen) {
  Numbers numbers;
  std::vector<Prepared> operations;
  operations.reserve(chosen.size());
  for (const std::size_t place : chosen) operations.push_back(number(history[place], place, numbers));
  Witnesses witnesses(operations, numbers.size());
  witnesses.settle();
  drop_the_unseen(operations, witnesses, numbers.size());
  rank_by_revision(operations);
  return operations;
}

}  // namespace conclave::linear
