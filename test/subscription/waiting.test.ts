import { expect, it } from 'vitest';
import { createCore } from '../../src/core/core.js';
import { KeyRegistry } from '../../src/core/keys/registry.js';
import { DEFAULT_PUBLISHED } from '../../src/core/model.js';
import { createNoResolver } from '../../src/dns/no-resolver.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { SubscriptionDoor } from '../../src/subscription/door.js';
import { subscriptionToken } from '../../src/subscription/token.js';
import { createMemoryBackend } from '../ports/memory-backend.js';

it('a thousand requests wait for one look at a server, a further one is told to come back, and so is nobody once it is over', async () => {
  let end = () => {};
  const look = new Promise<void>((resolve) => {
    end = resolve;
  });
  let looks = 0;
  const door = new SubscriptionDoor({
    core: {
      keys: new KeyRegistry(() => 0),
      subscriber: () => undefined,
      lookForKeys: () => {
        looks += 1;
        return look;
      },
      published: () => DEFAULT_PUBLISHED,
    },
    offerFacts: () => {
      throw new Error('there is no key to offer');
    },
    clock: { now: () => 0, monotonic: () => 0 },
  });
  const ask = async (index: number) => {
    const url = `${DEFAULT_PUBLISHED.subscription.prefix}/${String(index).padStart(32, '0')}`;
    const answer = await door.open({ method: 'GET', url, accept: '', acceptLanguage: '' });
    return (await answer?.())?.answer;
  };
  const waiting = Array.from({ length: 1_000 }, (_, index) => ask(index));
  await new Promise(setImmediate);
  const refused = await ask(1_000);
  expect(refused?.status).toBe(503);
  expect(refused?.fields.join()).toContain('Retry-After,5');
  end();
  expect(new Set((await Promise.all(waiting)).map((answer) => answer?.status))).toEqual(new Set([404]));
  expect((await ask(1_001))?.status).toBe(404);
  expect(looks).toBe(1);
});

it('a subscription of a known key needs no room among a thousand requests that wait for a server', async () => {
  const keys = new KeyRegistry(() => 0);
  keys.create({ accessKey: 'known', name: null, limitBytes: null });
  const door = new SubscriptionDoor({
    core: {
      keys,
      subscriber: (accessKey) => keys.get(accessKey),
      lookForKeys: () => new Promise(() => undefined),
      published: () => DEFAULT_PUBLISHED,
    },
    offerFacts: () => {
      throw new Error('the key was found');
    },
    clock: { now: () => 0, monotonic: () => 0 },
  });
  const ask = async (token: string) => {
    const url = `${DEFAULT_PUBLISHED.subscription.prefix}/${token}`;
    return (await door.open({ method: 'GET', url, accept: '', acceptLanguage: '' }))?.();
  };
  const askForKnown = () => ask(subscriptionToken('known'));
  // By the first one the index of tokens is made.
  await expect(askForKnown()).rejects.toThrow('the key was found');
  for (let index = 0; index < 1_000; index += 1) void ask(String(index).padStart(32, '0'));
  await new Promise(setImmediate);
  await expect(askForKnown()).rejects.toThrow('the key was found');
});

it('what is published is there at once where nobody has to be asked for it', () => {
  const backend = createMemoryBackend({ hasLiveReads: false });
  const core = createCore({ backend, clock: systemClock, random: systemRandom, resolver: createNoResolver() });
  expect(core.published()).toBe(backend.settings().published);
});
