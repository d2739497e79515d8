import type { KeyType } from "./key.js";
import type { Client } from "./client.js";
import { Column } from "./gen/stoa/v1/column_pb.js";
import { Durability } from "./gen/stoa/v1/store_pb.js";

/** Rows by the types of the schema, on the service Store: see the types of stoadb/keys and stoadb/values. */
export class Rows {
  constructor(readonly client: Client) {}

  /** The value of a key; undefined if there is none. */
  async get<K, V>(type: KeyType<K, V>, key: K): Promise<V | undefined> {
    const { value } = await this.client.store.get({ column: type.column as Column, key: type.encode(key) });
    return value === undefined ? undefined : type.value.decode(value);
  }

  /** Keys of a type with their values, in the order of their bytes: all of them, or those with these first fields. */
  async *scan<K, V>(type: KeyType<K, V>, first: Partial<K> = {}, options: { limit?: number; reverse?: boolean } = {}): AsyncGenerator<[K, V], void, undefined> {
    const pages = this.client.store.scan({
      column: type.column as Column,
      prefix: type.start(first),
      limit: BigInt(options.limit ?? 0),
      reverse: options.reverse ?? false,
    });
    for await (const page of pages) {
      for (const [key, value] of entries(page.entries)) {
        // A column may have keys of several types: of another one are those of another size.
        if (type.fits(key)) yield [type.decode(key), type.value.decode(value)];
      }
    }
  }

  /** A batch: all of its changes are made when it is applied, or none. */
  batch(): Batch {
    return new Batch(this.client);
  }
}

/** Changes, and what they expect: engine/README.md, "Bytes of a batch". */
export class Batch {
  readonly #client: Client;
  readonly #changes: Uint8Array[] = [];
  readonly #expectations: Uint8Array[] = [];
  #count = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Stores a value. */
  put<K, V>(type: KeyType<K, V>, key: K, value: V): this {
    return this.#change(5, type, key, sized(type.value.encode(value)));
  }

  /** Removes what the key has. */
  delete<K, V>(type: KeyType<K, V>, key: K): this {
    return this.#change(4, type, key);
  }

  /** Has the batch be refused (Aborted, CONFLICT) unless the key has that value; undefined: nothing. */
  expect<K, V>(type: KeyType<K, V>, key: K, value: V | undefined): this {
    this.#expectations.push(Uint8Array.of(Number(value !== undefined), type.column), sized(type.encode(key)));
    if (value !== undefined) this.#expectations.push(sized(type.value.encode(value)));
    return this;
  }

  /** Makes the changes. Not durable: they may be lost with the power. */
  async apply(options: { durable?: boolean } = {}): Promise<void> {
    const head = new Uint8Array(12);
    new DataView(head.buffer).setUint32(8, this.#count, true);
    await this.#client.store.apply({
      ops: this.#count ? Buffer.concat([head, ...this.#changes]) : new Uint8Array(),
      expectations: Buffer.concat(this.#expectations),
      durability: options.durable === false ? Durability.WAL : Durability.SYNCED,
    });
  }

  #change<K, V>(tag: number, type: KeyType<K, V>, key: K, rest: Uint8Array = new Uint8Array()): this {
    this.#changes.push(Uint8Array.of(tag, type.column), sized(type.encode(key)), rest);
    this.#count++;
    return this;
  }
}

function sized(bytes: Uint8Array): Uint8Array {
  const size = [];
  let n = bytes.length;
  for (; n >= 0x80; n >>>= 7) size.push((n & 0x7f) | 0x80);
  return Buffer.concat([Uint8Array.of(...size, n), bytes]);
}

/** The keys and values of a page: engine/README.md, "Bytes of a page". */
function* entries(page: Uint8Array): Generator<[Uint8Array, Uint8Array]> {
  let at = 0;
  const take = () => {
    let size = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = page[at++] ?? 0;
      size |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    at += size;
    return page.slice(at - size, at);
  };
  while (at < page.length) yield [take(), take()];
}
