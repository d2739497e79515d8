// Borsh, as values of the schema use it: codec/README.md. Decoding is strict, so that what was
// decoded is encoded to the same bytes, and nothing is allocated for a count that can't be true.

/** Bytes that are no value, or no key, of a type. */
export class Malformed extends Error {
  override readonly name = "Malformed";

  constructor(
    /** The byte at which that shows. */
    readonly at: number,
    readonly reason: string,
  ) {
    super(`byte ${at}: ${reason}`);
  }
}

/** How values of a type are bytes. */
export interface Type<T> {
  /** The name of the type in the schema. */
  readonly name: string;
  /** The bytes of a value; throws a RangeError that names the field of what has none. */
  encode(value: T): Uint8Array;
  /** The value of some bytes; throws {@link Malformed}. */
  decode(bytes: Uint8Array): T;
}

/** The type that values of a Type have. */
export type ValueOf<T> = T extends Type<infer V> ? V : never;

/** The same bytes, never as a Buffer, whose slices share them. */
export function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

class Input {
  readonly bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = plain(bytes);
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  take(size: number): Uint8Array {
    if (this.left < size) throw new Malformed(this.bytes.length, `ends where ${size - this.left} bytes more are wanted`);
    this.at += size;
    return this.bytes.slice(this.at - size, this.at);
  }
}

type Output = number[];

