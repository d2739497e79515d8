// A session in Node: put, get, scan, and a typed error.
//
// smoke.cjs SOCKET PROTO_DIR, with @grpc/grpc-js and @grpc/proto-loader where
// NODE_PATH says.
const assert = require("node:assert");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const [socket, protos] = process.argv.slice(2);
const { stoa } = grpc.loadPackageDefinition(
  loader.loadSync("stoa/v1/store.proto", { includeDirs: [protos], longs: String, keepCase: true }),
);
const store = new stoa.v1.Store("unix:" + socket, grpc.credentials.createInsecure());
const GENERIC = 10, GROUP = 11;
const deadline = () => ({ deadline: Date.now() + 10_000 });

const call = (method, request) =>
  new Promise((resolve, reject) =>
    store[method](request, new grpc.Metadata(), deadline(), (err, res) => (err ? reject(err) : resolve(res))),
  );

function uvarint(n) {
  const out = [];
  for (; n >= 0x80; n >>>= 7) out.push((n & 0x7f) | 0x80);
  return Buffer.from([...out, n]);
}
const part = (b) => Buffer.concat([uvarint(b.length), b]);

function puts(rows) {
  const head = Buffer.alloc(12);
  head.writeUInt32LE(rows.length, 8);
  const ops = rows.flatMap(([column, key, value]) => [Buffer.from([5, column]), part(key), part(value)]);
  return { ops: Buffer.concat([head, ...ops]) };
}

function* entries(page) {
  let at = 0;
  const cut = () => {
    let n = 0, shift = 0, b;
    do {
      b = page[at++];
      n |= (b & 0x7f) << shift;
      shift += 7;
    } while (b >= 0x80);
    at += n;
    return page.subarray(at - n, at).toString("latin1");
  };
  while (at < page.length) yield [cut(), cut()];
}

async function main() {
  const scope = "stoa.test".padEnd(16, "\0") + "node";
  const rows = Array.from({ length: 2000 }, (_, i) => [scope + String(i).padStart(4, "0"), "v" + i]);
  await call("Apply", puts(rows.map(([k, v]) => [GENERIC, Buffer.from(k), Buffer.from(v)])));
  const got = await call("Get", { column: GENERIC, key: Buffer.from(rows[7][0]) });
  assert.equal(got.value.toString(), "v7");
  const seen = [];
  for await (const page of store.Scan({ column: GENERIC, prefix: Buffer.from(scope) }, deadline()))
    seen.push(...entries(page.entries));
  assert.deepEqual(seen, rows);
  await assert.rejects(call("Apply", puts([[GROUP, Buffer.from([0x20, 1, 2]), Buffer.alloc(0)]])), (err) => {
    assert.equal(err.code, grpc.status.INVALID_ARGUMENT);
    const details = err.metadata.get("grpc-status-details-bin")[0].toString("latin1");
    assert.match(details, /stoa.*KEY|KEY.*stoa/s);
    assert.match(details, /GroupMeta/);
    return true;
  });
  store.close();
  console.log("node: ok");
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
