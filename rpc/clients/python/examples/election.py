"""One of several processes leads, and another one when it has gone.

    python election.py SOCKET NAME [RENEWALS]

Each waits in the queue of one lock, and renews what it holds; the lease ends where nobody does.
What a leader does elsewhere it does with the token of its grant, which is greater than that of
all leaders before: who sees a smaller one after it refuses it.
"""

import sys
import time

import stoa
from stoa import messages

LOCK, TENANT, LEASE = "resource:service:mailer", b"acme", 30.0


def acquire(client: stoa.Client, me: str) -> messages.LockGrant:
    """Waits until it is given the lock."""
    while True:
        try:
            for answer in client.lock.acquire(tenant=TENANT, name=LOCK, agent=me, ttl_ms=int(LEASE * 1000), wait=True, max_wait_ms=60_000):
                if answer.HasField("grant"):
                    return answer.grant
                print(f"{me} is number {answer.place} in the queue", flush=True)
        except stoa.Error as e:
            if e.kind != "LOCK_WAIT_TIMEOUT":
                raise


def lead(socket: str, me: str, renewals: int) -> None:
    with stoa.Client(socket) as client:
        grant = acquire(client, me)
        print(f"{me} leads with token {grant.token}", flush=True)
        held = {"tenant": TENANT, "name": LOCK, "agent": me, "token": grant.token}
        for _ in range(renewals):
            time.sleep(LEASE / 3)
            client.lock.renew(**held, ttl_ms=int(LEASE * 1000))  # raises: it does not lead any more
        client.lock.release(**held)  # or the lease ends, and the next one leads
        print(f"{me} has led", flush=True)


if __name__ == "__main__":
    lead(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
