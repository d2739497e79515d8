import { BinaryReader } from "@bufbuild/protobuf/wire";

/** The codes of gRPC. */
export const codes = {
  1: "Cancelled",
  2: "Unknown",
  3: "InvalidArgument",
  4: "DeadlineExceeded",
  5: "NotFound",
  6: "AlreadyExists",
  7: "PermissionDenied",
  8: "ResourceExhausted",
  9: "FailedPrecondition",
  10: "Aborted",
  11: "OutOfRange",
  12: "Unimplemented",
  13: "Internal",
  14: "Unavailable",
  15: "DataLoss",
} as const;

export type Code = (typeof codes)[keyof typeof codes];

/**
 * A call that failed. Branch on {@link code}, or on {@link kind} where that says more; never on the
 * text. rpc/README.md, "Errors", lists the kinds and their fields.
 *
 * - `Aborted`: somebody else was first; what was expected did not hold, and nothing was done.
 * - `ResourceExhausted`: a quota, a limit or the disk is full.
 * - `Unavailable`, `DeadlineExceeded`: a write may or may not have been made.
 * - `OutOfRange`: what was asked for is no longer kept.
 * - `Internal`: a defect of the daemon, whose log has more under the field `incident`.
 * - `DataLoss`: the store is damaged.
 */
export class StoaError extends Error {
  override readonly name = "StoaError";

  constructor(
    readonly code: Code,
    message: string,
    /** What sort of refusal it is, such as `CONFLICT` or `KV_QUOTA`; empty: not one of Stoa's. */
    readonly kind: string = "",
    /** What the refusal is about, such as `column` and `key`; keys are in hex, numbers in decimal. */
    readonly fields: Readonly<Record<string, string>> = {},
  ) {
    super(kind ? `${kind}: ${message}` : message);
  }
}

/** Whether something is a StoaError, of that code or kind if one is given. */
export function isStoaError(e: unknown, codeOrKind?: Code | (string & {})): e is StoaError {
  return e instanceof StoaError && (codeOrKind === undefined || e.code === codeOrKind || e.kind === codeOrKind);
}

const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";

/** The error of a code of gRPC, a text, and a google.rpc.Status, which may have an ErrorInfo. */
export function errorOf(code: number, text: string, status?: Uint8Array): StoaError {
  let kind = "";
  const fields: Record<string, string> = {};
  const strings = (message: Uint8Array) => parse(message).map(([n, b]) => [n, new TextDecoder().decode(b)] as const);
  for (const [number, value] of status ? parse(status) : []) {
    const detail = number === 3 ? parse(value) : [];
    const [type, info] = [detail.find(([n]) => n === 1)?.[1], detail.find(([n]) => n === 2)?.[1]];
    if (!type || !info || new TextDecoder().decode(type) !== ERROR_INFO) continue;
    for (const [n, b] of parse(info)) {
      if (n === 1) kind = new TextDecoder().decode(b);
      if (n === 3) {
        const entry = new Map(strings(b));
        fields[entry.get(1) ?? ""] = entry.get(2) ?? "";
      }
    }
  }
  return new StoaError((codes as Record<number, Code>)[code] ?? "Unknown", text, kind, fields);
}

/** The fields of a message that are bytes. */
function parse(message: Uint8Array): [number, Uint8Array][] {
  const reader = new BinaryReader(message);
  const out: [number, Uint8Array][] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === 2) out.push([number, reader.bytes()]);
    else reader.skip(type);
  }
  return out;
}
