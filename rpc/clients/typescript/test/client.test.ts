// What a client does with a daemon that goes away, that is slow, and that has much to say.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { constants, createServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, isStoaError, KeyValues, Rows, StoaError, type Event } from "../src/index.js";
import * as keys from "../src/keys.js";
import { KvWatchStart } from "../src/messages.js";
import { Daemon, started } from "./daemon.js";

const zeros = (size: number) => new Uint8Array(size);
const acme = new TextEncoder().encode("acme");

async function all<T>(of: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const one of of) out.push(one);
  return out;
}

test("where no daemon is", async () => {
  const client = new Client("/nowhere/stoa.sock");
  await assert.rejects(client.admin.status(), (e) => isStoaError(e, "Unavailable"));
  await assert.rejects(all(client.kv.scan()), (e) => isStoaError(e, "Unavailable"));
  await assert.rejects(client.blob.put([]), (e) => isStoaError(e, "Unavailable"));
  client.close();
});

test("key-values", async (t) => {
  const { client } = await started(t);
  const kv = new KeyValues(client, "acme");
  assert.equal(await kv.get("config"), undefined);
  const made = await kv.put("config", { limit: 10, names: ["a", "ä"] }, { ttl: 60 });
  assert(made.expires && Math.abs(made.expires.getTime() - Date.now() - 60_000) < 30_000);
  assert.deepEqual(await kv.get("config"), { limit: 10, names: ["a", "ä"] });
  assert.equal((await kv.item("config"))?.revision, made.revision);
  assert(await kv.swap("config", null, { revision: made.revision }));
  assert(!(await kv.swap("config", 1, { value: 2 })));
  assert.equal((await kv.item("config"))?.value, null);
  assert(await kv.swap("other", 1, { revision: 0n }));
  assert(!(await kv.swap("other", 1, { revision: 0n })));
  assert.equal(await kv.increment("n"), 1n);
  assert.equal(await kv.increment("n", 2n ** 62n), 2n ** 62n + 1n);
  assert.deepEqual(
    (await all(kv.items())).map((i) => i.key),
    ["config", "n", "other"],
  );
  assert((await kv.delete("n")) && !(await kv.delete("n")));
  await assert.rejects(kv.put("", 1), (e) => isStoaError(e, "KV_ARGUMENT") && e.code === "InvalidArgument" && e.fields["field"] === "key");
  await assert.rejects(kv.put("x", undefined as never), TypeError);
});

test("rows", async (t) => {
  const { client } = await started(t);
  const rows = new Rows(client);
  const key: keys.Alias = { kind: 1, scope: zeros(32), name: "home" };
  assert.equal(await rows.get(keys.Alias, key), undefined);
  await rows
    .batch()
    .expect(keys.Alias, key, undefined)
    .put(keys.Alias, key, { id: zeros(32).fill(1) })
    .put(keys.Alias, { ...key, kind: 2, name: "me" }, { id: zeros(32).fill(3) })
    .apply();
  assert.deepEqual(await rows.get(keys.Alias, key), { id: zeros(32).fill(1) });
  const again = rows.batch().expect(keys.Alias, key, undefined).delete(keys.Alias, key);
  await assert.rejects(again.apply(), (e) => isStoaError(e, "CONFLICT") && e.code === "Aborted");
  await assert.rejects(
    rows
      .batch()
      .expect(keys.Alias, key, { id: zeros(32) })
      .apply(),
    (e) => isStoaError(e, "CONFLICT"),
  );
  const names = async (scan: AsyncIterable<[keys.Alias, unknown]>) => (await all(scan)).map(([k]) => k.name);
  assert.deepEqual(await names(rows.scan(keys.Alias)), ["home", "me"]);
  assert.deepEqual(await names(rows.scan(keys.Alias, { kind: 2 })), ["me"]);
  assert.deepEqual(await names(rows.scan(keys.Alias, {}, { reverse: true, limit: 1 })), ["me"]);
  await rows.batch().delete(keys.Alias, key).apply({ durable: false });
  assert.equal(await rows.get(keys.Alias, key), undefined);
});

test("a large blob goes both ways", async (t) => {
  const { client } = await started(t);
  const data = Buffer.alloc(5_000_000, "0123456789abcdefg");
  async function* pieces() {
    yield { part: { case: "header" as const, value: {} } };
    for (let at = 0; at < data.length; at += 100_000) yield { part: { case: "data" as const, value: data.subarray(at, at + 100_000) } };
  }
  const stored = await client.blob.put(pieces());
  const got = Buffer.concat((await all(client.blob.get({ blobId: stored.info!.blobId }))).flatMap((a) => (a.part.case === "data" ? [a.part.value] : [])));
  assert(got.equals(data));
});

