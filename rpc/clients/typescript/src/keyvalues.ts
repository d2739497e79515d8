import type { Client } from "./client.js";
import { StoaError } from "./errors.js";
import { KvEventKind, KvWatchStart, type KvEvent, type KvItem } from "./gen/stoa/v1/kv_pb.js";
import { Durability } from "./gen/stoa/v1/store_pb.js";

/** What JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What a key has. Numbers of a value that are no safe integers are rounded, as JSON.parse does. */
export interface Item {
  readonly key: string;
  readonly value: Json;
  /** Of the tenant, at which it was written. */
  readonly revision: bigint;
  readonly expires?: Date;
}

/** Something that a watch tells. */
export type Event =
  | { readonly kind: "put"; readonly revision: bigint; readonly item: Item }
  | { readonly kind: "delete" | "expire"; readonly revision: bigint; readonly key: string }
  /** What was there when the watch began has been told, and what follows is news. */
  | { readonly kind: "synced"; readonly revision: bigint }
  /** What was told may be out of date: the whole state follows, and synced. */
  | { readonly kind: "resync"; readonly revision: bigint };

export interface PutOptions {
  /** Seconds after which it is gone. */
  ttl?: number;
}

/** What must be there: a value, or a revision, of which 0 is nothing. */
export type Expected = { readonly value: Json } | { readonly revision: bigint };

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const FIRST = 50; // milliseconds between attempts to go on with a watch
const LAST = 2000;

/** Values of JSON under keys of a tenant, on the service Kv. */
export class KeyValues {
  readonly #kv: Client["kv"];
  readonly #tenant: Uint8Array;
  readonly #durability: Durability;

  /** Not durable: a change is answered before it is on disk, and may be lost with the power. */
  constructor(client: Client, tenant = "", options: { durable?: boolean } = {}) {
    this.#kv = client.kv;
    this.#tenant = encoder.encode(tenant);
    this.#durability = options.durable === false ? Durability.WAL : Durability.SYNCED;
  }

  /** The value of a key; undefined if there is nothing. */
  async get(key: string): Promise<Json | undefined> {
    return (await this.item(key))?.value;
  }

  /** What a key has, with its revision; undefined if there is nothing. */
  async item(key: string): Promise<Item | undefined> {
    const { item } = await this.#kv.get({ tenant: this.#tenant, key: encoder.encode(key) });
    return item && toItem(item, key);
  }

  /** Stores a value, and answers its revision. */
  async put(key: string, value: Json, options: PutOptions = {}): Promise<Item> {
    const { item } = await this.#kv.put({ ...this.#change(key, options), value: toText(value) });
    return { ...toItem(item!, key), value };
  }

  /** Removes what a key has, and says whether there was something. */
  async delete(key: string): Promise<boolean> {
    return (await this.#kv.delete(this.#change(key, {}))).existed;
  }

  /** Adds to an integer, 0 if there is nothing. */
  async increment(key: string, delta: bigint | number = 1n, options: PutOptions = {}): Promise<bigint> {
    const { item } = await this.#kv.increment({ ...this.#change(key, options), delta: BigInt(delta) });
    return BigInt(JSON.parse(decoder.decode(item!.value)) as number | string); // a string beyond 2^53
  }

  /** Stores a value if the key has what is expected; false: it has not. */
  async swap(key: string, value: Json, expected: Expected, options: PutOptions = {}): Promise<boolean> {
    const expect = "value" in expected ? { value: toText(expected.value) } : expected.revision === 0n ? { absent: true } : { revision: expected.revision };
    return (await this.#kv.compareAndSwap({ ...this.#change(key, options), value: toText(value), expect })).swapped;
  }

  /** All keys that begin with a prefix, in order, of one moment. */
  async *items(prefix = ""): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.#kv.scan({ tenant: this.#tenant, prefix: encoder.encode(prefix) })) {
      for (const item of page.items) yield toItem(item);
    }
  }

  /**
   * The keys that begin with a prefix, then synced, then what changes; or what changed after a
   * revision. It goes on when the daemon was away, and ends when the signal is aborted, or with an
   * error for what else happens.
   */
  async *watch(prefix = "", options: { after?: bigint; signal?: AbortSignal } = {}): AsyncGenerator<Event, void, undefined> {
    let after = options.after; // undefined: the state comes first
    let synced = after !== undefined;
    let pause = FIRST;
    const signal = options.signal;
    while (!signal?.aborted) {
      const start = after === undefined ? { start: KvWatchStart.STATE } : { start: KvWatchStart.REVISION, after };
      try {
        for await (const page of this.#kv.watch({ tenant: this.#tenant, prefix: encoder.encode(prefix), ...start }, signal ? { signal } : {})) {
          for (const told of page.events) {
            const event = toEvent(told);
            pause = FIRST;
            if (event.kind === "synced" || event.kind === "resync") synced = event.kind === "synced";
            if (synced) after = event.revision;
            yield event;
          }
        }
        throw new StoaError("NotFound", "the watch has ended");
      } catch (e) {
        if (signal?.aborted) return;
        if (!(e instanceof StoaError) || (e.code !== "Unavailable" && e.kind !== "BUSY")) throw e;
        if (!synced) after = undefined;
      }
      await sleep(pause, signal);
      pause = Math.min(2 * pause, LAST);
    }
  }

  #change(key: string, options: PutOptions) {
    const ttl = options.ttl === undefined ? {} : { ttlSeconds: BigInt(options.ttl) };
    return { tenant: this.#tenant, key: encoder.encode(key), durability: this.#durability, ...ttl };
  }
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done);
  });
}

function toText(value: Json): Uint8Array {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`${typeof value} is no JSON`);
  return encoder.encode(text);
}

function toItem(item: KvItem, key = decoder.decode(item.key)): Item {
  const value = item.value.length ? (JSON.parse(decoder.decode(item.value)) as Json) : null;
  const expires = item.expiresMs ? { expires: new Date(Number(item.expiresMs)) } : {};
  return { key, value, revision: item.revision, ...expires };
}

function toEvent({ kind, revision, item }: KvEvent): Event {
  switch (kind) {
    case KvEventKind.PUT:
      return { kind: "put", revision, item: toItem(item!) };
    case KvEventKind.DELETE:
    case KvEventKind.EXPIRE:
      return { kind: kind === KvEventKind.DELETE ? "delete" : "expire", revision, key: decoder.decode(item!.key) };
    case KvEventKind.SYNCED:
      return { kind: "synced", revision };
    default:
      return { kind: "resync", revision };
  }
}
