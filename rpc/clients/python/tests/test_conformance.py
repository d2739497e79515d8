"""What all clients answer alike: ../../conformance.json."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from conftest import REPOSITORY, Daemon
from google.protobuf import json_format

import stoa
from stoa import aio, services

CASES = json.loads((REPOSITORY / "rpc/clients/conformance.json").read_text())["calls"]


def snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


def method(call: str) -> Any:
    service, name = call.split(".")
    attribute = snake(name) + ("_" if snake(name) == "import" else "")
    return snake(service), attribute, vars(getattr(services, service))[attribute]


def requests(case: dict[str, Any], of: Any) -> list[Any]:
    return [json_format.ParseDict(r, of.request()) for r in case.get("requests", [case.get("request", {})])]


def told(answers: list[Any]) -> list[Any]:
    return [json_format.MessageToDict(a) for a in answers]


def same(want: Any, got: Any) -> bool:
    """Whether an answer has all that is wanted; * is anything."""
    if want == "*":
        return got is not None
    if isinstance(want, dict):
        return isinstance(got, dict) and all(same(v, got.get(k)) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(same, want, got))
    return bool(want == got)


def check(case: dict[str, Any], answers: list[Any], failure: stoa.Error | None) -> None:
    if "error" in case:
        assert failure is not None, (case["name"], told(answers))
        got = {"code": failure.code, "kind": failure.kind, "fields": failure.fields}
        assert same(case["error"], got), (case["name"], got)
        return
    assert failure is None, (case["name"], failure)
    want = case.get("answers", [case.get("answer")])
    assert same(want, told(answers)), (case["name"], told(answers))
    for field in case.get("absent", []):
        assert field not in told(answers)[0], (case["name"], field)


def test_blocking(daemon: Daemon) -> None:
    with stoa.Client(daemon.socket) as client:
        for case in CASES:
            service, name, of = method(case["call"])
            call = getattr(getattr(client, service), name)
            sent, failure, answers = requests(case, of), None, []
            try:
                match of.kind:
                    case "_unary":
                        answers = [call(sent[0])]
                    case "_server_stream":
                        for answer in call(sent[0]):
                            answers.append(answer)
                    case "_client_stream":
                        answers = [call(sent)]
                    case _:
                        with call() as stream:
                            for request in sent:
                                stream.send(request)
                            stream.end()
                            answers.extend(stream)
            except stoa.Error as e:
                failure = e
            check(case, answers, failure)


def test_asyncio(daemon: Daemon) -> None:
    async def run() -> None:
        async with aio.Client(daemon.socket) as client:
            for case in CASES:
                service, name, of = method(case["call"])
                call = getattr(getattr(client, service), name)
                sent, failure, answers = requests(case, of), None, []
                try:
                    match of.kind:
                        case "_unary":
                            answers = [await call(sent[0])]
                        case "_server_stream":
                            async for answer in call(sent[0]):
                                answers.append(answer)
                        case "_client_stream":
                            answers = [await call(sent)]
                        case _:
                            async with call() as stream:
                                for request in sent:
                                    await stream.send(request)
                                await stream.end()
                                async for answer in stream:
                                    answers.append(answer)
                except stoa.Error as e:
                    failure = e
                check(case, answers, failure)

    asyncio.run(run())
