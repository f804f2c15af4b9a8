import { expect, it } from 'vitest';
import { gatewayForTest } from './gateway.js';

const URL = '/panel/api/audit';
const gateway = () => gatewayForTest({ mounts: [{ revision: 'current' }, { revision: '0.2.86', webpath: 'old' }] });

/** An entry whose body has so many bytes. */
function entryOf(bytes: number): string {
  const rest = JSON.stringify({ eventEn: '', eventRu: '', success: true }).length;
  return JSON.stringify({ eventEn: 'e'.repeat(bytes - rest), eventRu: '', success: true });
}

it('an entry of 4 KiB is taken, and one byte more is a 413 that leaves the list as it was', async () => {
  const app = await gateway();
  const post = (payload: string) =>
    app.inject({ method: 'POST', url: URL, headers: { 'content-type': 'application/json' }, payload });
  expect((await post(entryOf(4097))).json()).toEqual({
    ok: false,
    error: 'request body too large: at most 4096 bytes are accepted',
  });
  expect((await post(entryOf(4097))).statusCode).toBe(413);
  expect(app.keyway.core.audit.list()).toEqual([]);
  expect((await post(entryOf(4096))).statusCode).toBe(200);
  expect(app.keyway.core.audit.list()).toHaveLength(1);
});

it('the answer is built once per change, for every mount together, and kept as bytes', async () => {
  const app = await gateway();
  const { audit } = app.keyway.core;
  const texts = async () => {
    const answers = [await app.inject({ url: URL }), await app.inject({ url: '/old/api/audit' })];
    return answers.map((answer) => answer.json().data.map(({ eventEn }: { eventEn: string }) => eventEn));
  };
  audit.add({ eventEn: 'first', eventRu: '', success: true });
  expect(await texts()).toEqual([['first'], ['first']]);
  // Nobody changes an entry but this test, to see that it is not read again.
  Object.assign((await audit.list())[0] ?? {}, { eventEn: 'changed' });
  expect(await texts()).toEqual([['first'], ['first']]);
  audit.add({ eventEn: 'second', eventRu: '', success: true });
  expect(await texts()).toEqual([
    ['second', 'changed'],
    ['second', 'changed'],
  ]);
  audit.clear();
  expect(await texts()).toEqual([[], []]);
});
