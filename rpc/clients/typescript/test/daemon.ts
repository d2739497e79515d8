// A daemon for tests: that of STOA, or of bin/stoa of the repository.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, isStoaError } from "../src/index.js";

export const repository = process.env["STOA_REPOSITORY"] ?? resolve(import.meta.dirname, "../../../../..");

export function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(repository, path), "utf8")) as T;
}

/** A daemon, which can be stopped and started anew. */
export class Daemon {
  readonly #dir = mkdtempSync(join(tmpdir(), "stoa-"));
  readonly socket = join(this.#dir, "data/stoa.sock");
  #process: ChildProcess | undefined;

  constructor(readonly engine: "mem" | "rocks" = "mem") {}

  async start(): Promise<this> {
    const log = openSync(join(this.#dir, "log"), "a");
    const program = process.env["STOA"] ?? join(repository, "bin/stoa");
    const daemon = spawn(program, ["serve", "--engine", this.engine, "--dir", join(this.#dir, "data")], { stdio: ["ignore", log, log] });
    this.#process = daemon;
    for (const until = Date.now() + 60_000; Date.now() < until && daemon.exitCode === null; await sleep(10)) {
      const client = new Client(this.socket);
      try {
        await client.admin.status();
        return this;
      } catch (e) {
        if (!isStoaError(e, "Unavailable")) throw e;
      } finally {
        client.close();
      }
    }
    throw new Error(readFileSync(join(this.#dir, "log"), "utf8"));
  }

  async stop(): Promise<void> {
    const daemon = this.#process;
    if (!daemon || daemon.exitCode !== null) return;
    const ended = new Promise((done) => daemon.once("exit", done));
    daemon.kill();
    await ended;
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.#dir, { recursive: true });
  }
}

/** A daemon that runs, and a client of it, until a test has ended. */
export async function started(t: TestContext, engine?: "rocks"): Promise<{ daemon: Daemon; client: Client }> {
  const daemon = new Daemon(engine);
  t.after(() => daemon.close());
  await daemon.start();
  const client = new Client(daemon.socket);
  t.after(() => client.close());
  return { daemon, client };
}
