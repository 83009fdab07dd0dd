# Twins of the causality family.

begin_twins(global_snapshot GlobalSnapshot global-snapshot "catalogue/causality/setups.hpp" snapshot_setup
            PREPARE count_the_money)
twin(forgets_channels "does not count what was under way"
  "if (recording.unmarked.contains(from)) recording.in_transit += payment.amount;"
  "if (recording.unmarked.contains(from)) recording.in_transit += 0;")
twin(counts_too_long "counts payments after the channel's marker as well"
  "if (recording.unmarked.contains(from)) recording.in_transit += payment.amount;"
  "if (from != self) recording.in_transit += payment.amount;")
twin(no_relay "sends markers only for its own snapshots"
  "    out.broadcast(peers, Marker{snapshot});"
  "    if (snapshot.initiator == self) out.broadcast(peers, Marker{snapshot});")
twin(miscounts "writes down more than it has"
  "out.announce(Recorded{snapshot, balance});"
  "out.announce(Recorded{snapshot, balance + 1});")
end_twins()
