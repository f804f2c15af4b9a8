import dnsPacket from 'dns-packet';
import { afterEach, expect, it } from 'vitest';
import { createConnections } from '../../src/dns/connections.js';
import { HEADER_BYTES } from '../../src/dns/message.js';
import { StreamUpstream } from '../../src/dns/stream-upstream.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { cleanUp, later, until } from './harness.js';
import { addressAnswer, runPlain } from './servers.js';

afterEach(cleanUp);

/** An upstream over TCP; each question ends with a signal of its own. */
async function staged(...args: Parameters<typeof runPlain>) {
  const server = await runPlain(...args);
  later(() => server.close());
  const connections = createConnections({
    outbound: null,
    addressesOf: async () => [],
    reserved: () => null,
    connectTimeout: 20_000,
    clock: systemClock,
  });
  const upstream = new StreamUpstream({ host: '127.0.0.1', port: server.port, isTls: false }, connections);
  later(async () => upstream.close());
  const ask = (name: string) => {
    const bytes = dnsPacket.encode({ questions: [{ type: 'A', name }] }).subarray(HEADER_BYTES);
    const { signal, abort } = abortable();
    const answer = upstream.ask({ bytes, dnssecOk: false, checkingDisabled: false }, signal);
    answer.catch(() => undefined);
    return { answer, abort };
  };
  return { server, upstream, ask };
}

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error('it does not answer')) };
}

it('a connection on which nothing comes is given up with the first question that is', async () => {
  const { server, ask } = await staged((query) => (server.connections() === 1 ? null : addressAnswer(query)));
  const [first, second] = [ask('first.example'), ask('second.example')];
  await until(() => server.asked.length === 2, 'both are asked');
  first.abort();
  await expect(first.answer).rejects.toThrow('it does not answer');
  expect((await second.answer).message.length).toBeGreaterThan(HEADER_BYTES);
  expect((await ask('third.example').answer).message.length).toBeGreaterThan(HEADER_BYTES);
  expect(server.connections()).toBe(2);
});

it('questions that were given up before they were asked keep no connection from others', async () => {
  let isSilent = false;
  const { server, ask } = await staged((query) => (isSilent ? null : addressAnswer(query)), { mostAnswers: 1 });
  // From now on each connection gets one question.
  await Promise.allSettled(['a', 'b', 'c'].map((name) => ask(`${name}.example`).answer));
  isSilent = true;
  const before = server.asked.length;
  const all = Array.from({ length: 60 }, (_, index) => ask(`${index}.example`));
  await until(() => server.asked.length === before + 16, 'every connection is taken');
  for (const { abort } of all.toReversed()) abort();
  await Promise.allSettled(all.map(({ answer }) => answer));
  isSilent = false;
  expect((await ask('later.example').answer).message.length).toBeGreaterThan(HEADER_BYTES);
  expect(server.asked).toHaveLength(before + 17);
});

it('a question that waits for a connection when its upstream is closed opens none', async () => {
  const { server, upstream, ask } = await staged(() => null, { mostAnswers: 1 });
  const first = ask('first.example');
  await until(() => server.asked.length === 1, 'it is asked');
  upstream.close();
  await expect(first.answer).rejects.toThrow('it is asked no more');
  await expect(ask('later.example').answer).rejects.toThrow('it is asked no more');
  expect(server.connections()).toBe(1);
});
