// Keys and values against the golden bytes of the schema.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Malformed, type KeyType, type Type } from "../src/index.js";
import * as keys from "../src/keys.js";
import * as values from "../src/values.js";
import { readJson } from "./daemon.js";

interface Golden {
  type: string;
  hex: string;
  why: string;
}

const golden = readJson<Record<"values" | "keys" | "bad_values", Golden[]>>("keys/testdata/schema.json");
const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, "hex"));
const zeros = (size: number) => new Uint8Array(size);

function valueType(name: string): Type<unknown> {
  const type = (values as unknown as Record<string, Type<unknown>>)[name];
  assert(type, name);
  return type;
}

test("values", () => {
  assert(golden.values.length > 30);
  for (const { type, hex } of golden.values) {
    assert.deepEqual(valueType(type).encode(valueType(type).decode(bytes(hex))), bytes(hex), type);
  }
});

test("keys", () => {
  assert(golden.keys.length > 30);
  for (const { type, hex } of golden.keys) {
    const of = (keys as unknown as Record<string, KeyType<object, unknown>>)[type];
    assert(of, type);
    const key = of.decode(bytes(hex));
    assert(of.fits(bytes(hex)), type);
    assert.deepEqual(of.encode(key), bytes(hex), type);
    assert.deepEqual(of.start(key), bytes(hex), type);
    assert(hex.startsWith(Buffer.from(of.start()).toString("hex")), type);
    const short = bytes(hex).slice(0, -1);
    if (!of.fits(short)) assert.throws(() => of.decode(short), Malformed, type);
  }
});

test("what is no value", () => {
  assert(golden.bad_values.length > 5);
  for (const { type, hex, why } of golden.bad_values) assert.throws(() => valueType(type).decode(bytes(hex)), Malformed, why);
});

test("what has no bytes", () => {
  const wrongs: [() => Uint8Array, RegExp][] = [
    [() => values.GroupAlias.encode({ name: "" }), /GroupAlias.name: a name has 1 to 50 bytes/],
    [() => values.GroupAlias.encode({ name: "a".repeat(51) }), /1 to 50 bytes/],
    [() => values.GroupAlias.encode({ name: "\ud800" }), /surrogate/],
    [() => values.GroupMemberCapabilityValue.encode({ capabilities: 128 }), /other bits/],
    [() => values.ContextConfigValue.encode({ applicationRevision: -1n, membersRevision: 0n }), /applicationRevision: -1 is no u64/],
    [() => values.ContextConfigValue.encode({ applicationRevision: 1n << 64n, membersRevision: 0n }), /is no u64/],
    [() => values.HybridTimestamp.encode({ time: 1n, id: 0n }), /is 0/],
    [() => values.GroupKeyEntry.encode({ key: zeros(5) }), /5 bytes instead of 32/],
    [() => keys.GroupMember.encode({ groupId: zeros(5), identity: zeros(32) }), /GroupMember.groupId: 5 bytes where 32 are wanted/],
    [() => keys.BlobChunk.encode({ blobId: zeros(32), index: 2 ** 32 }), /BlobChunk.index/],
    [() => keys.Alias.encode({ kind: 1, scope: zeros(32), name: "" }), /a name has/],
    [() => keys.Generic.encode({ scope: new Uint8Array(16).fill(1), fragment: zeros(0) }), /a scope is/],
    [() => keys.Alias.start({ name: "home" }), /the first of the fields kind/],
  ];
  for (const [wrong, why] of wrongs) assert.throws(wrong, (e) => e instanceof RangeError && why.test(e.message), String(why));
});

test("values say what they are", () => {
  const delta: values.ContextDagDeltaValue = {
    deltaId: new Uint8Array(32).fill(1),
    parents: [],
    actions: [
      { type: "put", key: zeros(1), value: zeros(2) },
      { type: "delete", key: zeros(3) },
    ],
    hlc: { time: 1n, id: 2n },
    applied: true,
    expectedRootHash: new Uint8Array(32).fill(2),
    events: [],
  };
  assert.deepEqual(values.ContextDagDeltaValue.decode(values.ContextDagDeltaValue.encode(delta)), delta);
  assert.equal(values.GroupMemberRole.decode(Uint8Array.of(1)), "member");
});