test("what requests throw ends the call", async (t) => {
  const { client } = await started(t);
  function* broken() {
    yield { part: { case: "header" as const, value: {} } };
    throw new Error("no more");
  }
  await assert.rejects(client.blob.put(broken()), /no more/);
});

test("a stream that is left early is given up", async (t) => {
  const { client } = await started(t);
  const kv = new KeyValues(client, "acme", { durable: false });
  await Promise.all(Array.from({ length: 500 }, (_, i) => kv.put(`k${i}`, "x".repeat(1000))));
  for (let i = 0; i < 20; i++) {
    for await (const page of client.kv.scan({ tenant: acme })) {
      assert(page.items.length);
      break;
    }
  }
  assert.equal((await all(kv.items())).length, 500);
});

test("a call that takes too long, and one that is given up", async (t) => {
  const { client } = await started(t);
  const start = KvWatchStart.NOW;
  await assert.rejects(all(client.kv.watch({ tenant: acme, start }, { timeout: 200 })), (e) => isStoaError(e, "DeadlineExceeded"));
  const given = new AbortController();
  const watch = all(client.kv.watch({ tenant: acme, start }, { signal: given.signal }));
  given.abort();
  await assert.rejects(watch, (e) => isStoaError(e, "Cancelled"));
  await assert.rejects(client.admin.status({}, { signal: AbortSignal.abort() }), (e) => e instanceof StoaError && e.code === "Cancelled");
});

test("a call that the daemon resets, since its time is over", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] }); // the client never sees it itself
  const timeout = 50;
  const server = createServer();
  server.on("stream", (stream) => {
    for (const end = Date.now() + 2 * timeout; Date.now() < end; ) continue;
    stream.close(constants.NGHTTP2_CANCEL);
  });
  const directory = await mkdtemp(join(tmpdir(), "stoa-"));
  await new Promise<void>((listens) => server.listen(join(directory, "sock"), listens));
  const client = new Client(join(directory, "sock"));
  t.after(async () => {
    client.close();
    server.close();
    await rm(directory, { recursive: true });
  });
  for (const call of [() => client.admin.status({}, { timeout }), () => all(client.kv.watch({}, { timeout })), () => client.blob.put([], { timeout })]) {
    await assert.rejects(call, (e) => isStoaError(e, "DeadlineExceeded"));
  }
});

test("a client connects again", async (t) => {
  const { daemon, client } = await started(t);
  assert.equal((await client.admin.status()).engine, "mem");
  await daemon.stop();
  await assert.rejects(client.admin.status(), (e) => isStoaError(e, "Unavailable"));
  await daemon.start();
  // At most as long as it waits between attempts: then it must be there.
  for (let i = 0; i < 600; i++) {
    const engine = await client.admin.status().then(
      (s) => s.engine,
      () => "",
    );
    if (engine) return;
    await sleep(100);
  }
  assert.fail("it did not connect");
});

test("a watch goes on", async (t) => {
  const { daemon, client } = await started(t, "rocks");
  await new KeyValues(client, "acme").put("first", 1);
  const told: Event[] = [];
  for await (const event of new KeyValues(client, "acme").watch()) {
    told.push(event);
    if (event.kind === "synced" && told.filter((e) => e.kind === "synced").length === 1) {
      await daemon.stop();
      await daemon.start();
      const other = new Client(daemon.socket);
      await new KeyValues(other, "acme").put("last", 2);
      await new KeyValues(other, "acme").delete("last");
      other.close();
    }
    if (event.kind === "delete") break;
  }
  assert.deepEqual(
    told.flatMap((e) => (e.kind === "put" ? [e.item.key] : e.kind === "delete" ? [`-${e.key}`] : [])),
    ["first", "last", "-last"],
  );
});

test("a watch that is aborted ends", async (t) => {
  const { daemon, client } = await started(t);
  const given = new AbortController();
  const kinds: string[] = [];
  for await (const event of new KeyValues(client, "acme").watch("", { signal: given.signal })) {
    kinds.push(event.kind);
    given.abort();
  }
  assert.deepEqual(kinds, ["synced"]);
  await daemon.stop();
  const late = new AbortController();
  const watch = all(new KeyValues(client, "acme").watch("", { signal: late.signal }));
  late.abort();
  assert.deepEqual(await watch, []);
});

test("a client of another daemon", async (t) => {
  const daemon = new Daemon();
  t.after(() => daemon.close());
  await daemon.start();
  using client = new Client(daemon.socket, { timeout: 10_000 });
  assert((await client.admin.status()).features.length);
});
