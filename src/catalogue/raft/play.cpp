#include "catalogue/raft/play.hpp"

#include "catalogue/raft/setup.hpp"
#include "live/replica_player.hpp"
#include "protocols/raft/raft.hpp"

namespace conclave::catalogue {

live::Played play_raft(const live::Casting& casting, const Setting& setting, trace::Observer& observer) {
  const trace::Header header = {.protocol = setting.protocol,
                                .variant = setting.variant,
                                .world = "live",
                                .nodes = setting.members,
                                .seed = setting.seed};
  return live::ReplicaPlayer<raft::Raft>(casting, raft_setup<raft::Raft::Setup>(setting), header, observer)
      .play();
}

}  // namespace conclave::catalogue
