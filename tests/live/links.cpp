// Links between real processes, and what networks, kernels and strangers do to them. Every test counts what
// it did: a fault that did not happen proves nothing.
#include <fmt/format.h>

#include <deque>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include "live/frames.hpp"
#include "live/members.hpp"
#include "process.hpp"

namespace conclave::live {
namespace {

// Where a member must not be taken for dead, the others are patient.
constexpr auto quick = 400ms;
constexpr auto patient = 30s;

// key=value words of a line.
using Values = std::map<std::string, std::string>;
Values values_of(const std::string& line) {
  Values values;
  std::istringstream in(line);
  for (std::string word; in >> word;) {
    if (const std::size_t equals = word.find('='); equals != std::string::npos)
      values.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  return values;
}

using Reports = std::map<unsigned, Values>;  // by peer; 0 is the door

struct Options {
  bool through_proxy = false;
  milliseconds down_after = quick;
  std::vector<std::string> more = {};
  std::map<unsigned, std::string> more_for = {};
};

class Group {
 public:
  explicit Group(unsigned size, Options options = {}) : size_(size), options_(std::move(options)) {
    for (unsigned id = 1; id <= size; ++id) {
      ports_[id] = free_port();
      members_ += fmt::format("{}{}=127.0.0.1:{}", members_.empty() ? "" : ",", id, ports_[id]);
    }
    if (options_.through_proxy) start_proxy();
    for (unsigned id = 1; id <= size; ++id) start(id);
    for (unsigned id = 1; id <= size; ++id) {
      for (unsigned met = 1; met < size; ++met) EXPECT_TRUE(member(id).says("up peer="));
    }
  }

  Process& member(unsigned id) { return *processes_.at(id); }
  unsigned size() const { return size_; }
  std::uint16_t port(unsigned id) const { return ports_.at(id); }
  const std::string& members() const { return members_; }

  void start(unsigned id) { processes_[id] = std::make_unique<Process>(command(id)); }
  std::vector<std::string> command(unsigned id) const {
    std::vector<std::string> words = {LINK_PEER, std::to_string(id), members_, "heartbeat=50",
                                      fmt::format("down_after={}", options_.down_after.count())};
    std::string via;
    for (const auto& [pair, port] : routes_) {
      if (pair.first == id)
        via += fmt::format("{}{}=127.0.0.1:{}", via.empty() ? "" : ",", pair.second, port);
    }
    if (!via.empty()) words.push_back("via=" + via);
    words.insert(words.end(), options_.more.begin(), options_.more.end());
    if (const auto more = options_.more_for.find(id); more != options_.more_for.end())
      words.push_back(more->second);
    return words;
  }

  void tell_all(const std::string& line) {
    for (auto& [id, process] : processes_) process->tell(line);
  }
  // How many connections it was done to.
  unsigned do_to_network(const std::string& command) {
    proxy_->tell(command);
    const std::string answer = proxy_->next_line(Clock::now() + soon);
    return answer.empty() ? 0 : static_cast<unsigned>(std::stoul(answer));
  }

  Reports report(unsigned id) {
    Reports reports;
    member(id).tell("report");
    const auto deadline = Clock::now() + soon;
    for (;;) {
      const std::string line = member(id).next_line(deadline);
      if (line.empty()) {
        ADD_FAILURE() << "member " << id << " does not answer:\n" << member(id).text();
        return reports;
      }
      if (line == "reported") return reports;
      if (line.starts_with("report "))
        reports[static_cast<unsigned>(std::stoul(values_of(line)["peer"]))] = values_of(line);
      if (line.starts_with("door ")) reports[0] = values_of(line);
    }
  }

  // Nobody sends any more, and everything that was sent has arrived.
  void come_to_rest() {
    tell_all("rate 0");
    const auto deadline = Clock::now() + soon;
    std::string missing;
    do {
      std::map<unsigned, Reports> all;
      for (unsigned id = 1; id <= size_; ++id) all[id] = report(id);
      if (::testing::Test::HasFailure()) return;
      missing = what_is_missing(all);
      if (missing.empty()) return;
      let_pass(20ms);
    } while (Clock::now() < deadline);
    std::string logs;
    for (unsigned id = 1; id <= size_; ++id) logs += fmt::format("--- {}\n{}\n", id, member(id).text());
    FAIL() << missing << logs;
  }

  // A figure of the reports of all members about all others.
  std::uint64_t sum(const std::string& key) {
    std::uint64_t total = 0;
    for (unsigned id = 1; id <= size_; ++id) {
      for (const auto& [peer, values] : report(id)) {
        if (peer != 0) total += std::stoull(values.at(key));
      }
    }
    return total;
  }

 private:
  void start_proxy() {
    std::vector<std::string> words = {LINK_PROXY};
    for (unsigned a = 1; a <= size_; ++a) {
      for (unsigned b = a + 1; b <= size_; ++b) {
        routes_[{a, b}] = free_port();
        words.push_back(fmt::format("{}-{}={}:{}", a, b, routes_[{a, b}], ports_[b]));
      }
    }
    proxy_ = std::make_unique<Process>(words);
  }

  std::string what_is_missing(std::map<unsigned, Reports>& all) const {
    std::string missing;
    for (unsigned from = 1; from <= size_; ++from) {
      for (unsigned to = 1; to <= size_; ++to) {
        if (from == to) continue;
        const Values& sent = all[from][to];
        const Values& got = all[to][from];
        const bool same_start = got.at("incarnation") == all[from][0].at("incarnation") &&
                                sent.at("incarnation") == all[to][0].at("incarnation");
        if (!same_start || sent.at("sent") != got.at("received") || sent.at("up") != "1")
          missing += fmt::format("{} sent {} to {}, which got {} (up={}, same incarnations: {})\n", from,
                                 sent.at("sent"), to, got.at("received"), sent.at("up"), same_start);
      }
    }
    return missing;
  }

  unsigned size_;
  Options options_;
  std::map<unsigned, std::uint16_t> ports_;
  std::map<std::pair<unsigned, unsigned>, std::uint16_t> routes_;
  std::string members_;
  std::unique_ptr<Process> proxy_;
  std::map<unsigned, std::unique_ptr<Process>> processes_;
};

// Somebody who is no member, with a socket of its own.
class Stranger {
 public:
  explicit Stranger(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = local(port);
    connected_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Stranger() { close(socket_); }
  Stranger(Stranger&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_) {}
  Stranger& operator=(Stranger&&) = delete;

  bool connected() const { return connected_; }
  void say(ByteView bytes) const { send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Everything until the other side closes.
  std::string answer() const {
    std::string text;
    char buffer[4096];
    pollfd readable = {socket_, POLLIN, 0};
    while (poll(&readable, 1, static_cast<int>(milliseconds(soon).count())) > 0) {
      const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }
  // The refusal that stands at the end of the answer.
  std::optional<Refusal> refusal() const {
    const std::string text = answer();
    for (ByteView rest = bytes_of(text); !rest.empty();) {
      const auto frame = next_frame(rest, most_greeting_bytes);
      if (!frame || !*frame) return std::nullopt;
      if ((*frame)->kind == FrameKind::refused) return *decode_refused((*frame)->body);
      rest = rest.subspan((*frame)->size);
    }
    return std::nullopt;
  }

 private:
  int socket_;
  bool connected_ = false;
};

TEST(LinksBetweenProcesses, EverythingArrivesOnceAndInOrder) {
  Group group(3, {.down_after = patient});
  group.tell_all("rate 20");
  let_pass(300ms);
  group.tell_all("burst 5000");
  group.come_to_rest();
  EXPECT_GT(group.sum("sent"), 6u * 5000);
  EXPECT_LT(group.sum("writes"), group.sum("sent") / 5);  // what is sent together leaves together
  EXPECT_EQ(group.sum("broken"), 0u);
}

TEST(LinksBetweenProcesses, LostConnectionsLoseNothing) {
  Group group(5, {.through_proxy = true});
  group.tell_all("rate 10");
  unsigned done = 0;
  for (const char* fault :
       {"reset all", "close all", "half all forth", "lose all 3001", "half all back", "lose all 700"}) {
    let_pass(150ms);
    const unsigned enough = done + 8;
    for (const auto deadline = Clock::now() + soon; done < enough && Clock::now() < deadline; let_pass(20ms))
      done += group.do_to_network(fault);
  }
  let_pass(150ms);
  group.come_to_rest();
  EXPECT_GE(done, 48u);
  EXPECT_GT(group.sum("connects"), done);
  EXPECT_GT(group.sum("sent_again"), 0u);
  EXPECT_EQ(group.sum("broken"), 0u);
}

TEST(LinksBetweenProcesses, DelayedLinksLoseNothingEither) {
  Group group(3, {.through_proxy = true});
  group.do_to_network("delay all 30");
  group.tell_all("rate 10");
  for (int i = 0; i < 3; ++i) {
    let_pass(200ms);
    EXPECT_GT(group.do_to_network("reset all"), 0u);
  }
  let_pass(200ms);
  group.come_to_rest();
  EXPECT_GT(group.sum("sent_again"), 0u);
  EXPECT_EQ(group.sum("broken"), 0u);
}

// With a key. What stands between members may do anything with their bytes, and gets no more than a new
// connection.
TEST(LinksBetweenProcesses, WhateverIsDoneToTheirBytesNothingIsLostOrTakenTwice) {
  for (const char* lie : {"flip all", "replay all", "skip all", "swap all"}) {
    Group group(3, {.through_proxy = true, .down_after = 2s});
    group.tell_all("rate 10");
    std::uint64_t wrong = 0;
    for (const auto deadline = Clock::now() + soon; wrong < 12 && Clock::now() < deadline; let_pass(30ms)) {
      group.do_to_network(lie);
      wrong = group.sum("wrong_frames");
    }
    group.come_to_rest();
    EXPECT_GE(wrong, 12u) << lie;
    EXPECT_GE(group.do_to_network("altered all"), wrong) << lie;
    EXPECT_GT(group.sum("connects"), 12u) << lie;
    EXPECT_EQ(group.sum("broken"), 0u) << lie;
    EXPECT_EQ(group.sum("duplicates"), 0u) << lie;
  }
}

TEST(LinksBetweenProcesses, ACutIsNoticedOnBothSidesAndHealed) {
  for (const char* direction : {"both", "forth", "back"}) {
    Group group(3, {.through_proxy = true});
    group.tell_all("rate 5");
    let_pass(100ms);
    group.do_to_network(fmt::format("cut 1-2 {}", direction));
    EXPECT_TRUE(group.member(1).says("down peer=2")) << direction;
    EXPECT_TRUE(group.member(2).says("down peer=1")) << direction;
    group.do_to_network("heal all");
    EXPECT_TRUE(group.member(1).says("up peer=2")) << direction;
    EXPECT_TRUE(group.member(2).says("up peer=1")) << direction;
    group.come_to_rest();
    EXPECT_GE(group.sum("downs"), 2u) << direction;
    EXPECT_EQ(group.sum("broken"), 0u) << direction;
    EXPECT_GT(group.sum("sent_again"), 0u) << direction;
  }
}

TEST(LinksBetweenProcesses, ARestartedMemberIsANewIncarnation) {
  Group group(5);
  group.tell_all("rate 10");
  for (const unsigned victim : {1u, 3u, 5u}) {
    let_pass(100ms);
    group.member(victim).kill(SIGKILL);
    let_pass(50ms);
    group.start(victim);
    for (unsigned id = 1; id <= group.size(); ++id) {
      if (id == victim) continue;
      EXPECT_TRUE(group.member(id).says(fmt::format("up peer={}", victim)));
    }
    group.member(victim).tell("rate 10");
  }
  let_pass(100ms);
  group.come_to_rest();
  for (unsigned id = 1; id <= group.size(); ++id) {
    for (const auto& [peer, values] : group.report(id)) {
      const bool restarted = peer == 1 || peer == 3 || peer == 5;
      if (peer == 0 || id % 2 == 1) continue;
      EXPECT_EQ(values.at("broken"), restarted ? "1" : "0") << id << " of " << peer;
    }
  }
}

TEST(LinksBetweenProcesses, AMemberThatStayedAwayForLongIsDownUntilItComesBack) {
  Group group(3);
  group.member(2).kill(SIGKILL);
  EXPECT_TRUE(group.member(1).says("down peer=2"));
  EXPECT_TRUE(group.member(3).says("down peer=2"));
  group.tell_all("burst 10");  // to the incarnation that is gone
  group.start(2);
  EXPECT_TRUE(group.member(1).says("up peer=2"));
  EXPECT_TRUE(group.member(3).says("up peer=2"));
  EXPECT_TRUE(group.member(2).says("up peer="));
  EXPECT_TRUE(group.member(2).says("up peer="));
  group.tell_all("burst 100");
  group.come_to_rest();
}

TEST(LinksBetweenProcesses, AStoppedMemberIsDownToTheOthersAndBlamesNobody) {
  Group group(3, {.more_for = {{2, "down_after=2000"}}});
  group.tell_all("rate 5");
  let_pass(100ms);
  group.member(2).signal(SIGSTOP);
  EXPECT_TRUE(group.member(1).says("down peer=2"));
  EXPECT_TRUE(group.member(3).says("down peer=2"));
  let_pass(2000ms);
  group.member(2).signal(SIGCONT);
  EXPECT_TRUE(group.member(2).says("event=paused"));
  EXPECT_TRUE(group.member(1).says("up peer=2"));
  EXPECT_TRUE(group.member(3).says("up peer=2"));
  group.come_to_rest();
  for (const auto& [peer, values] : group.report(2)) {
    if (peer == 0) continue;
    EXPECT_EQ(values.at("downs"), "0");
  }
  EXPECT_EQ(group.sum("broken"), 0u);
}

TEST(LinksBetweenProcesses, AShortStopIsNoticedByNobody) {
  Group group(3, {.down_after = patient});
  group.tell_all("rate 5");
  const std::uint64_t before = group.sum("connects");
  for (int i = 0; i < 3; ++i) {
    group.member(2).signal(SIGSTOP);
    let_pass(100ms);
    group.member(2).signal(SIGCONT);
    let_pass(50ms);
  }
  group.come_to_rest();
  EXPECT_EQ(group.sum("downs"), 0u);
  EXPECT_EQ(group.sum("connects"), before);
}

TEST(LinksBetweenProcesses, AFullQueueIsABrokenPromiseThatBothSidesHearOf) {
  Group group(3, {.through_proxy = true, .more = {"queue=200000", "message=1000"}});
  group.do_to_network("cut 1-2 both");
  group.member(1).tell("burst 5000");
  EXPECT_TRUE(group.member(1).says("broken peer=2 why=the queue of 200000 bytes is full"));
  group.do_to_network("heal all");
  EXPECT_TRUE(group.member(2).says("broken peer=1 why=the peer's queue was full"));
  group.tell_all("burst 100");
  group.come_to_rest();
  EXPECT_GE(group.sum("broken"), 2u);
}

TEST(LinksBetweenProcesses, StrangersAreToldWhyAndHarmNobody) {
  Group group(3, {.down_after = patient, .more = {"half_open=8", "handshake=500"}});
  group.tell_all("rate 5");
  const std::uint64_t before = group.sum("connects");
  const std::uint16_t door = group.port(2);

  Stranger web(door);
  web.say(bytes_of("GET / HTTP/1.1\r\nHost: conclave\r\n\r\n"));
  EXPECT_EQ(web.refusal()->code, RefusalCode::too_long);

  Stranger noise(door);
  noise.say(bytes_of(std::string("\x05\0\0\0\x01zzzz", 9)));
  EXPECT_EQ(noise.refusal()->code, RefusalCode::garbage);

  Bytes newer;
  encode_hello({{9, 9}, "whatever version 9 says"}, newer);
  Stranger future(door);
  future.say(bytes_of(newer));
  EXPECT_EQ(future.refusal()->code, RefusalCode::wrong_version);

  Stranger huge(door);
  huge.say(bytes_of(std::string("\xff\xff\xff\xff\x06", 5)));
  EXPECT_EQ(huge.refusal()->code, RefusalCode::too_long);

  const auto early_head = data_head(1, 0, 0);
  Stranger early(door);
  early.say(early_head);
  EXPECT_EQ(early.refusal()->code, RefusalCode::garbage);

  Bytes hello;
  encode_hello({wire_versions, std::string(32, 'x')}, hello);
  Bytes guess = hello;
  guess.insert(guess.end(), {0x51, 0, 0, 0, static_cast<std::uint8_t>(FrameKind::sealed)});
  guess.resize(guess.size() + 0x50);
  Stranger without_key(door);
  without_key.say(bytes_of(guess));
  // All that it is told first is a hello: versions and a nonce.
  const std::string answer = without_key.answer();
  const auto told = next_frame(bytes_of(answer), most_greeting_bytes)->value();
  EXPECT_EQ(told.kind, FrameKind::hello);
  EXPECT_EQ(told.size, hello.size());
  const auto then = next_frame(bytes_of(answer).subspan(told.size), most_greeting_bytes)->value();
  ASSERT_EQ(then.kind, FrameKind::refused);
  EXPECT_EQ(decode_refused(then.body)->code, RefusalCode::wrong_key);
  EXPECT_EQ(told.size + then.size, answer.size());

  Stranger open_card(door);
  Bytes card = hello;
  encode_card({.members = std::string(32, 'x'), .incarnation = 1, .stream = 1, .first_stream = 1}, card);
  open_card.say(bytes_of(card));
  EXPECT_EQ(open_card.refusal()->code, RefusalCode::wrong_key);

  Stranger silent(door);
  EXPECT_EQ(silent.refusal()->code, RefusalCode::timed_out);

  Stranger slow(door);
  for (const std::uint8_t byte : hello) {
    slow.say(std::as_bytes(std::span(&byte, 1)));
    let_pass(20ms);
  }
  EXPECT_EQ(slow.refusal()->code, RefusalCode::timed_out);

  EXPECT_TRUE(group.member(2).says("code=too_long"));
  EXPECT_TRUE(group.member(2).says("code=garbage"));
  EXPECT_TRUE(group.member(2).says("code=wrong_version"));
  EXPECT_TRUE(group.member(2).says("code=timed_out"));
  group.come_to_rest();
  EXPECT_EQ(group.sum("connects"), before);
  EXPECT_GE(std::stoul(group.report(2)[0].at("refused")), 9u);
}

TEST(LinksBetweenProcesses, WhoDiffersInGroupKeyOrAlgorithmIsRefusedAndBothSay) {
  Group group(3);
  group.member(1).kill(SIGKILL);
  const std::vector<std::pair<std::string, std::string>> mistakes = {{"group=other", "wrong_group"},
                                                                     {"key=guessed", "wrong_key"},
                                                                     {"algorithm=other", "wrong_algorithm"},
                                                                     {"epoch=7", "wrong_epoch"}};
  for (const auto& [option, code] : mistakes) {
    auto command = group.command(1);
    command.push_back(option);
    Process wrong(command);
    EXPECT_TRUE(wrong.says("event=refused_by_peer peer=2 code=" + code)) << wrong.text();
    EXPECT_TRUE(group.member(2).says("code=" + code));
    EXPECT_EQ(wrong.text().find("up peer="), std::string::npos);
  }
  auto command = group.command(1);
  command[2] += fmt::format(",4=127.0.0.1:{}", free_port());
  Process wrong(command);
  EXPECT_TRUE(wrong.says("code=wrong_members"));
  EXPECT_TRUE(group.member(2).says("code=wrong_members"));
  wrong.kill(SIGKILL);
  group.start(1);
  group.tell_all("rate 5");
  let_pass(100ms);
  group.come_to_rest();
}

TEST(LinksBetweenProcesses, ASecondProcessWithTheSameIdIsRefused) {
  Group group(3, {.down_after = patient});
  group.tell_all("rate 5");
  const std::uint64_t before = group.sum("connects");
  auto command = group.command(1);
  command.push_back(fmt::format("listen=127.0.0.1:{}", free_port()));
  Process twin(command);
  EXPECT_TRUE(twin.says("event=refused_by_peer"));
  EXPECT_TRUE(twin.says("code=duplicate_id"));
  EXPECT_TRUE(group.member(2).says("code=duplicate_id"));
  EXPECT_TRUE(group.member(3).says("code=duplicate_id"));
  EXPECT_EQ(twin.text().find("up peer="), std::string::npos);
  twin.kill(SIGKILL);
  group.come_to_rest();
  EXPECT_EQ(group.sum("connects"), before);

  Process same_port(group.command(1));
  EXPECT_EQ(same_port.wait_for_end(), 2);  // the address is taken
}

// The first was believed to be gone when the second came; when it wakes up it has been replaced.
TEST(LinksBetweenProcesses, WhoWasReplacedWhileItWasStoppedDoesNotComeBack) {
  Group group(3);
  group.member(1).signal(SIGSTOP);
  EXPECT_TRUE(group.member(2).says("down peer=1"));
  EXPECT_TRUE(group.member(3).says("down peer=1"));
  auto command = group.command(1);
  command.push_back(fmt::format("listen=127.0.0.1:{}", free_port()));
  Process second(command);
  EXPECT_TRUE(second.says("up peer="));
  EXPECT_TRUE(second.says("up peer="));
  group.member(1).signal(SIGCONT);
  EXPECT_TRUE(group.member(1).says("code=superseded"));
}

// Without a key, on one machine: another process may say to be a member, and do harm for as long as it tries.
// When it has gone, nobody is kept out.
TEST(LinksBetweenProcesses, WhoPassedForAMemberWithoutAKeyLeavesNothingBehind) {
  Group group(2, {.more = {"key="}});
  group.tell_all("rate 5");
  let_pass(50ms);
  const auto number = [](const Values& values, const char* key) { return std::stoull(values.at(key)); };
  const auto pass_for = [&](std::uint64_t incarnation, std::uint64_t stream, std::uint64_t received) {
    Values door = group.report(2)[0];
    Stranger stranger(group.port(2));
    Bytes words;
    encode_hello({wire_versions, std::string(32, 'x')}, words);
    encode_card(
        {.group = "test",
         .algorithm = "stream",
         .members = members_digest({{{1}, "127.0.0.1", group.port(1)}, {{2}, "127.0.0.1", group.port(2)}}),
         .from = {1},
         .to = {2},
         .incarnation = incarnation,
         .stream = stream,
         .first_stream = 1,
         .knows = {number(door, "incarnation"), 1, received}},
        words);
    stranger.say(bytes_of(words));
    return group.member(2).says(fmt::format("incarnation={} connects=", incarnation));
  };
  constexpr std::uint64_t greatest = std::uint64_t{0} - 1;
  const std::uint64_t first = number(group.report(1)[0], "incarnation");
  EXPECT_TRUE(pass_for(first, greatest, 0));
  let_pass(100ms);
  group.come_to_rest();
  EXPECT_TRUE(pass_for(first, 1, greatest));
  group.tell_all("rate 5");
  let_pass(100ms);
  group.come_to_rest();
  group.member(1).signal(SIGSTOP);
  EXPECT_TRUE(group.member(2).says("down peer=1"));
  EXPECT_TRUE(pass_for(999, 1, 0));
  group.member(1).signal(SIGCONT);
  // To 2 it is another process than the one before, as the stranger was; so nobody counts messages any more.
  EXPECT_TRUE(group.member(2).says(fmt::format("up peer=1 incarnation={}", first)));
  const auto both_connected = [&] {
    return group.report(1)[2].at("state") == "connected" && group.report(2)[1].at("state") == "connected";
  };
  const auto deadline = Clock::now() + soon;
  while (!both_connected() && Clock::now() < deadline) let_pass(20ms);
  EXPECT_TRUE(both_connected());
}

TEST(LinksBetweenProcesses, TheOldestStrangerGoesFirstAlsoIfItHasSaidHello) {
  Group group(2, {.down_after = patient, .more = {"half_open=8"}});
  Bytes hello;
  encode_hello({wire_versions, std::string(32, 'x')}, hello);
  std::vector<Stranger> crowd;
  for (int i = 0; i < 9; ++i) {
    crowd.emplace_back(group.port(2)).say(bytes_of(hello));
    let_pass(10ms);
  }
  // One address has half of the places: of these nine the last four.
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(crowd[static_cast<std::size_t>(i)].refusal()->code, RefusalCode::busy) << i;
  EXPECT_EQ(group.report(2)[0].at("half_open"), "4");
  for (int i = 5; i < 9; ++i)
    EXPECT_EQ(crowd[static_cast<std::size_t>(i)].refusal()->code, RefusalCode::timed_out);
}

// They say hello, as a member does, and no more; each is replaced as soon as it is sent away.
TEST(LinksBetweenProcesses, MembersGetInWhileStrangersFillTheDoor) {
  Group group(3, {.down_after = patient, .more = {"half_open=16"}});
  group.tell_all("rate 5");
  const std::uint16_t door = group.port(3);
  group.member(1).kill(SIGKILL);
  Bytes hello;
  encode_hello({wire_versions, std::string(32, 'x')}, hello);
  {
    std::jthread flood([&](std::stop_token stop) {
      std::deque<Stranger> crowd;
      while (!stop.stop_requested()) {
        crowd.emplace_back(door).say(bytes_of(hello));
        if (crowd.size() > 800) crowd.pop_front();
        std::this_thread::sleep_for(200us);
      }
    });
    const auto deadline = Clock::now() + soon;
    while (std::stoul(group.report(3)[0].at("half_open")) < 8 && Clock::now() < deadline) let_pass(10ms);
    group.start(1);
    EXPECT_TRUE(group.member(3).says("up peer=1"));
    while (std::stoul(group.report(3)[0].at("refused")) < 100 && Clock::now() < deadline) let_pass(10ms);
  }
  group.member(1).tell("rate 5");
  let_pass(100ms);
  group.come_to_rest();
  Values at_door = group.report(3)[0];
  EXPECT_LE(std::stoul(at_door.at("most_half_open")), 16u);
  EXPECT_GE(std::stoul(at_door.at("refused")), 100u);
}

TEST(LinksBetweenProcesses, AFloodOfConnectionsIsBoundedAndMembersStillGetIn) {
  Group group(3, {.down_after = patient, .more = {"half_open=8"}});
  group.tell_all("rate 5");
  const std::string before = group.report(2)[3].at("connects");
  const std::uint16_t door = group.port(3);
  std::vector<Stranger> crowd;
  for (int i = 0; i < 200; ++i) crowd.emplace_back(door);
  group.member(1).kill(SIGKILL);
  group.start(1);
  for (int i = 0; i < 200; ++i) crowd.emplace_back(door);
  EXPECT_TRUE(group.member(3).says("up peer=1"));
  group.member(1).tell("rate 5");
  let_pass(100ms);
  group.come_to_rest();
  Values at_door = group.report(3)[0];
  EXPECT_GE(std::stoul(at_door.at("accepted")), 400u);
  EXPECT_LE(std::stoul(at_door.at("most_half_open")), 8u);
  EXPECT_GE(std::stoul(at_door.at("refused")), 300u);
  EXPECT_EQ(group.report(2)[3].at("connects"), before);
}

}  // namespace
}  // namespace conclave::live
