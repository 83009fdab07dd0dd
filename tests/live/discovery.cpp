// Processes that start at different moments find each other, by multicast or through a registry, and elect a
// coordinator that is then killed.
#include <map>
#include <memory>
#include <random>
#include <set>

#include "events.hpp"

namespace conclave::live {
namespace {

// Tests that run at once must not meet.
std::string fresh_group() {
  static int count = 0;
  return fmt::format("test {} {}", getpid(), ++count);
}

class Party {
 public:
  explicit Party(std::vector<std::string> more, int expect = 3)
      : group_(fresh_group()), more_(std::move(more)), expect_(expect) {}

  Process& start(const std::string& name, std::initializer_list<std::string> words = {}) {
    std::vector<std::string> command = {CONCLAVE, "discover", group_, "--expect", std::to_string(expect_),
                                        "--json"};
    command.insert(command.end(), more_.begin(), more_.end());
    command.insert(command.end(), words);
    return *(processes_[name] = std::make_unique<Process>(command));
  }
  Process& operator[](const std::string& name) { return *processes_.at(name); }
  const std::string& group() const { return group_; }

  // The list that all of them found, and the ids they took.
  void expect_one_list(std::set<int> ids) {
    std::set<std::string> lists;
    std::set<int> taken;
    for (auto& [name, process] : processes_) {
      const auto found = next(*process, "found");
      ASSERT_TRUE(found) << name;
      lists.insert(found->at("list").get<std::string>());
      taken.insert(found->at("id").get<int>());
      for (const Json& member : found->at("members")) EXPECT_TRUE(ids.contains(member.at("id").get<int>()));
    }
    EXPECT_EQ(lists.size(), 1u);
    EXPECT_EQ(taken, ids);
  }

 private:
  std::string group_;
  std::vector<std::string> more_;
  int expect_;
  std::map<std::string, std::unique_ptr<Process>> processes_;
};

void at_a_random_moment() {
  static std::mt19937 draw(static_cast<unsigned>(getpid()));
  let_pass(milliseconds(draw() % 400));
}

void start_three(Party& party, std::initializer_list<std::string> words = {}) {
  for (const char* name : {"a", "b", "c"}) {
    party.start(name, words);
    at_a_random_moment();
  }
}

TEST(Multicast, ThreeProcessesFindEachOtherAndAgreeOnIds) {
  Party party({});
  start_three(party);
  party.expect_one_list({1, 2, 3});
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(party[name].wait_for_end(), 0);
}

TEST(Multicast, KeepsIdsThatWereGivenAndFillsTheGaps) {
  Party party({});
  party.start("a", {"--id", "2"});
  party.start("b");
  party.start("c", {"--id", "9"});
  party.expect_one_list({1, 2, 9});
}

TEST(Multicast, TellsBothOfTwoProcessesWithOneId) {
  Party party({});
  party.start("a", {"--id", "4"});
  let_pass(300ms);
  party.start("b", {"--id", "4"});
  for (const char* name : {"a", "b"}) {
    const auto trouble = next(party[name], "trouble");
    ASSERT_TRUE(trouble) << name;
    EXPECT_NE(trouble->at("error").get<std::string>().find("two processes have id 4"), std::string::npos);
    EXPECT_EQ(party[name].wait_for_end(), 1);
  }
}

TEST(Multicast, AProcessThatDiesBeforeAllAreThereIsNotCounted) {
  Party party({});
  party.start("a");
  party.start("ghost");
  let_pass(600ms);
  party["ghost"].kill(SIGKILL);
  let_pass(3s);  // until it is forgotten
  party.start("b");
  let_pass(600ms);
  party.start("ghost");
  party.expect_one_list({1, 2, 3});
}

// Writes a key file that goes away with the test.
class KeyFile {
 public:
  explicit KeyFile(const std::string& key)
      : path_(fmt::format("/tmp/conclave_key_{}_{}", getpid(), std::hash<std::string>{}(key))) {
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT_EQ(write(file, key.data(), key.size()), static_cast<ssize_t>(key.size()));
    close(file);
  }
  ~KeyFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Multicast, WhoDoesNotKnowTheKeyIsNotHeard) {
  const KeyFile right("the right key of the party");
  const KeyFile wrong("the wrong key of a stranger");
  Party party({}, 2);
  party.start("a", {"--key-file", right.path()});
  Process& stranger = party.start("stranger", {"--key-file", wrong.path(), "--timeout", "3"});
  const auto trouble = next(stranger, "trouble");
  ASSERT_TRUE(trouble);
  // Itself, although it has waited for longer than others are remembered.
  EXPECT_NE(trouble->at("error").get<std::string>().find("found 1 of 2"), std::string::npos);
  party.start("stranger", {"--key-file", right.path()});
  party.expect_one_list({1, 2});
}

class RegistryProcess {
 public:
  explicit RegistryProcess(std::uint16_t port)
      : process_({CONCLAVE, "registry", "serve", "--listen", at(port)}) {
    EXPECT_TRUE(process_.says("registry at"));
  }

