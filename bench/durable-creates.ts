import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { inTurns, type Measure, medianRatio, timeText } from './measure.js';
import { createUser } from './requests.js';
import { startCommand } from './servers.js';
import { median } from './statistics.js';

/** So many keys, so many creates a turn, and how many times as long as the bare write one may take. */
interface Size {
  readonly keys: number;
  readonly creates: number;
  readonly rounds: number;
  readonly bar: number;
}

const SIZES: readonly Size[] = [
  { keys: 1_000, creates: 20, rounds: 25, bar: 2.5 },
  { keys: 100_000, creates: 3, rounds: 15, bar: 1.5 },
];

/** Writes the bytes as durably as a file can be replaced, and no more: the least that a create has to wait for. */
async function replaceBare(path: string, content: Buffer): Promise<void> {
  const temporary = await open(`${path}.tmp`, 'w', 0o600);
  try {
    // In one piece, as the gateway does: `writeFile` makes pieces of 512 KiB.
    for (let at = 0; at < content.length; ) at += (await temporary.write(content, at)).bytesWritten;
    await temporary.sync();
  } finally {
    await temporary.close();
  }
  await rename(`${path}.tmp`, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Milliseconds for each of so many calls, one after the other. */
async function timeEach(count: number, call: () => Promise<void>): Promise<number> {
  const began = performance.now();
  for (let i = 0; i < count; i += 1) await call();
  return (performance.now() - began) / count;
}

/** Creates one after the other beside bare writes of the file's bytes to the same disk. */
export const durableCreates: Measure = {
  name: 'create-durable',
  async run(bench) {
    const rows = [];
    for (const { keys, creates, rounds, bar } of SIZES) {
      const path = await bench.file(keys);
      const gateway = await bench.using(startCommand(path));
      const content = await readFile(path);
      const ours = async () => {
        const order = { connections: 1, requests: createUser, until: { each: creates } };
        return (await bench.load.put(gateway, order)).elapsed / creates;
      };
      const bare = () => timeEach(creates, () => replaceBare(`${path}.bare`, content));
      // The first write after a start keeps a version of the file.
      await inTurns(2, ours, bare);
      const pairs = await inTurns(bench.quick ? 1 : rounds, ours, bare);
      const ratio = medianRatio(pairs, (create, write) => create / write);
      rows.push({
        measure: `one POST /users after another at ${keys.toLocaleString('en-US')} keys against writing, syncing and renaming the same bytes`,
        gateway: timeText(median(pairs.gateway)),
        against: timeText(median(pairs.against)),
        value: `${ratio.toFixed(2)} ×`,
        bar: `≤ ${bar} ×`,
        met: ratio <= bar,
      });
      await gateway.child.stop();
    }
    return rows;
  },
};
