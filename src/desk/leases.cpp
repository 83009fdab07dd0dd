#include "desk/leases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "core/ensure.hpp"

namespace conclave::desk {

namespace {

constexpr unsigned counter_bits = 48;
constexpr std::uint64_t counter_mask = (std::uint64_t{1} << counter_bits) - 1;

// A process that starts again must not hand out the numbers of its former life.
std::uint64_t somewhere() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

std::string in_hex(LeaseId id) {
  return id < 0 ? fmt::format("-{:x}", 0 - static_cast<std::uint64_t>(id)) : fmt::format("{:x}", id);
}

Leases::Leases(boost::asio::io_context& loop, NodeId self, LeaseLimits limits, Ended ended)
    : wheel_(loop),
      limits_(limits),
      ended_(std::move(ended)),
      member_bits_(std::uint64_t{self.value & 0x7fffu} << counter_bits),
      last_(somewhere()) {
  ensure(limits_.longest >= std::chrono::seconds(1), "a lease lasts a second at least");
  ensure(limits_.longest.count() <= most_seconds, "no lease lasts longer than etcd's");
}

std::expected<std::chrono::seconds, rpc::Status> Leases::check(std::int64_t seconds, LeaseId id) const {
  if (seconds > most_seconds)
    return std::unexpected(rpc::Status{rpc::Code::out_of_range, "etcdserver: too large lease TTL"});
  if (id != 0 && exists(id))
    return std::unexpected(rpc::Status{rpc::Code::failed_precondition, "etcdserver: lease already exists"});
  if (leases_.size() >= limits_.most)
    return std::unexpected(rpc::Status{rpc::Code::resource_exhausted, "etcdserver: too many requests"});
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 1, limits_.longest.count()));
}

LeaseId Leases::grant(std::chrono::seconds time, LeaseId id, rpc::Shares::Part part) {
  if (id == 0) id = fresh_id();
  const auto [place, fresh] =
      leases_.emplace(std::piecewise_construct, std::forward_as_tuple(id), std::forward_as_tuple(*this, id));
  ensure(fresh, "a lease that is granted was not there before");
  place->second.time = time;
  place->second.part = std::move(part);
  wheel_.arm(place->second, time);
  return id;
}

std::optional<std::chrono::seconds> Leases::renew(LeaseId id, const rpc::Call& stream) {
  const auto place = leases_.find(id);
  if (place == leases_.end()) return std::nullopt;
  Lease& lease = place->second;
  wheel_.arm(lease, lease.time);
  if (stream) lease.stream = stream;
  return lease.time;
}

bool Leases::end(LeaseId id, LeaseEnd how) {
  const auto node = leases_.extract(id);
  if (node.empty()) return false;
  Lease& lease = node.mapped();
  lease.disarm();
  ended_({id, how, lease.attached, lease.stream});
  return true;
}

void Leases::detach(LeaseId id, const std::string& key) {
  const auto place = leases_.find(id);
  if (place != leases_.end()) place->second.attached.erase(key);
}

std::optional<Leases::Remaining> Leases::remaining(LeaseId id) const {
  const auto place = leases_.find(id);
  if (place == leases_.end()) return std::nullopt;
  const Lease& lease = place->second;
  const auto left = std::chrono::floor<std::chrono::seconds>(lease.due() - Clock::now());
  return Remaining{std::max(left, std::chrono::seconds(0)), lease.time, &lease.attached};
}

std::vector<LeaseId> Leases::all() const {
  std::vector<LeaseId> ids;
  for (const auto& [id, lease] : leases_) ids.push_back(id);
  std::ranges::sort(ids);
  return ids;
}

LeaseId Leases::fresh_id() {
  LeaseId id = 0;
  do id = static_cast<LeaseId>(member_bits_ | (++last_ & counter_mask));
  while (id == 0 || exists(id));
  return id;
}

}  // namespace conclave::desk
