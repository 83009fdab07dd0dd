#include "live/discovery.hpp"

#include <gtest/gtest.h>

#include "live/discovery_run.hpp"
#include "protocols/membership/registry.hpp"

namespace conclave::live {
namespace {

using membership::Registry;

Sighting sighting(std::uint32_t handle, std::optional<NodeId> id = {}) {
  return {.handle = {handle},
          .started = handle,
          .id = id,
          .host = "h",
          .port = static_cast<std::uint16_t>(handle)};
}

DiscoveryLetter<Registry> registration(const Sighting& of) {
  return {.group = "g",
          .from = of.handle,
          .seen = {of},
          .message = Registry::Register{"instance", {.identity = {1, 2}, .node = of.handle}}};
}

void take(RegistryBook<Registry>& book, const Sighting& of) {
  auto letter = registration(of);
  auto& message = std::get<Registry::Register>(letter.message);
  message.name += std::to_string(of.handle.value);
  book.take(letter, message);
}

TEST(Discovery, GivesTheLeastFreeIdsInOrder) {
  const auto list =
      settle_ids({sighting(50), sighting(60, NodeId{1}), sighting(70), sighting(80, NodeId{3})});
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].port, 60);  // 1 was given
  EXPECT_EQ(list[1].port, 50);  // 2
  EXPECT_EQ(list[2].port, 80);  // 3 was given
  EXPECT_EQ(list[3].port, 70);  // 4
  EXPECT_EQ(list[3].id, NodeId{4});
}

TEST(Discovery, AFormerProcessAtOurAddressIsNoSecondOne) {
  const Sighting ours = sighting(50, NodeId{2});
  Sighting former = ours;
  former.handle = {49};
  EXPECT_EQ(same_id({ours, former}, ours), "");
  EXPECT_NE(same_id({ours, sighting(51, NodeId{2})}, ours), "");
  EXPECT_EQ(same_id({ours, sighting(51, NodeId{3})}, ours), "");
}

TEST(Discovery, GroupsMeetAtPlacesOfTheirOwn) {
  const Address place = meeting_place("shop");
  EXPECT_TRUE(place.host.starts_with("239.255."));
  EXPECT_EQ(place, meeting_place("shop"));
  EXPECT_NE(place, meeting_place("shop2"));
}

TEST(Discovery, OpensOnlyLettersWithItsSeal) {
  const Bytes closed = close_letter<Registry>("key", registration(sighting(5)));
  EXPECT_TRUE(open_letter<Registry>("key", bytes_of(closed)));
  EXPECT_FALSE(open_letter<Registry>("other", bytes_of(closed)));
  for (std::size_t i = 0; i < closed.size(); ++i) {
    Bytes bent = closed;
    bent[i] ^= 1;
    EXPECT_FALSE(open_letter<Registry>("key", bytes_of(bent))) << i;
    EXPECT_FALSE(open_letter<Registry>("key", bytes_of(closed).first(i))) << i;
  }
}

TEST(Discovery, OpensNoLetterWithoutAnAddress) {
  Sighting nowhere = sighting(5);
  nowhere.host.clear();
  EXPECT_FALSE(open_letter<Registry>("", bytes_of(close_letter<Registry>("", registration(nowhere)))));
  Sighting endless = sighting(5);
  endless.host.assign(longest_host + 1, 'h');
  EXPECT_FALSE(open_letter<Registry>("", bytes_of(close_letter<Registry>("", registration(endless)))));
}

TEST(RegistryBook, AnAddressHasOneOwner) {
  RegistryBook<Registry> book(std::chrono::hours(1));
  Sighting former = sighting(5);
  Sighting later = sighting(6);
  later.port = former.port;
  take(book, former);
  take(book, later);
  ASSERT_EQ(book.seen().size(), 1u);
  EXPECT_EQ(book.seen().front().handle, NodeId{6});
  take(book, former);  // a datagram that was overtaken
  EXPECT_EQ(book.seen().front().handle, NodeId{6});
  const auto list = book.list({6});
  ASSERT_TRUE(list);
  EXPECT_EQ(std::get<Registry::Members>(*list).members.size(), 1u);
}

TEST(RegistryBook, ForgetsWhoIsSilentAndHasABound) {
  RegistryBook<Registry> book(std::chrono::nanoseconds(0));
  for (std::uint32_t handle = 1; handle <= 2 * most_discovered; ++handle) take(book, sighting(handle));
  EXPECT_EQ(book.seen().size(), most_discovered);
  book.forget();
  EXPECT_TRUE(book.empty());
  EXPECT_TRUE(std::get<Registry::Members>(*book.list({1})).members.empty());
}

// A registry must not be of use to whoever asks in another's name.
TEST(RegistryBook, TheLongestAnswerIsShorterThanItsQuestion) {
  Sighting longest = {.handle = {UINT32_MAX},
                      .started = UINT64_MAX,
                      .id = NodeId{UINT32_MAX},
                      .host = std::string(longest_host, 'h'),
                      .port = UINT16_MAX,
                      .knows = true};
  const membership::Member member = {{UINT32_MAX, UINT32_MAX}, {UINT32_MAX}};
  const DiscoveryLetter<Registry> alone = {.group = "g", .from = {1}, .message = Registry::Members{}};
  DiscoveryLetter<Registry> full = alone;
  for (std::size_t i = 0; i < most_discovered; ++i) {
    full.seen.push_back(longest);
    full.complete.push_back({{UINT32_MAX}, longest.host, longest.port});
    std::get<Registry::Members>(full.message).members.push_back(member);
  }
  const std::size_t each = (encode(full).size() - encode(alone).size()) / most_discovered;
  EXPECT_LT(each, padding_for_each);
  EXPECT_LT(encode(full).size() + padding_for_each, longest_discovery_datagram);
}

}  // namespace
}  // namespace conclave::live
