/* Ricart-Agrawala over FIFO links, step for step as src/protocols/mutex/ricart_agrawala.hpp: the client's
 * call or one delivery, with all that the handler does and sends, is one step.
 *
 * Process i of ours is _pid = i - 1 here. What follows from the rest is left out: the client is inside if it has
 * a request and awaits nobody, outside if it has no request, and has asked ENTRIES - wishes times. Temporaries
 * are hidden, so the state vector holds the state and nothing else. A message is one byte, its clock and one
 * bit for its kind; two places per link are enough, and pan stops with an error if they were not. */
#ifndef N
#define N 3 /* at most 4 */
#endif
#ifndef ENTRIES
#define ENTRIES 2
#endif

#define BIT(i) (1 << (i))
#define ALL (BIT(N) - 1)
#define LINK(from, to) link[(from) * (N - 1) + (to) - ((to) > (from))]
#define PEER(k) ((_pid + (k)) % N)
#define REQUEST(clock) ((clock) << 1)
#define REPLY(clock) ((clock) << 1 | 1)
#define IS_REPLY(message) ((message) & 1)
#define CLOCK(message) ((message) >> 1)

chan link[N * (N - 1)] = [2] of { byte };
bool occupied; /* for EM1 */
hidden byte message;

inline enter() {
  assert(!occupied);
  occupied = true
}

inline answer(k) {
  if
  :: deferred & BIT(PEER(k)) -> LINK(_pid, PEER(k)) ! REPLY(clock)
  :: else
  fi
}

inline receive(k) {
  LINK(PEER(k), _pid) ? message;
  clock = (clock > CLOCK(message) -> clock : CLOCK(message)) + 1;
  if
  :: IS_REPLY(message) ->
     awaiting = awaiting & ~BIT(PEER(k));
     if
     :: awaiting == 0 -> enter()
     :: else
     fi
  :: else ->
     if
     :: stamp && (stamp < CLOCK(message) || (stamp == CLOCK(message) && _pid < PEER(k))) ->
        deferred = deferred | BIT(PEER(k))
     :: else -> LINK(_pid, PEER(k)) ! REPLY(clock)
     fi
  fi
}

active [N] proctype process() {
  byte clock;
  byte stamp; /* of the request; 0 if there is none */
  unsigned awaiting : N;
  unsigned deferred : N;
  unsigned wishes : 2 = ENTRIES;

end:
  do
  :: d_step { /* Acquire */
       stamp == 0 && wishes > 0;
       wishes--;
       clock++;
       stamp = clock;
       awaiting = ALL & ~BIT(_pid);
       LINK(_pid, PEER(1)) ! REQUEST(clock);
#if N > 2
       LINK(_pid, PEER(2)) ! REQUEST(clock);
#endif
#if N > 3
       LINK(_pid, PEER(3)) ! REQUEST(clock);
#endif
     }
  :: d_step { /* Release */
       stamp != 0 && awaiting == 0;
       occupied = false;
       stamp = 0;
       answer(1);
#if N > 2
       answer(2);
#endif
#if N > 3
       answer(3);
#endif
       deferred = 0
     }
  :: d_step { receive(1) }
#if N > 2
  :: d_step { receive(2) }
#endif
#if N > 3
  :: d_step { receive(3) }
#endif
  od
}
