// Keys of the schema: keys/README.md. Integers in keys are big endian, so that their order is that of bytes.

import { Malformed, plain, wrongName, type Type } from "./borsh.js";

/** A type of keys, which knows its column and the type of its values. */
export interface KeyType<K, V> {
  readonly name: string;
  readonly column: number;
  readonly value: Type<V>;
  /** Whether its values are secrets, which not everybody may read. */
  readonly secret: boolean;
  /** The bytes of a key; throws a RangeError that names the field of what has none. */
  encode(key: K): Uint8Array;
  /** The key of some bytes; throws {@link Malformed}. */
  decode(bytes: Uint8Array): K;
  /** Whether bytes are of the size of such keys, and begin as they do. */
  fits(bytes: Uint8Array): boolean;
  /** What all keys begin with that have these fields, which must be the first ones: the prefix of a scan. */
  start(fields?: Partial<K>): Uint8Array;
}

/** A part of a key; of size 0 is the rest. */
interface Part<T> {
  readonly size: number;
  put(value: T): Uint8Array;
  get(bytes: Uint8Array, at: number): T;
}

export function bytes(size: number): Part<Uint8Array> {
  return {
    size,
    put(value) {
      if (!(value instanceof Uint8Array)) throw new RangeError("is no Uint8Array");
      if (size && value.length !== size) throw new RangeError(`${value.length} bytes where ${size} are wanted`);
      return value;
    },
    get: (b) => b,
  };
}

function toBytes(value: bigint, size: number): Uint8Array {
  if (value < 0n || value >> BigInt(8 * size)) throw new RangeError(`${value} does not fit in ${size} bytes`);
  return Uint8Array.from({ length: size }, (_, i) => Number((value >> BigInt(8 * (size - 1 - i))) & 0xffn));
}

function fromBytes(b: Uint8Array): bigint {
  return b.reduce((n, byte) => (n << 8n) | BigInt(byte), 0n);
}

export function integer(size: number): Part<number> {
  return {
    size,
    put(value) {
      if (!Number.isInteger(value)) throw new RangeError(`${String(value)} is no integer`);
      return toBytes(BigInt(value), size);
    },
    get: (b) => Number(fromBytes(b)),
  };
}

export const u64: Part<bigint> = {
  size: 8,
  put(value) {
    if (typeof value !== "bigint") throw new RangeError(`${String(value)} is no bigint`);
    return toBytes(value, 8);
  },
  get: fromBytes,
};

/** A text, filled up with zeros. */
export function name(size: number): Part<string> {
  return {
    size,
    put(value) {
      const wrong = wrongName(typeof value === "string" ? value : "", size);
      if (wrong) throw new RangeError(wrong);
      const out = new Uint8Array(size);
      out.set(new TextEncoder().encode(value));
      return out;
    },
    get(b, at) {
      const end = b.findLastIndex((byte) => byte !== 0) + 1;
      const text = b.slice(0, end);
      if (!end || text.includes(0)) throw new Malformed(at, "is no name that is filled up with zeros");
      try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(text);
      } catch {
        throw new Malformed(at, "is not UTF-8");
      }
    },
  };
}

const scopeName = name(16);

/** A name, or the 16 bytes of a scope of key-values, of which the first is 0. */
export const scope: Part<string | Uint8Array> = {
  size: 16,
  put(value) {
    if (!(value instanceof Uint8Array)) return scopeName.put(value);
    if (value.length !== 16 || value[0] !== 0) throw new RangeError("a scope is a name, or 16 bytes of which the first is 0");
    return value;
  },
  get: (b, at) => (b[0] === 0 ? b : scopeName.get(b, at)),
};

interface Of<K, V> {
  column: number;
  prefix: number[];
  value: Type<V>;
  secret: boolean;
  parts: { [F in keyof K]-?: Part<K[F]> };
}

export function keyType<K extends object, V>(typeName: string, of: Of<K, V>): KeyType<K, V> {
  const parts = Object.entries(of.parts) as [keyof K & string, Part<unknown>][];
  const least = parts.reduce((sum, [, part]) => sum + part.size, of.prefix.length);
  const begins = (b: Uint8Array) => of.prefix.every((byte, i) => b[i] === byte);
  const put = (some: typeof parts, key: Partial<K>) => {
    const out = [...of.prefix];
    for (const [field, part] of some) {
      try {
        out.push(...part.put(key[field]));
      } catch (e) {
        throw e instanceof RangeError ? new RangeError(`${typeName}.${field}: ${e.message}`) : e;
      }
    }
    return Uint8Array.from(out);
  };
  return {
    name: typeName,
    column: of.column,
    value: of.value,
    secret: of.secret,
    encode: (key) => put(parts, key),
    decode(b) {
      if (!begins(b)) throw new Malformed(0, `does not begin with ${of.prefix.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`);
      if (b.length < least) throw new Malformed(b.length, `ends where ${least - b.length} bytes more are wanted`);
      const key: Partial<Record<keyof K, unknown>> = {};
      let at = of.prefix.length;
      for (const [field, part] of parts) {
        const end = part.size ? at + part.size : b.length;
        key[field] = part.get(plain(b).slice(at, end), at);
        at = end;
      }
      if (at < b.length) throw new Malformed(at, `${b.length - at} bytes follow the key`);
      return key as K;
    },
    fits: (b) => begins(b) && (parts.some(([, part]) => !part.size) ? b.length >= least : b.length === least),
    start(fields = {}) {
      const given = parts.findIndex(([field]) => fields[field] === undefined);
      const some = given < 0 ? parts : parts.slice(0, given);
      if (some.length < Object.values(fields).filter((value) => value !== undefined).length) {
        throw new RangeError(`${typeName}: a scan takes the first of the fields ${parts.map(([field]) => field).join(", ")}`);
      }
      return put(some, fields);
    },
  };
}
