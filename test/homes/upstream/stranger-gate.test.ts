import { describe, expect, it } from 'vitest';
import { DomainError } from '../../../src/core/errors.js';
import { createStrangerGate } from '../../../src/homes/upstream/stranger-gate.js';
import { held, staged } from './staged.js';

describe('calls to a server that need no credential', () => {
  it('are two at once, fifty wait, and more are refused with the seconds to wait', async () => {
    const gate = createStrangerGate();
    const begun: (() => void)[] = [];
    const call = () => new Promise<string>((resolve) => begun.push(() => resolve('done')));
    const taken = Array.from({ length: 52 }, () => gate.take(call));
    await expect(gate.take(call)).rejects.toMatchObject({ code: 'tooManyWaiting', retryAfter: 5 });
    expect(begun).toHaveLength(2);
    for (let at = 0; at < 52; at += 1) {
      await expect.poll(() => begun.length).toBeGreaterThan(at);
      expect(begun.length - at).toBeLessThanOrEqual(2);
      begun[at]?.();
    }
    expect(await Promise.all(taken)).toEqual(Array.from({ length: 52 }, () => 'done'));
  });

  it('give their place to the next one when they fail', async () => {
    const gate = createStrangerGate();
    const fails = () => Promise.reject(new DomainError('upstreamAway'));
    for (let i = 0; i < 5; i += 1) await expect(gate.take(fails)).rejects.toThrow('upstreamAway');
    expect(await gate.take(async () => 'done')).toBe('done');
  });

  it('leave callers their connections: audit entries wait while a key is read', async () => {
    const { world, server, backend } = await staged({
      before: (fake) => fake.keys.set('a', held('a')),
      trip: (call) => (call === 'addAudit' ? { there: 10_000, back: 1 } : { there: 1, back: 1 }),
    });
    const entry = { eventEn: 'a', eventRu: 'b', success: true };
    const posted = Array.from({ length: 60 }, async () => backend.audit?.add(entry));
    const ends = Promise.allSettled(posted);
    const read = backend.live?.key('a');
    await world.pass(100);
    expect(await read).toMatchObject({ accessKey: 'a' });
    expect(server.calls.filter((call) => call === 'addAudit')).toHaveLength(0);
    await world.pass(400_000);
    const failed = (await ends).filter(({ status }) => status === 'rejected');
    expect(failed).toHaveLength(8);
    expect(server.calls.filter((call) => call === 'addAudit')).toHaveLength(52);
  });
});

it('of unknown keys ten a second are asked for, and the rest is answered by what is known', async () => {
  const { world, server, backend } = await staged({ before: (fake) => fake.keys.set('a', held('a')) });
  const asked = () => server.calls.filter((call) => call === 'get').length;
  const before = asked();
  const guesses = Array.from({ length: 40 }, (_, index) => Promise.resolve(backend.live?.key(`guess-${index}`)));
  await world.pass(100);
  expect(await Promise.all(guesses)).toEqual(Array.from({ length: 40 }, () => undefined));
  expect(asked() - before).toBe(10);
  const known = Promise.resolve(backend.live?.key('a'));
  await world.pass(100);
  expect(await known).toMatchObject({ accessKey: 'a' });
  await world.pass(1_000);
  const again = Promise.resolve(backend.live?.key('guess-1'));
  await world.pass(100);
  await again;
  expect(asked() - before).toBe(12);
});
