#include <algorithm>
#include <array>

#include "load/client.hpp"

namespace conclave::load {
namespace {

using enum Wanted;
using enum Way;

constexpr std::array table = {
    Workload{.name = "put", .operation = "a put of one of the keys", .clients = 64, .client = make_put},
    Workload{.name = "age",
             .operation = "a put, very many in a row: is a store that was used a lot as quick as a new one",
             .clients = 64,
             .count = 2'000'000,
             .slice = 100'000,
             .client = make_put},
    Workload{.name = "get",
             .operation = "a linearizable get of one of the keys",
             .clients = 64,
             .needs_keys = true,
             .client = make_get},
    Workload{.name = "get-serializable",
             .operation = "a get of what the member has at hand",
             .clients = 64,
             .needs_keys = true,
             .client = make_serializable_get},
    Workload{.name = "txn",
             .operation = "a compare and swap, each client a key of its own",
             .clients = 64,
             .client = make_txn},
    Workload{.name = "range",
             .operation = "a page of a walk over all keys",
             .clients = 1,
             .needs_keys = true,
             .client = make_range},
    Workload{.name = "fill",
             .operation = "a transaction of at most 100 puts, until all keys are there",
             .clients = 16,
             .client = make_fill},
    Workload{.name = "lock",
             .operation = "Lock and Unlock of etcd's lock service, each client a lock of its own",
             .clients = 64,
             .client = make_lock<own, service>},
    Workload{.name = "lock-contended",
             .operation = "the same, all clients the same lock",
             .clients = 16,
             .client = make_lock<same, service>},
    Workload{.name = "lock-recipe",
             .operation = "lock and unlock by transactions and watches, each client a lock of its own",
             .clients = 64,
             .client = make_lock<own, recipe>},
    Workload{.name = "lock-recipe-contended",
             .operation = "the same, all clients the same lock",
             .clients = 16,
             .client = make_lock<same, recipe>},
    Workload{
        .name = "campaign",
        .operation = "Campaign and Resign of etcd's election service, each client an election of its own",
        .clients = 64,
        .client = make_campaign<own, service>},
    Workload{.name = "campaign-contended",
             .operation = "the same, all clients the same election",
             .clients = 16,
             .client = make_campaign<same, service>},
    Workload{
        .name = "campaign-recipe",
        .operation = "campaign and resign by transactions and watches, each client an election of its own",
        .clients = 64,
        .client = make_campaign<own, recipe>},
    Workload{.name = "campaign-recipe-contended",
             .operation = "the same, all clients the same election",
             .clients = 16,
             .client = make_campaign<same, recipe>},
    Workload{.name = "keep-alive",
             .operation = "a lease kept alive; each client has many, and one stream for them",
             .clients = 1,
             .client = make_keep_alive},
    Workload{.name = "watch",
             .operation = "a put of a key until all who watch it were told",
             .clients = 1,
             .client = make_put_told,
             .watcher = make_watcher},
};

}  // namespace

std::span<const Workload> workloads() { return table; }

const Workload* workload_named(std::string_view name) {
  const auto found = std::ranges::find(table, name, &Workload::name);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace conclave::load
