import { expect, it } from 'vitest';
import { KeyRegistry } from '../../src/core/keys/registry.js';
import { DEFAULT_PUBLISHED } from '../../src/core/model.js';
import { SubscriptionDoor } from '../../src/subscription/door.js';

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
