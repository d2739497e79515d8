import {
  create,
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { plain } from "./borsh.js";
import { errorOf, StoaError } from "./errors.js";
import * as services from "./services.js";

export interface CallOptions {
  /** Milliseconds that the call may take, at the daemon too. */
  timeout?: number;
  /** Ends the call when it is aborted; what was asked for may or may not have been done. */
  signal?: AbortSignal;
}

export interface ClientOptions {
  /** Milliseconds that a call may take which does not say; 60,000. Streams take what they take. */
  timeout?: number;
}

/** Requests of a stream. */
export type Requests<I extends DescMessage> = Iterable<MessageInitShape<I>> | AsyncIterable<MessageInitShape<I>>;

/** The methods of a service, which take the fields of their request. */
export type Methods<S extends DescService> = {
  [M in keyof S["method"]]: S["method"][M] extends DescMethodUnary<infer I, infer O>
    ? (request?: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : S["method"][M] extends DescMethodServerStreaming<infer I, infer O>
      ? (request?: MessageInitShape<I>, options?: CallOptions) => AsyncIterable<MessageShape<O>>
      : S["method"][M] extends DescMethodClientStreaming<infer I, infer O>
        ? (requests: Requests<I>, options?: CallOptions) => Promise<MessageShape<O>>
        : S["method"][M] extends DescMethodBiDiStreaming<infer I, infer O>
          ? (requests: Requests<I>, options?: CallOptions) => AsyncIterable<MessageShape<O>>
          : never;
};

type Services = { readonly [N in keyof typeof services]: Methods<(typeof services)[N]> };

const MAX_MESSAGE = 33 << 20; // bytes

/** A client, with an attribute for each service of the protocol. */
export interface Client extends Services {}

/**
 * A connection to a daemon, made when it is first needed, and again when it was lost. A program
 * needs one. A call that is refused since the daemon is busy was not begun, and is made again
 * until its time is over.
 */
export class Client {
  readonly #grpc: grpc.Client;
  readonly #timeout: number;

  /** `path` is the socket of the daemon. */
  constructor(path: string, options: ClientOptions = {}) {
    this.#timeout = options.timeout ?? 60_000;
    this.#grpc = new grpc.Client(`unix:${path}`, grpc.credentials.createInsecure(), {
      "grpc.max_receive_message_length": MAX_MESSAGE,
      "grpc.max_send_message_length": MAX_MESSAGE,
      "grpc.initial_reconnect_backoff_ms": 20,
      "grpc.max_reconnect_backoff_ms": 250, // the daemon is on this machine
      "grpc.use_local_subchannel_pool": 1,
    });
    for (const [name, service] of Object.entries(services)) {
      Object.defineProperty(this, name, { value: this.#service(service), enumerable: true });
    }
  }

  /** Ends the connection, when the calls that are under way have ended. */
  close(): void {
    this.#grpc.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #service(service: DescService): Record<string, unknown> {
    const methods: Record<string, unknown> = {};
    for (const of of service.methods) {
      const method: Method = {
        path: `/${service.typeName}/${of.name}`,
        write: (request) => Buffer.from(toBinary(of.input, create(of.input, request as MessageInitShape<DescMessage>))),
        read: (answer) => fromBinary(of.output, plain(answer)),
      };
      methods[of.localName] = {
        unary: (request: object = {}, options: CallOptions = {}) => this.#unary(method, request, options),
        server_streaming: (request: object = {}, options: CallOptions = {}) => {
          const until = deadline(options.timeout);
          return answers(
            this.#grpc.makeServerStreamRequest(method.path, method.write, method.read, request, new grpc.Metadata(), until),
            until,
            options.signal,
          );
        },
        client_streaming: (requests: Requests<DescMessage>, options: CallOptions = {}) => this.#clientStream(method, requests, options),
        bidi_streaming: (requests: Requests<DescMessage>, options: CallOptions = {}) => {
          const until = deadline(options.timeout);
          const call = this.#grpc.makeBidiStreamRequest(method.path, method.write, method.read, new grpc.Metadata(), until);
          return answers(call, until, options.signal, send(call, requests));
        },
      }[of.methodKind];
    }
    return methods;
  }

  async #unary(method: Method, request: object, options: CallOptions): Promise<unknown> {
    const until = deadline(options.timeout ?? this.#timeout);
    for (let pause = 1; ; pause = Math.min(2 * pause, 100)) {
      try {
        return await this.#once(
          (done) => this.#grpc.makeUnaryRequest(method.path, method.write, method.read, request, new grpc.Metadata(), until, done),
          until,
          options.signal,
        );
      } catch (e) {
        const busy = e instanceof StoaError && e.kind === "BUSY";
        if (!busy || Date.now() + pause >= until.deadline!) throw e;
      }
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
    }
  }

  #clientStream(method: Method, requests: Requests<DescMessage>, options: CallOptions): Promise<unknown> {
    let sent: Promise<void> | undefined;
    const until = deadline(options.timeout);
    const begin = (done: grpc.requestCallback<unknown>) => {
      const call = this.#grpc.makeClientStreamRequest(method.path, method.write, method.read, new grpc.Metadata(), until, done);
      sent = send(call, requests);
      return call;
    };
    const answer = this.#once(begin, until, options.signal);
    // What the requests throw says more than that the call was cancelled.
    return sent!.then(
      () => answer,
      (e: unknown) =>
        answer.then(
          () => Promise.reject(e),
          () => Promise.reject(e),
        ),
    );
  }

  #once(begin: (done: grpc.requestCallback<unknown>) => Cancelled, until: Deadline, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call = begin((failure, answer) => {
        stop();
        if (failure) reject(toError(failure, until));
        else resolve(answer);
      });
      const stop = onAbort(signal, call);
    });
  }
}

