// The programs of README.md are of the right types, and run, one after the other, against a daemon.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { started } from "./daemon.js";

const run = promisify(execFile);

test("README", async (t) => {
  const { daemon } = await started(t);
  const root = join(import.meta.dirname, "../..");
  const dir = join(root, "dist/readme"); // within the package, which so finds itself by its name
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const programs = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```ts\n(.*?)```/gs)].map((m) => m[1]!);
  assert.equal(programs.length, 3);
  programs.forEach((program, i) => writeFileSync(join(dir, `program${i}.ts`), program.replace("stoa-data/stoa.sock", daemon.socket)));
  writeFileSync(
    join(dir, "tsconfig.json"),
    JSON.stringify({ extends: "../../tsconfig.json", compilerOptions: { declaration: false, rootDir: ".", outDir: "." }, include: ["*.ts"], exclude: [] }),
  );
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", dir]).catch((e: { stdout: string }) => assert.fail(e.stdout));
  for (const i of programs.keys()) await run(process.execPath, [join(dir, `program${i}.js`)]);
});
