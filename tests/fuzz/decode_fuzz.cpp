// Whatever the bytes, decoding returns a value or an error; and what it accepts is the one encoding of
// that value. The first byte chooses the type, the rest is decoded.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "core/codec.hpp"
#include "core/vector_clock.hpp"
#include "protocols/causality/global_snapshot.hpp"
#include "protocols/consensus/paxos.hpp"
#include "protocols/election/all_to_all.hpp"
#include "protocols/election/bully_polite.hpp"
#include "protocols/election/chang_roberts.hpp"
#include "protocols/election/invitation.hpp"
#include "protocols/election/ring_list.hpp"
#include "protocols/log/multi_paxos.hpp"
#include "protocols/mutex/bakery_messages.hpp"
#include "protocols/mutex/carvalho_roucairol.hpp"
#include "protocols/mutex/central_server.hpp"
#include "protocols/mutex/central_token.hpp"
#include "protocols/mutex/lamport.hpp"
#include "protocols/mutex/maekawa.hpp"
#include "protocols/mutex/maekawa_deadlock_free.hpp"
#include "protocols/mutex/ricart_agrawala.hpp"
#include "protocols/mutex/ricart_agrawala_just_released.hpp"
#include "protocols/mutex/token_ring.hpp"
#include "protocols/timesync/berkeley.hpp"
#include "protocols/timesync/cristian.hpp"

namespace {

using namespace conclave;
using Input = std::span<const std::uint8_t>;

template <class T>
void decode_one(Input bytes) {
  const auto value = decode<T>(bytes);
  if (!value) return;
  const Bytes again = encode(*value);
  if (std::ranges::equal(again, bytes)) return;
  std::fprintf(stderr, "%.*s: %zu bytes were accepted, and encode to %zu others\n",
               static_cast<int>(type_name<T>.size()), type_name<T>.data(), bytes.size(), again.size());
  std::abort();
}

using Decode = void (*)(Input);

template <class... P>
std::vector<Decode> messages_of() {
  return {&decode_one<typename P::Message>...};
}
template <class... P>
std::vector<Decode> states_of() {
  return {&decode_one<P>...};
}

// New types go to the end: the corpus counts them from the front.
std::vector<Decode> all_targets() {
  std::vector<Decode> all = {&decode_one<NodeSet>, &decode_one<VectorClock>};
  const auto add = [&](const std::vector<Decode>& more) { all.insert(all.end(), more.begin(), more.end()); };
  add(messages_of<mutex::BakeryMessages, mutex::CarvalhoRoucairol, mutex::CentralServer, mutex::CentralToken,
                  mutex::Lamport, mutex::Maekawa, mutex::MaekawaDeadlockFree, mutex::RicartAgrawala,
                  mutex::RicartAgrawalaJustReleased, mutex::TokenRing>());
  add(states_of<mutex::BakeryMessages, mutex::CarvalhoRoucairol, mutex::CentralServer, mutex::CentralToken,
                mutex::Lamport, mutex::Maekawa, mutex::MaekawaDeadlockFree, mutex::RicartAgrawala,
                mutex::RicartAgrawalaJustReleased, mutex::TokenRing>());
  add(messages_of<election::AllToAll, election::ChangRoberts, election::RingList, election::Bully,
                  election::BullyPolite, election::Invitation, consensus::Paxos, log::MultiPaxos,
                  timesync::Cristian, timesync::Berkeley, causality::GlobalSnapshot>());
  return all;
}

const std::vector<Decode> table = all_targets();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  table[data[0] % table.size()](Input(data + 1, size - 1));
  return 0;
}