export interface Layout<T> {
  put(out: Output, value: T): void;
  get(source: Input): T;
  /** How many bytes there are at least. */
  readonly least: number;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function bigint(size: number): Layout<bigint> {
  return {
    least: size,
    put(out, value) {
      if (typeof value !== "bigint" || value < 0n || value >> BigInt(8 * size)) throw new RangeError(`${String(value)} is no u${8 * size}`);
      for (let i = 0; i < size; i++) out.push(Number((value >> BigInt(8 * i)) & 0xffn));
    },
    get(source) {
      return source.take(size).reduceRight((n, byte) => (n << 8n) | BigInt(byte), 0n);
    },
  };
}

function integer(size: number): Layout<number> {
  const of = bigint(size);
  return {
    least: size,
    put(out, value) {
      if (!Number.isInteger(value)) throw new RangeError(`${String(value)} is no u${8 * size}`);
      of.put(out, BigInt(value));
    },
    get: (source) => Number(of.get(source)),
  };
}

export const u8 = integer(1);
export const u32 = integer(4);
export const u64 = bigint(8);

/** A u128 that is not 0. */
export const u128AboveZero = checked(bigint(16), (value) => (value === 0n ? "is 0, which is none" : ""));

/** A layout of which not all values are some. */
function checked<T>(of: Layout<T>, wrong: (value: T) => string): Layout<T> {
  return {
    least: of.least,
    put(out, value) {
      const why = wrong(value);
      if (why) throw new RangeError(why);
      of.put(out, value);
    },
    get(source) {
      const at = source.at;
      const value = of.get(source);
      const why = wrong(value);
      if (why) throw new Malformed(at, why);
      return value;
    },
  };
}

export function bits(of: Layout<number>, known: number): Layout<number> {
  return checked(of, (value) => (value & ~known ? `0x${value.toString(16)} has other bits than 0x${known.toString(16)}` : ""));
}

/** Bytes as they are given, to whatever they are: not those of a text. */
function push(out: Output, bytes: Uint8Array): void {
  if (!(bytes instanceof Uint8Array)) throw new RangeError("is no Uint8Array");
  for (const byte of bytes) out.push(byte);
}

export function fixed(size: number): Layout<Uint8Array> {
  return {
    least: size,
    put(out, value) {
      if (value?.length !== size) throw new RangeError(`${value?.length ?? "no"} bytes where ${size} are wanted`);
      push(out, value);
    },
    get: (source) => source.take(size),
  };
}

function count(source: Input, least: number): number {
  const at = source.at;
  const n = u32.get(source);
  if (n * Math.max(least, 1) > source.left) throw new Malformed(at, `counts ${n}, which the ${source.left} bytes that follow can't hold`);
  return n;
}

export const data: Layout<Uint8Array> = {
  least: 4,
  put(out, value) {
    if (!(value instanceof Uint8Array)) throw new RangeError("is no Uint8Array");
    u32.put(out, value.length);
    push(out, value);
  },
  get: (source) => source.take(count(source, 1)),
};

/** A secret of 32 bytes behind their count. */
export const secret = checked(data, (value) => (value.length === 32 ? "" : `${value.length} bytes instead of 32`));

/** All that is left. */
export const raw: Layout<Uint8Array> = { least: 0, put: push, get: (source) => source.take(source.left) };

export const text: Layout<string> = {
  least: 4,
  put(out, value) {
    if (typeof value !== "string") throw new RangeError("is no string");
    if (!value.isWellFormed()) throw new RangeError("has half of a surrogate pair");
    data.put(out, new TextEncoder().encode(value));
  },
  get(source) {
    const at = source.at;
    const bytes = data.get(source);
    try {
      return utf8.decode(bytes);
    } catch {
      throw new Malformed(at + 4, "is not UTF-8");
    }
  },
};

/** What is wrong with a name of at most so many bytes. */
export function wrongName(value: string, most: number): string {
  return value === "" || new TextEncoder().encode(value).length > most || value.includes("\0") ? `a name has 1 to ${most} bytes, and no zero` : "";
}

export function name(most: number): Layout<string> {
  return checked(text, (value) => wrongName(value, most));
}

function flag(source: Input, what: string): boolean {
  const at = source.at;
  const byte = u8.get(source);
  if (byte > 1) throw new Malformed(at, `${byte} is no ${what}`);
  return byte === 1;
}

export const boolean: Layout<boolean> = {
  least: 1,
  put(out, value) {
    if (typeof value !== "boolean") throw new RangeError("is no boolean");
    out.push(Number(value));
  },
  get: (source) => flag(source, "bool"),
};

export function option<T>(of: Layout<T>): Layout<T | undefined> {
  return {
    least: 1,
    put(out, value) {
      out.push(Number(value !== undefined));
      if (value !== undefined) of.put(out, value);
    },
    get: (source) => (flag(source, "option") ? of.get(source) : undefined),
  };
}

export function vec<T>(of: Layout<T>): Layout<T[]> {
  return {
    least: 4,
    put(out, value) {
      if (!Array.isArray(value)) throw new RangeError("is no array");
      u32.put(out, value.length);
      for (const one of value) of.put(out, one);
    },
    get: (source) => Array.from({ length: count(source, of.least) }, () => of.get(source)),
  };
}

/** One of some words, which is a byte. */
export function choice<T extends string>(typeName: string, ...words: T[]): Type<T> & Layout<T> {
  return type(typeName, {
    least: 1,
    put(out, value) {
      if (!words.includes(value)) throw new RangeError(`${String(value)} is none of ${words.join(", ")}`);
      out.push(words.indexOf(value));
    },
    get(source) {
      const at = source.at;
      const byte = u8.get(source);
      const word = words[byte];
      if (word === undefined) throw new Malformed(at, `${byte} is no ${typeName}`);
      return word;
    },
  });
}

type Fields<T> = { [F in keyof T]-?: Layout<T[F]> };

/** Fields, one after the other. */
export function struct<T extends object>(typeName: string, fields: Fields<T>): Type<T> & Layout<T> {
  return type(typeName, record(typeName, fields));
}

function record<T extends object>(where: string, fields: Fields<T>): Layout<T> {
  const all = Object.entries(fields) as [keyof T & string, Layout<unknown>][];
  return {
    least: all.reduce((sum, [, of]) => sum + of.least, 0),
    put(out, value) {
      for (const [field, of] of all) {
        try {
          of.put(out, value[field]);
        } catch (e) {
          throw e instanceof RangeError ? new RangeError(`${where}.${field}: ${e.message}`) : e;
        }
      }
    },
    get(source) {
      const value: Partial<Record<keyof T, unknown>> = {};
      for (const [field, of] of all) {
        const one = of.get(source);
        if (one !== undefined) value[field] = one;
      }
      return value as T;
    },
  };
}

type Arms<T extends { type: string }> = { [A in T["type"]]: Fields<Omit<Extract<T, { type: A }>, "type">> };

/** One of some records, behind a byte that says which. */
export function variants<T extends { type: string }>(typeName: string, arms: Arms<T>): Type<T> & Layout<T> {
  const names = Object.keys(arms) as T["type"][];
  const layouts = names.map((arm) => record<object>(`${typeName}.${arm}`, arms[arm] as Fields<object>));
  return type(typeName, {
    least: 1 + Math.min(...layouts.map((of) => of.least)),
    put(out, value) {
      const i = names.indexOf(value.type);
      const of = layouts[i];
      if (!of) throw new RangeError(`${String(value.type)} is no type of a ${typeName}, but one of ${names.join(", ")}`);
      out.push(i);
      of.put(out, value);
    },
    get(source) {
      const at = source.at;
      const i = u8.get(source);
      const of = layouts[i];
      if (!of) throw new Malformed(at, `${i} is no ${typeName}`);
      return { type: names[i], ...of.get(source) } as T;
    },
  });
}

function type<T>(typeName: string, of: Layout<T>): Type<T> & Layout<T> {
  return {
    ...of,
    name: typeName,
    encode(value) {
      const out: Output = [];
      of.put(out, value);
      return Uint8Array.from(out);
    },
    decode(bytes) {
      const source = new Input(bytes);
      const value = of.get(source);
      if (source.left) throw new Malformed(source.at, `${source.left} bytes follow the value`);
      return value;
    },
  };
}
