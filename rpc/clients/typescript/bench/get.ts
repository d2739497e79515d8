// Measures a get, for bench/clients: of a row at a socket, so many times.

import { Client } from "../src/index.js";
import { Column } from "../src/messages.js";

const [socket = "", key = "", calls = "1"] = process.argv.slice(2);
const client = new Client(socket);
const request = { column: Column.ALIAS, key: new Uint8Array(Buffer.from(key, "hex")) };
for (let i = 0; i < Number(calls) / 10; i++) await client.store.get(request);
const times: number[] = [];
const before = process.cpuUsage();
for (let i = 0; i < Number(calls); i++) {
  const begun = process.hrtime.bigint();
  const { value } = await client.store.get(request);
  times.push(Number(process.hrtime.bigint() - begun));
  if (value === undefined) throw new Error("no value");
}
const used = process.cpuUsage(before);
client.close();
times.sort((a, b) => a - b);
console.log(JSON.stringify({ p50_us: times[times.length >> 1]! / 1000, cpu_us: (used.user + used.system) / Number(calls) }));
