#include "live/links.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "live/handshake.hpp"
#include "live/secrets.hpp"

namespace conclave::live {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

sockaddr_in local(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port that was free a moment ago, below those that the kernel gives to those who dial.
std::uint16_t free_port() {
  static unsigned next = static_cast<unsigned>(getpid()) + 500;
  for (;;) {
    const auto port = static_cast<std::uint16_t>(12'000 + next++ % 18'000);
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = local(port);
    const bool free = bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(probe);
    if (free) return port;
  }
}

std::vector<Peer> some_members(unsigned count, const std::string& host = "127.0.0.1") {
  std::vector<Peer> members;
  for (std::uint32_t id = 1; id <= count; ++id) members.push_back({{id}, host, free_port()});
  return members;
}

LinkOptions usual(NodeId self, const std::vector<Peer>& members) {
  return {.self = self, .members = members, .group = "g", .algorithm = "a", .key = "k"};
}

// A member on a loop that all of a test share.
struct Member {
  std::vector<std::pair<NodeId, std::string>> got = {};
  std::vector<std::uint64_t> ups = {};
  std::vector<std::string> broken = {};
  unsigned drained = 0;
  std::vector<Refusal> turned_away = {};
  std::function<void(NodeId)> answer = [](NodeId) {};
  std::string log = {};
  std::unique_ptr<Links> links = {};
  std::string error = {};

  Member(boost::asio::io_context& loop, const LinkOptions& options) {
    Links::Events events = {
        .message =
            [this](NodeId from, ByteView bytes) {
              got.emplace_back(from, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
              answer(from);
            },
        .up = [this](NodeId, std::uint64_t incarnation) { ups.push_back(incarnation); },
        .down = [](NodeId) {},
        .broken_promise = [this](NodeId, const std::string& why) { broken.push_back(why); },
        .drained = [this](NodeId) { ++drained; },
        .turned_away = [this](NodeId, const Refusal& why) { turned_away.push_back(why); }};
    auto opened = Links::open(loop, options, std::move(events),
                              [this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
    if (opened)
      links = std::move(*opened);
    else
      error = opened.error();
  }
  void send(std::uint32_t to, const std::string& text) { links->send({to}, bytes_of(text)); }
  bool logged(std::string_view words) const { return log.find(words) != std::string::npos; }
};

template <class Condition>
bool comes_true(boost::asio::io_context& loop, Condition condition, Clock::duration within = 10s) {
  const auto deadline = Clock::now() + within;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    loop.run_one_for(10ms);
  }
  return true;
}

TEST(Links, DeliverWhatWasSentBeforeTheFirstContactAndAfter) {
  boost::asio::io_context loop;
  const auto members = some_members(2, "localhost");  // a name, to be resolved
  Member one(loop, usual({1}, members));
  one.send(2, "early");
  Member two(loop, usual({2}, members));
  two.send(1, "early as well");
  ASSERT_TRUE(comes_true(loop, [&] { return two.got.size() == 1 && one.got.size() == 1; }));
  one.send(2, "later");
  ASSERT_TRUE(comes_true(loop, [&] { return two.got.size() == 2; }));
  EXPECT_EQ(two.got[0], (std::pair(NodeId{1}, std::string("early"))));
  EXPECT_EQ(two.got[1].second, "later");
  EXPECT_EQ(one.ups, std::vector{two.links->incarnation()});
  EXPECT_EQ(one.links->status({2}).state, LinkStatus::State::connected);
  EXPECT_TRUE(comes_true(loop, [&] { return one.links->status({2}).queued_bytes == 0; }));
}

TEST(Links, WhatIsSentInOneTurnLeavesInOneWrite) {
  boost::asio::io_context loop;
  const auto members = some_members(2);
  Member one(loop, usual({1}, members));
  Member two(loop, usual({2}, members));
  ASSERT_TRUE(comes_true(loop, [&] { return !one.ups.empty() && !two.ups.empty(); }));
  const std::uint64_t before = one.links->status({2}).writes;
  for (int i = 0; i < 500; ++i) one.send(2, "x");
  ASSERT_TRUE(comes_true(loop, [&] { return two.got.size() == 500; }));
  EXPECT_LE(one.links->status({2}).writes, before + 2);  // a heartbeat may have come between
}

TEST(Links, CarryMessagesOfEveryLengthUpToTheBound) {
  boost::asio::io_context loop;
  const auto members = some_members(2);
  Member one(loop, usual({1}, members));
  Member two(loop, usual({2}, members));
  const std::vector<std::size_t> lengths = {0, 1, 65'515, 65'536, 200'000, 1u << 20};
  for (const std::size_t length : lengths) one.send(2, std::string(length, 'm'));
  ASSERT_TRUE(comes_true(loop, [&] { return two.got.size() == lengths.size(); }));
  for (std::size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(two.got[i].second, std::string(lengths[i], 'm'));
  EXPECT_THROW(one.send(2, std::string((1u << 20) + 1, 'm')), InvariantViolation);
  EXPECT_THROW(one.send(1, "to itself"), InvariantViolation);
}

TEST(Links, SayWhenTheyAreCongestedAndWhenNoMore) {
  boost::asio::io_context loop;
  const auto members = some_members(2);
  LinkOptions options = usual({1}, members);
  options.limits.queue_bytes = 4u << 20;
  Member one(loop, options);
  const std::string big(1u << 20, 'b');
  one.send(2, big);
  EXPECT_FALSE(one.links->congested({2}));
  one.send(2, big);
  one.send(2, big);
  EXPECT_TRUE(one.links->congested({2}));
  EXPECT_EQ(one.links->status({2}).queued_messages, 3u);
  Member two(loop, usual({2}, members));
  ASSERT_TRUE(comes_true(loop, [&] { return one.drained == 1; }));
  EXPECT_FALSE(one.links->congested({2}));
  EXPECT_EQ(two.got.size(), 3u);
  EXPECT_TRUE(one.broken.empty());
}

TEST(Links, BeyondItsBoundAQueueIsGivenUpAndReportedOnce) {
  boost::asio::io_context loop;
  const auto members = some_members(2);
  LinkOptions options = usual({1}, members);
  options.limits = {.queue_bytes = 3000, .message_bytes = 1000};
  Member one(loop, options);
  for (int i = 0; i < 3; ++i) one.send(2, std::string(1000, 'x'));
  EXPECT_TRUE(one.broken.empty());  // not in the middle of a call
  ASSERT_TRUE(comes_true(loop, [&] { return one.broken.size() == 1; }));
  EXPECT_EQ(one.links->status({2}).queued_bytes, 0u);
  one.send(2, "goes on");
  Member two(loop, usual({2}, members));
  ASSERT_TRUE(comes_true(loop, [&] { return two.got.size() == 1; }));
  EXPECT_EQ(two.got[0].second, "goes on");
  EXPECT_EQ(one.broken.size(), 1u);
}

// In the turn in which a queue overflows, the peer still acknowledges what was in it.
TEST(Links, AnOverflowInTheMiddleOfReadingIsNotBlamedOnThePeer) {
  boost::asio::io_context loop;
  const auto members = some_members(2);
  LinkOptions options = usual({1}, members);
  options.limits = {.queue_bytes = 3000, .message_bytes = 1000};
  Member one(loop, options);
  Member two(loop, usual({2}, members));
  ASSERT_TRUE(comes_true(loop, [&] { return !one.ups.empty() && !two.ups.empty(); }));
  two.answer = [&](NodeId) {
    for (int i = 0; i < 5; ++i) two.send(1, "carries an acknowledgement");
  };
  one.answer = [&](NodeId) {
    if (one.got.size() > 1) return;
    for (int i = 0; i < 3; ++i) one.send(2, std::string(1000, 'x'));
  };
  one.send(2, "begins");
  ASSERT_TRUE(comes_true(loop, [&] { return !one.broken.empty() && !two.broken.empty(); }));
  one.send(2, "goes on");
  ASSERT_TRUE(comes_true(loop, [&] { return two.got.back().second == "goes on"; }));
  ASSERT_TRUE(comes_true(loop, [&] { return one.got.size() >= 10; }));
  EXPECT_EQ(one.links->status({2}).refusals, 0u) << one.log;
  EXPECT_EQ(two.links->status({1}).refusals, 0u) << two.log;
}

TEST(Links, MayBeClosedAtAnyTime) {
  boost::asio::io_context loop;
  const auto members = some_members(3);
  for (int turns = 0; turns < 40; ++turns) {
    Member one(loop, usual({1}, members));
    Member two(loop, usual({2}, members));
    for (int i = 0; i < turns; ++i) loop.run_one_for(5ms);
    one.send(2, "unheard");
    one.links.reset();
    loop.run_one_for(5ms);
    two.links.reset();
    loop.poll();
  }
}

TEST(Links, SayWhatIsWrongWithTheirOptions) {
  boost::asio::io_context loop;
  const auto members = some_members(2);
  const auto error_of = [&](auto change) {
    LinkOptions options = usual({1}, members);
    change(options);
    return Member(loop, options).error;
  };
  EXPECT_EQ(error_of([](LinkOptions&) {}), "");
  EXPECT_NE(error_of([](LinkOptions& o) { o.self = {7}; }), "");
  EXPECT_NE(error_of([](LinkOptions& o) { o.group = std::string(201, 'g'); }), "");
  EXPECT_NE(error_of([](LinkOptions& o) { o.down_after = o.heartbeat; }), "");
  EXPECT_NE(error_of([](LinkOptions& o) { o.redial_least = 0ns; }), "");
  EXPECT_NE(error_of([](LinkOptions& o) { o.half_open = 0; }), "");
  EXPECT_NE(error_of([](LinkOptions& o) { o.limits.queue_bytes = 100; }), "");
  EXPECT_NE(error_of([](LinkOptions& o) { o.tls.certificate = "only.pem"; }), "");
  EXPECT_NE(error_of([](LinkOptions& o) {
              o.tls = {"no.pem", "no.pem", "no.pem"};
            }).find("no.pem"),
            std::string::npos);
  const Member first(loop, usual({1}, members));
  EXPECT_NE(Member(loop, usual({1}, members)).error.find("cannot listen"), std::string::npos);
}

// Knows the key and breaks the rules: a member with a fault, or worse.
class Impostor {
 public:
  Impostor(boost::asio::io_context& loop, const std::vector<Peer>& members)
      : loop_(loop), socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    terms_ = {
        .group = "g", .algorithm = "a", .members = members_digest(members), .key = "k", .ids = {{1}, {2}}};
    const sockaddr_in address = local(members[1].port);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    Bytes out;
    const auto standing = [](NodeId) { return Standing{.incarnation = 1, .stream = 1, .first_stream = 1}; };
    auto handshake = Handshake::dial(terms_, {1}, {2}, standing, fresh_nonce(), {}, out);
    for (bool done = false; !done;) {
      say(bytes_of(out));
      out.clear();
      const auto frame = next();
      if (!frame) break;
      const auto step = handshake.on_frame(*frame, out);
      done = step && *step;
      EXPECT_TRUE(step);
    }
    seal_ = handshake.take_seal();
  }
  ~Impostor() { close(socket_); }
  void say(ByteView bytes) const { send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  Bytes sealed(ByteView bytes) {
    Bytes record;
    seal_->close({&bytes, 1}, record);
    return record;
  }
  void say_sealed(ByteView bytes) { say(bytes_of(sealed(bytes))); }
  std::optional<RefusalCode> refused_with() {
    while (const auto record = next()) {
      if (record->kind != FrameKind::sealed) return std::nullopt;
      std::vector<std::byte> opened;
      EXPECT_TRUE(seal_->open(record->body, opened));
      const auto frame = next_frame(opened, most_greeting_bytes).value().value();
      if (frame.kind == FrameKind::refused) return decode_refused(frame.body)->code;
    }
    return std::nullopt;
  }

 private:
  // The next frame, while the loop of the other side goes on.
  std::optional<Frame> next() {
    in_.erase(0, std::exchange(last_, 0));
    std::optional<Frame> frame;
    comes_true(loop_, [&] {
      char buffer[4096];
      const ssize_t got = recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got > 0) in_.append(buffer, static_cast<std::size_t>(got));
      frame = next_frame(bytes_of(in_), most_greeting_bytes).value_or(std::nullopt);
      return frame.has_value() || got == 0;
    });
    if (frame) last_ = frame->size;
    return frame;
  }

  boost::asio::io_context& loop_;
  int socket_;
  Terms terms_;
  std::optional<Seal> seal_;
  std::string in_;
  std::size_t last_ = 0;
};

TEST(Links, APeerThatBreaksTheRulesAfterTheHandshakeIsRefused) {
  const auto data = [](std::uint64_t sequence, std::uint64_t received) {
    const auto head = data_head(sequence, received, 0);
    return std::string(reinterpret_cast<const char*>(head.data()), head.size());
  };
  Bytes hello;
  encode_hello({wire_versions, std::string(32, 'x')}, hello);
  const std::vector<std::pair<std::string, RefusalCode>> offences = {
      {data(3, 0), RefusalCode::out_of_order},  // a gap
      {data(1, 5), RefusalCode::out_of_order},  // acknowledges what was never sent
      {std::string("\xff\xff\xff\x7f\x04", 5), RefusalCode::too_long},
      {std::string("\x02\0\0\0\x04x", 6), RefusalCode::garbage},
      {std::string("\x02\0\0\0\x05x", 6), RefusalCode::garbage},
      {std::string("\x01\0\0\0\x63", 5), RefusalCode::garbage},
      {std::string(hello.begin(), hello.end()), RefusalCode::garbage},
  };
  for (const auto& [bytes, code] : offences) {
    boost::asio::io_context loop;
    const auto members = some_members(2);
    Member two(loop, usual({2}, members));
    Impostor impostor(loop, members);
    impostor.say_sealed(bytes_of(data(1, 0)));
    ASSERT_TRUE(comes_true(loop, [&] { return two.got.size() == 1; }));
    impostor.say_sealed(bytes_of(bytes));
    EXPECT_EQ(impostor.refused_with(), code);
    EXPECT_EQ(two.links->status({1}).refusals, 1u);
    EXPECT_EQ(two.got.size(), 1u);
  }
}

// What comes after the handshake from somebody who has seen everything on the wire, and not the key.
TEST(Links, AFrameThatIsNotTheNextUnderTheSealEndsTheConnection) {
  const auto message = [](std::uint64_t sequence) {
    const auto head = data_head(sequence, 0, 0);
    return std::string(reinterpret_cast<const char*>(head.data()), head.size());
  };
  using Offence = std::function<void(Impostor&)>;
  const std::vector<std::pair<const char*, Offence>> offences = {
      {"in the clear", [&](Impostor& one) { one.say(bytes_of(message(2))); }},
      {"a refusal in the clear",
       [](Impostor& one) {
         Bytes refused;
         encode_refused({RefusalCode::removed_member, "forged"}, refused);
         one.say(bytes_of(refused));
       }},
      {"changed",
       [&](Impostor& one) {
         Bytes record = one.sealed(bytes_of(message(2)));
         record[frame_head_bytes] ^= 1;
         one.say(bytes_of(record));
       }},
      {"with another length",
       [&](Impostor& one) {
         Bytes record = one.sealed(bytes_of(message(2)));
         record[0] -= 1;
         one.say(bytes_of(record));
       }},
      {"twice",
       [&](Impostor& one) {
         const Bytes record = one.sealed(bytes_of(message(1)));  // a duplicate, which alone does no harm
         one.say(bytes_of(record));
         one.say(bytes_of(record));
       }},
      {"in another order",
       [&](Impostor& one) {
         const Bytes first = one.sealed(bytes_of(message(2)));
         one.say(bytes_of(one.sealed(bytes_of(message(3)))));
         one.say(bytes_of(first));
       }},
      {"after one that is missing",
       [&](Impostor& one) {
         one.sealed(bytes_of(message(1)));
         one.say_sealed(bytes_of(message(2)));
       }},
      {"of another kind", [&](Impostor& one) { one.say(bytes_of(std::string("\x01\0\0\0\x63", 5))); }},
      {"too long", [&](Impostor& one) { one.say(bytes_of(std::string("\xff\xff\xff\xff\x06", 5))); }},
  };
  for (const auto& [name, offend] : offences) {
    boost::asio::io_context loop;
    const auto members = some_members(2);
    Member two(loop, usual({2}, members));
    Impostor impostor(loop, members);
    impostor.say_sealed(bytes_of(message(1)));
    ASSERT_TRUE(comes_true(loop, [&] { return two.got.size() == 1; })) << name;
    offend(impostor);
    EXPECT_EQ(impostor.refused_with(), RefusalCode::wrong_frame) << name;
    EXPECT_EQ(two.links->status({1}).wrong_frames, 1u) << name;
    EXPECT_TRUE(two.logged("code=wrong_frame")) << name;
    EXPECT_EQ(two.got.size(), 1u) << name;
    EXPECT_TRUE(two.turned_away.empty()) << name;
  }
}

TEST(Links, OfAnotherConnectionNothingIsTaken) {
  boost::asio::io_context loop;
  const auto members = some_members(2);
  Member two(loop, usual({2}, members));
  const auto head = data_head(1, 0, 0);
  Bytes recorded;
  {
    Impostor before(loop, members);
    recorded = before.sealed(head);
  }
  Impostor now(loop, members);
  now.say(bytes_of(recorded));
  EXPECT_EQ(now.refused_with(), RefusalCode::wrong_frame);
  EXPECT_TRUE(two.got.empty());
}

TEST(Links, ListenForAnybodyOnlyOnThisMachine) {
  boost::asio::io_context loop;
  auto members = some_members(2);
  LinkOptions options = usual({1}, members);
  options.key = "";
  EXPECT_EQ(Member(loop, options).error, "");
  options.listen = {"0.0.0.0", members[0].port};
  const std::string error = Member(loop, options).error;
  for (const char* way_out : {"openssl rand -base64 32 > key && chmod 600 key", "--key-file", "--tls-cert"})
    EXPECT_NE(error.find(way_out), std::string::npos) << error;
  options.insecure = true;
  EXPECT_EQ(Member(loop, options).error, "");
  options.insecure = false;
  options.key = "k";
  EXPECT_EQ(Member(loop, options).error, "");
}

TEST(Links, AStrangersTextCannotForgeALine) {
  EXPECT_EQ(in_quotes("a\nevent=up \"x\" \\ \xff"), "\"a?event=up ?x? ? ?\"");
}

// --- TLS, with certificates made on the spot ---

struct FreeX509 {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

struct Identity {
  std::unique_ptr<EVP_PKEY, FreeKey> key{EVP_EC_gen("P-256")};
  std::unique_ptr<X509, FreeX509> certificate{X509_new()};
};

void add_extension(X509* to, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  X509_add_ext(to, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `authority`, or by itself.
Identity make_identity(const std::string& name, const std::string& alternative, const Identity* authority) {
  Identity one;
  X509* const certificate = one.certificate.get();
  X509_set_version(certificate, 2);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, one.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  const Identity& issuer = authority ? *authority : one;
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer.certificate.get()));
  add_extension(certificate, issuer.certificate.get(), NID_basic_constraints,
                authority ? "CA:FALSE" : "critical,CA:TRUE");
  if (!alternative.empty())
    add_extension(certificate, issuer.certificate.get(), NID_subject_alt_name, alternative);
  X509_sign(certificate, issuer.key.get(), EVP_sha256());
  return one;
}

class Certificates {
 public:
  Certificates() {
    std::string name = testing::TempDir() + "conclave-tls-XXXXXX";
    folder_ = mkdtemp(name.data());
    const Identity authority = make_identity("authority", "", nullptr);
    const Identity other = make_identity("other authority", "", nullptr);
    write("authority", authority);
    write("other", other);
    write("member", make_identity("member", "IP:127.0.0.1", &authority));
    write("elsewhere", make_identity("elsewhere", "DNS:elsewhere.example", &authority));
    write("foreign", make_identity("foreign", "IP:127.0.0.1", &other));
  }
  ~Certificates() { std::filesystem::remove_all(folder_); }
  Tls of(const std::string& name, const std::string& authority = "authority") const {
    return {path(name + ".pem"), path(name + ".key"), path(authority + ".pem")};
  }

 private:
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const Identity& one) const {
    std::FILE* file = std::fopen(path(name + ".pem").c_str(), "w");
    PEM_write_X509(file, one.certificate.get());
    std::fclose(file);
    file = std::fopen(path(name + ".key").c_str(), "w");
    PEM_write_PrivateKey(file, one.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
  }
  std::string folder_;
};

// Two members with these certificates; whether they meet.
struct TlsPair {
  boost::asio::io_context loop = {};
  std::vector<Peer> members = some_members(2);
  std::unique_ptr<Member> one = {};
  std::unique_ptr<Member> two = {};

  TlsPair(const Tls& at_one, const Tls& at_two) {
    LinkOptions options = usual({1}, members);
    options.tls = at_one;
    one = std::make_unique<Member>(loop, options);
    options = usual({2}, members);
    options.tls = at_two;
    two = std::make_unique<Member>(loop, options);
    EXPECT_EQ(one->error + two->error, "");
  }
  bool meet(Clock::duration within) {
    return comes_true(
        loop, [&] { return !one->ups.empty() && !two->ups.empty(); }, within);
  }
};

TEST(LinksOverTls, CarrySmallAndGreatMessagesBothWays) {
  const Certificates certificates;
  TlsPair pair(certificates.of("member"), certificates.of("member"));
  ASSERT_TRUE(pair.meet(10s)) << pair.one->log << pair.two->log;
  for (int i = 0; i < 2000; ++i) pair.one->send(2, std::to_string(i));
  const std::string big(1u << 20, 'b');
  for (int i = 0; i < 3; ++i) pair.two->send(1, big);
  pair.one->send(2, big);
  ASSERT_TRUE(
      comes_true(pair.loop, [&] { return pair.two->got.size() == 2001 && pair.one->got.size() == 3; }));
  for (int i = 0; i < 2000; ++i)
    EXPECT_EQ(pair.two->got[static_cast<std::size_t>(i)].second, std::to_string(i));
  EXPECT_EQ(pair.two->got.back().second, big);
  EXPECT_EQ(pair.one->got.back().second, big);
}

TEST(LinksOverTls, NeedAnAuthorityThatBothKnow) {
  const Certificates certificates;
  EXPECT_FALSE(TlsPair(certificates.of("member"), certificates.of("foreign", "other")).meet(200ms));
  // One that the dialler trusts is not enough, and one that the acceptor trusts is not either.
  EXPECT_FALSE(TlsPair(certificates.of("foreign"), certificates.of("member")).meet(200ms));
  EXPECT_FALSE(TlsPair(certificates.of("member"), certificates.of("foreign")).meet(200ms));
}

TEST(LinksOverTls, CheckTheNameOfWhomTheyDial) {
  const Certificates certificates;
  Tls dialler = certificates.of("member");
  EXPECT_FALSE(TlsPair(dialler, certificates.of("elsewhere")).meet(200ms));
  dialler.check_host = false;
  EXPECT_TRUE(TlsPair(dialler, certificates.of("elsewhere")).meet(10s));
}

TEST(LinksOverTls, DoNotTalkToPlainOnes) {
  const Certificates certificates;
  EXPECT_FALSE(TlsPair(certificates.of("member"), {}).meet(200ms));
  EXPECT_FALSE(TlsPair({}, certificates.of("member")).meet(200ms));
}

TEST(LinksOverTls, StillWantTheKey) {
  const Certificates certificates;
  boost::asio::io_context loop;
  const auto members = some_members(2);
  LinkOptions options = usual({1}, members);
  options.tls = certificates.of("member");
  Member two(loop, [&] {
    LinkOptions other = options;
    other.self = {2};
    return other;
  }());
  options.key = "guess";
  Member one(loop, options);
  EXPECT_TRUE(comes_true(loop, [&] { return one.logged("code=wrong_key") && two.logged("code=wrong_key"); }))
      << one.log << two.log;
  EXPECT_TRUE(one.ups.empty());
}

// ---- members that come and go

LinkOptions changing(NodeId self, const std::vector<Peer>& members, std::uint64_t data) {
  LinkOptions options = usual(self, members);
  options.list = MemberList::changing;
  options.epoch = data;
  options.knock_after = 100ms;
  return options;
}
// Each knows itself only, until it is told of the others.
LinkOptions alone(NodeId self, const std::vector<Peer>& members, std::uint64_t data) {
  return changing(self, {members[self.value - 1]}, data);
}
bool connected(const Member& one, std::uint32_t to) {
  return one.links->knows({to}) && one.links->status({to}).state == LinkStatus::State::connected;
}

TEST(LinksOfAChangingGroup, LeadToWhoeverIsAdded) {
  boost::asio::io_context loop;
  const auto members = some_members(2);
  Member one(loop, alone({1}, members, 11));
  Member two(loop, alone({2}, members, 22));
  EXPECT_FALSE(one.links->knows({2}));
  one.links->add_peer(members[1]);
  two.links->add_peer(members[0]);
  one.send(2, "hello");
  ASSERT_TRUE(comes_true(loop, [&] { return two.got.size() == 1; })) << one.log << two.log;
  EXPECT_EQ(one.links->peers(), std::vector<NodeId>{{2}});
}

TEST(LinksOfAChangingGroup, TellWhoeverIsRemovedAndRefuseItLater) {
  boost::asio::io_context loop;
  const auto members = some_members(3);
  Member one(loop, changing({1}, members, 11));
  Member two(loop, changing({2}, members, 22));
  Member three(loop, changing({3}, members, 33));
  ASSERT_TRUE(comes_true(loop, [&] { return connected(one, 2) && connected(two, 3) && connected(one, 3); }));
  two.links->remove_peer({1});
  two.links->remove_peer({3});
  ASSERT_TRUE(comes_true(loop, [&] { return one.turned_away.size() == 1 && three.turned_away.size() == 1; }));
  EXPECT_EQ(one.turned_away[0].code, RefusalCode::removed_member);
  EXPECT_EQ(two.links->peers(), std::vector<NodeId>{});
  // The smaller dials again, the greater knocks; both are told again, by somebody who knows the key.
  ASSERT_TRUE(comes_true(loop, [&] { return one.turned_away.size() > 1 && three.turned_away.size() > 1; }))
      << three.log;
  EXPECT_TRUE(connected(one, 3)) << "others are not concerned";
}

TEST(LinksOfAChangingGroup, RefuseIdsThatWereNeverGiven) {
  boost::asio::io_context loop;
  const auto members = some_members(3);
  Member two(loop, changing({2}, {members[0], members[1]}, 22));
  Member three(loop, changing({3}, members, 33));
  ASSERT_TRUE(comes_true(loop, [&] { return two.logged("code=unknown_member"); }));
  EXPECT_TRUE(three.turned_away.empty()) << "it may become a member yet";
  EXPECT_TRUE(three.ups.empty());
  two.links->welcome(true);  // it may have missed who came
  ASSERT_TRUE(comes_true(loop, [&] { return connected(two, 3); })) << two.log << three.log;
}

TEST(LinksOfAChangingGroup, RefuseWhoeverDoesNotKnowTheKey) {
  boost::asio::io_context loop;
  const auto members = some_members(2);
  Member one(loop, changing({1}, members, 11));
  one.links->welcome(true);
  LinkOptions options = changing({2}, members, 22);
  options.key = "guess";
  Member two(loop, options);
  EXPECT_TRUE(comes_true(loop, [&] { return one.logged("code=wrong_key"); }));
  EXPECT_TRUE(one.ups.empty() && two.ups.empty());
}

TEST(LinksOfAChangingGroup, RefuseAMemberThatHasLostItsData) {
  boost::asio::io_context loop;
  const auto members = some_members(2);
  for (const NodeId lost : {NodeId{1}, NodeId{2}}) {
    const NodeId other = {3 - lost.value};
    Member keeper(loop, alone(other, members, 5));
    keeper.links->add_peer(members[lost.value - 1], 77);
    Member loser(loop, changing(lost, members, 78));
    ASSERT_TRUE(comes_true(loop, [&] { return !loser.turned_away.empty(); })) << keeper.log << loser.log;
    EXPECT_EQ(loser.turned_away[0].code, RefusalCode::other_data);
    EXPECT_TRUE(keeper.turned_away.empty());
    EXPECT_TRUE(keeper.ups.empty());
  }
}

TEST(LinksOfAChangingGroup, WantOneListToBeginWith) {
  boost::asio::io_context loop;
  const auto members = some_members(3);
  const auto founding = [&](NodeId self, std::vector<Peer> list) {
    LinkOptions options = changing(self, list, self.value);
    options.list = MemberList::founding;
    return options;
  };
  Member one(loop, founding({1}, members));
  Member two(loop, founding({2}, {members[0], members[1]}));
  EXPECT_TRUE(comes_true(loop, [&] { return two.logged("code=wrong_members"); }));
  EXPECT_TRUE(one.ups.empty());
  two.links->change_list({3});
  two.links->add_peer(members[2]);
  EXPECT_TRUE(comes_true(loop, [&] { return connected(one, 2); })) << "who comes late hears how it went on";
}

TEST(LinksOfAChangingGroup, FollowAPeerToItsNewAddress) {
  boost::asio::io_context loop;
  auto members = some_members(2);
  Member one(loop, changing({1}, members, 11));
  members[1].port = free_port();
  Member two(loop, changing({2}, members, 22));
  EXPECT_FALSE(comes_true(
      loop, [&] { return connected(one, 2); }, 200ms));
  one.links->add_peer(members[1]);
  EXPECT_TRUE(comes_true(loop, [&] { return connected(one, 2); }));
}

}  // namespace
}  // namespace conclave::live
