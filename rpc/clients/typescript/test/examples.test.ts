// The programs of examples run.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { started } from "./daemon.js";

test("queue", async (t) => {
  const { daemon } = await started(t);
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, "../examples/queue.js"), daemon.socket]);
  assert.equal(stdout, "sent hello ann\nfailed: no route to bob\nsent hello bob\n");
});