interface Method {
  path: string;
  write: (request: object) => Buffer;
  read: (answer: Buffer) => unknown;
}

interface Cancelled {
  cancel(): void;
}

interface Deadline {
  deadline?: number;
}

function deadline(timeout?: number): Deadline {
  return timeout === undefined ? {} : { deadline: Date.now() + timeout };
}

/** Cancels a call when a signal is aborted, until what it returns is called. */
function onAbort(signal: AbortSignal | undefined, call: Cancelled): () => void {
  const cancel = () => call.cancel();
  if (signal?.aborted) cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  return () => signal?.removeEventListener("abort", cancel);
}

/** Sends requests, as fast as the daemon takes them, until it has ended the call. */
async function send(
  call: (grpc.ClientWritableStream<object> | grpc.ClientDuplexStream<object, unknown>) & Cancelled,
  requests: Requests<DescMessage>,
): Promise<void> {
  let ended = false;
  let wake = () => {};
  const awake = () => wake();
  call.on("drain", awake);
  call.on("status", () => {
    ended = true;
    awake();
  });
  call.on("error", awake); // which the answer has too
  try {
    for await (const request of requests) {
      if (ended) return;
      if (!call.write(request)) await new Promise<void>((resolve) => (wake = resolve));
    }
    if (!ended) call.end();
  } catch (e) {
    call.cancel();
    throw e;
  }
}

/** What a daemon answers, until it ends or who reads it leaves. */
async function* answers(
  call: grpc.ClientReadableStream<unknown>,
  until: Deadline,
  signal?: AbortSignal,
  sent?: Promise<void>,
): AsyncGenerator<unknown, void, undefined> {
  let failure: unknown;
  sent?.catch((e: unknown) => (failure = e));
  const stop = onAbort(signal, call);
  try {
    yield* call;
    if (failure !== undefined) throw failure;
  } catch (e) {
    throw failure ?? toError(e, until);
  } finally {
    stop();
    call.cancel();
  }
}

function toError(e: unknown, until: Deadline): unknown {
  const { code, details, metadata } = e as Partial<grpc.ServiceError>;
  if (!(e instanceof Error) || typeof code !== "number") return e;
  // A daemon that is first to see that the time is over resets the call, which reads as cancelled.
  if (code === grpc.status.CANCELLED && until.deadline !== undefined && Date.now() >= until.deadline) {
    return errorOf(grpc.status.DEADLINE_EXCEEDED, "the call took longer than its timeout");
  }
  const status = metadata?.get("grpc-status-details-bin")[0];
  return errorOf(code, details ?? e.message, status instanceof Uint8Array ? status : undefined);
}
