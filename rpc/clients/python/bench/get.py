"""Measures a get, for bench/clients: blocking or with asyncio, of a row at a socket, so many times."""

import asyncio
import json
import resource
import sys
import time

import stoa
from stoa import aio, messages


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def blocking(socket: str, request: messages.GetRequest, times: list[int], used: list[float]) -> None:
    with stoa.Client(socket) as client:
        for _ in range(len(times) // 10):
            client.store.get(request)
        used.append(cpu())
        for i in range(len(times)):
            begun = time.perf_counter_ns()
            assert client.store.get(request).value
            times[i] = time.perf_counter_ns() - begun
        used.append(cpu())


async def asynchronous(socket: str, request: messages.GetRequest, times: list[int], used: list[float]) -> None:
    async with aio.Client(socket) as client:
        for _ in range(len(times) // 10):
            await client.store.get(request)
        used.append(cpu())
        for i in range(len(times)):
            begun = time.perf_counter_ns()
            assert (await client.store.get(request)).value
            times[i] = time.perf_counter_ns() - begun
        used.append(cpu())


def main(how: str, socket: str, key: str, calls: str) -> None:
    request = messages.GetRequest(column=messages.Column.COLUMN_ALIAS, key=bytes.fromhex(key))
    times, used = [0] * int(calls), []
    if how == "asyncio":
        asyncio.run(asynchronous(socket, request, times, used))
    else:
        blocking(socket, request, times, used)
    print(json.dumps({"p50_us": sorted(times)[len(times) // 2] / 1000, "cpu_us": (used[1] - used[0]) / len(times) * 1e6}))


main(*sys.argv[1:])