 private:
  Process process_;
};

TEST(Registry, ThreeProcessesFindEachOtherThroughIt) {
  const std::uint16_t port = free_port();
  RegistryProcess registry(port);
  Party party({"--registry", at(port)});
  start_three(party);
  party.expect_one_list({1, 2, 3});
}

TEST(Registry, MayStartLastAndServesSeveralGroups) {
  const std::uint16_t port = free_port();
  Party one({"--registry", at(port)}, 2);
  Party two({"--registry", at(port)}, 2);
  for (Party* party : {&one, &two}) {
    party->start("a");
    party->start("b");
  }
  let_pass(300ms);
  RegistryProcess registry(port);
  one.expect_one_list({1, 2});
  two.expect_one_list({1, 2});
}

TEST(Registry, IsNotDisturbedByGarbage) {
  const std::uint16_t port = free_port();
  RegistryProcess registry(port);
  const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const sockaddr_in to = local(port);
  std::mt19937 draw(7);
  for (std::size_t size = 0; size < 1'000; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(draw());
    sendto(stranger, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  pollfd readable = {stranger, POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 200), 0) << "garbage was answered";
  close(stranger);
  Party party({"--registry", at(port)}, 2);
  party.start("a");
  party.start("b");
  party.expect_one_list({1, 2});
}

// Until it says that this one leads.
void expect_leader(Process& process, int leader) {
  for (;;) {
    const auto said = next(process, "coordinator");
    ASSERT_TRUE(said) << "never said that " << leader << " leads";
    if (said->at("leader").is_number() && said->at("leader").get<int>() == leader) return;
  }
}

// The assignment: three processes find each other and elect; the coordinator is killed; the survivors agree
// on the next one; the killed one comes back to its address and takes over.
void elect_kill_and_come_back(std::vector<std::string> by) {
  by.insert(by.end(), {"--elect", "--period", "0.1"});
  Party party(std::move(by));
  const std::map<std::string, std::string> addresses = {
      {"a", at(free_port())}, {"b", at(free_port())}, {"c", at(free_port())}};
  std::map<int, std::string> names;
  for (const auto& [name, address] : addresses) {
    party.start(name, {"--listen", address});
    at_a_random_moment();
  }
  for (const auto& [name, address] : addresses) {
    const auto found = next(party[name], "found");
    ASSERT_TRUE(found) << name;
    names[found->at("id").get<int>()] = name;
  }
  ASSERT_EQ(names.size(), 3u);
  for (const auto& [id, name] : names) expect_leader(party[name], 3);
  party[names[3]].kill(SIGKILL);
  expect_leader(party[names[1]], 2);
  expect_leader(party[names[2]], 2);
  Process& back = party.start(names[3], {"--listen", addresses.at(names[3])});
  const auto found = next(back, "found");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at("id").get<int>(), 3);
  for (const auto& [id, name] : names) expect_leader(party[name], 3);
}

TEST(Election, SurvivesItsCoordinatorWithMulticast) { elect_kill_and_come_back({}); }

TEST(Election, SurvivesItsCoordinatorWithARegistry) {
  const std::uint16_t port = free_port();
  RegistryProcess registry(port);
  elect_kill_and_come_back({"--registry", at(port)});
}

TEST(Election, AProcessThatIsNotOfTheCompleteGroupIsTold) {
  Party party({"--elect", "--period", "0.1"}, 2);
  party.start("a");
  party.start("b");
  party.expect_one_list({1, 2});
  Process& late = party.start("late");
  const auto trouble = next(late, "trouble");
  ASSERT_TRUE(trouble);
  EXPECT_NE(trouble->at("error").get<std::string>().find("complete without this process"), std::string::npos);
  EXPECT_EQ(late.wait_for_end(), 1);
}

}  // namespace
}  // namespace conclave::live
