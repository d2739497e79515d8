"""Keys and values against the golden bytes of the schema."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from conftest import REPOSITORY

from stoa import keys, values

GOLDEN = json.loads((REPOSITORY / "keys/testdata/schema.json").read_text())


@pytest.mark.parametrize("golden", GOLDEN["values"], ids=lambda g: g["type"])
def test_values(golden: dict[str, str]) -> None:
    data = bytes.fromhex(golden["hex"])
    assert getattr(values, golden["type"]).decode(data).encode() == data


@pytest.mark.parametrize("golden", GOLDEN["keys"], ids=lambda g: g["type"])
def test_keys(golden: dict[str, str]) -> None:
    data = bytes.fromhex(golden["hex"])
    of = getattr(keys, golden["type"])
    assert of.fits(data)
    assert of.decode(data).encode() == data
    assert data.startswith(of.start())


@pytest.mark.parametrize("golden", GOLDEN["bad_values"], ids=lambda g: g["why"])
def test_what_is_no_value(golden: dict[str, str]) -> None:
    with pytest.raises(values.Malformed):
        getattr(values, golden["type"]).decode(bytes.fromhex(golden["hex"]))


def test_what_has_no_bytes() -> None:
    wrongs: list[Callable[[], bytes]] = [
        lambda: values.GroupAlias("").encode(),
        lambda: values.GroupAlias("a" * 51).encode(),
        lambda: values.GroupMemberCapabilityValue(128).encode(),
        lambda: values.ContextConfigValue(-1, 0).encode(),
        lambda: values.ContextConfigValue(1 << 64, 0).encode(),
        lambda: values.HybridTimestamp(1, 0).encode(),
        lambda: values.GroupKeyEntry(b"short").encode(),
        lambda: keys.GroupMember(b"short", bytes(32)).encode(),
        lambda: keys.BlobChunk(bytes(32), 1 << 32).encode(),
        lambda: keys.Alias(1, bytes(32), "").encode(),
        lambda: keys.Generic(b"\1" * 16, b"").encode(),
    ]
    for wrong in wrongs:
        with pytest.raises(ValueError):
            wrong()


def test_values_say_what_they_are() -> None:
    delta = values.ContextDagDeltaValue(
        b"\1" * 32, [], [values.ActionPut(b"k", b"v"), values.ActionDelete(b"gone")], values.HybridTimestamp(1, 2), True, b"\2" * 32, []
    )
    assert values.ContextDagDeltaValue.decode(delta.encode()) == delta
    assert isinstance(values.Action.decode(values.ActionDelete(b"x").encode()), values.ActionDelete)
    assert values.GroupMemberRole.decode(b"\1") is values.GroupMemberRole.MEMBER


def test_secrets_are_not_shown() -> None:
    assert repr(values.GroupKeyEntry(b"\7" * 32)) == "GroupKeyEntry(secret)"
    assert str(values.ContextIdentityValue(b"\7" * 32, None)) == "ContextIdentityValue(secret)"
