// Work is a stream of messages, and a durable consumer hands each to one of its workers, again where
// one fails or goes away without a word. So a message may be done twice, and its effects should be
// ones that may. What fails too often is set aside as a dead letter, for people.
//
//   node queue.js SOCKET

import { Client } from "stoadb";
import type { StreamDelivery } from "stoadb/messages";

const [socket = "stoa-data/stoa.sock"] = process.argv.slice(2);
const client = new Client(socket);
const of = { tenant: new TextEncoder().encode("acme"), stream: "mail" };
const consumer = { ...of, consumer: "senders" };

await client.stream.create({ ...of, limits: { entries: 10_000n } });
await client.stream.createConsumer({ ...of, config: { name: "senders", ackWaitMs: 60_000n, maxDeliver: 3n } });
for (const to of ["ann", "bob"]) {
  await client.stream.publish({ ...of, messages: [{ subject: `mail.${to}`, payload: new TextEncoder().encode(`hello ${to}`) }] });
}

function send(delivery: StreamDelivery): void {
  if (delivery.subject === "mail.bob" && delivery.deliveries === 1n) throw new Error("no route to bob");
  console.log("sent", new TextDecoder().decode(delivery.payload));
}

// Any number of workers do this, each with a client of its own.
for (let found = true; found; ) {
  found = false;
  for await (const { deliveries } of client.stream.fetch({ ...consumer, limit: 1 })) {
    // waitMs: for the next
    for (const delivery of deliveries) {
      found = true;
      const { number, token } = delivery;
      try {
        send(delivery);
        await client.stream.ack({ ...consumer, refs: [{ number, token }] });
      } catch (e) {
        console.log("failed:", (e as Error).message);
        await client.stream.nak({ ...consumer, number, token, reason: String(e) }); // again at once
      }
    }
  }
}
client.close();
