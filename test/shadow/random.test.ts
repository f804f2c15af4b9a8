import { expect, test } from 'vitest';
import { startLiveServer } from '../replay/live-server.js';
import { mirrored, second } from './mirrored.js';
import { driveAtRandom } from './random-traffic.js';

const seed = Number(process.env.SOAK_SEED ?? 7);
const minutes = Number(process.env.SOAK_SHADOW_MINUTES ?? 0);

test('nothing differs between servers of one line, whatever clients do beside one another', {
  timeout: (minutes + 2) * 60_000,
}, async () => {
  for (const kind of ['core', 'second server'] as const) {
    const end = Date.now() + (minutes * 60_000) / 2;
    const goesOn = (sent: number) => (minutes === 0 ? sent < 300 : Date.now() < end);
    const [target, other] = [await startLiveServer('current'), await startLiveServer('current')];
    const shadow = kind === 'core' ? { line: '0.2.96' } : second(other.origin, { writes: true });
    const mirror = await mirrored(target.origin, { shadow });
    const sent = await driveAtRandom(mirror.url, { seed, lanes: 4, goesOn, ready: () => mirror.within(500) });
    await mirror.settled();
    const { differences, notes, compared, requests } = mirror.report();
    expect({ kind, differences, notes, failures: mirror.failures }).toEqual({
      kind,
      differences: [],
      notes: [],
      failures: [],
    });
    expect(requests).toBe(sent);
    expect(compared).toBeGreaterThan(sent / 8);
  }
});
