"""Measures a get, for bench/clients: of a row at a socket, so many times."""

import json
import resource
import sys
import time

import stoa
from stoa import messages


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(socket: str, key: str, calls: int) -> None:
    with stoa.Client(socket) as client:
        request = messages.GetRequest(column=messages.Column.COLUMN_ALIAS, key=bytes.fromhex(key))
        for _ in range(calls // 10):
            client.store.get(request)
        times, before = [], cpu()
        for _ in range(calls):
            begun = time.perf_counter_ns()
            assert client.store.get(request).value
            times.append(time.perf_counter_ns() - begun)
        used = cpu() - before
    times.sort()
    print(json.dumps({"p50_us": times[calls // 2] / 1000, "cpu_us": used / calls * 1e6}))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
