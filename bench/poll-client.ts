/** Panels that poll the list of keys: a process of its own that says how old the lists were that it was given. */
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from './statistics.js';

/** What the panels are asked to do. Times are in milliseconds. */
export interface PollOrder {
  readonly port: number;
  readonly token: string;
  readonly panels: number;
  readonly every: number;
  readonly milliseconds: number;
}

/** How old lists were when their first byte came, by what the server says of when it made them. Milliseconds. */
export interface PollResult {
  readonly lists: number;
  readonly p50: number;
  readonly p99: number;
  readonly oldest: number;
}

const MADE_AT = /"access_key":"made-at".*?"bytes_up":(\d+)/;

async function poll(order: PollOrder): Promise<PollResult> {
  const agent = new Agent({ keepAlive: true });
  const ages: number[] = [];
  const end = performance.now() + order.milliseconds;
  const panels = Array.from({ length: order.panels }, async (_, panel) => {
    // Panels were not all opened at once.
    await sleep((panel * order.every) / order.panels);
    for (let next = performance.now(); next < end; next += order.every) {
      await sleep(Math.max(0, next - performance.now()));
      ages.push(await ageOfList(order, agent));
    }
  });
  await Promise.all(panels);
  agent.destroy();
  const [p50 = 0, p99 = 0, oldest = 0] = [0.5, 0.99, 1].map((share) => quantile(ages, share));
  return { lists: ages.length, p50, p99, oldest };
}

function ageOfList({ port, token }: PollOrder, agent: Agent): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const asked = get({ host: '127.0.0.1', port, path: '/panel/api/users', headers, agent }, (answer) => {
      let age: number | null = null;
      answer.on('data', (chunk: Buffer) => {
        const now = Date.now();
        age ??= now - Number(MADE_AT.exec(chunk.toString('latin1', 0, 1000))?.[1]);
      });
      answer.on('error', reject);
      answer.on('end', () => {
        if (age === null || Number.isNaN(age)) reject(new Error(`a list without its time, ${answer.statusCode}`));
        else resolve(age);
      });
    });
    asked.on('error', reject);
  });
}

process.on('message', (order: PollOrder) => {
  poll(order).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ problem: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ready: true });
