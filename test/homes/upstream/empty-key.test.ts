import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import type { AccessKey } from '../../../src/core/model.js';
import { deleteEmptyKey } from '../../../src/homes/upstream/empty-key.js';
import { createFakeServer, type FakeServer } from '../../client/fake-server.js';

const REVISION = REVISIONS.find(({ id }) => id === 'current') ?? expect.fail('there is no such line');

const fileOf = (...keys: readonly string[]) => JSON.stringify({ mode: 'server', access_keys: keys });
const record = (accessKey: string, limitBytes: bigint | null = null): AccessKey => ({
  accessKey,
  name: null,
  limitBytes,
});

/** A server with the keys "", "a" and "b"; `meanwhile` is called before each call, with its name and how often that came. */
function serverWith(meanwhile: (server: FakeServer, call: string, time: number) => void): FakeServer {
  const times = new Map<string, number>();
  const server = createFakeServer({
    revision: REVISION,
    monotonic: () => 0,
    sleep: () => Promise.resolve(),
    configuration: fileOf('', 'a', 'b'),
    trip: (call) => {
      times.set(call, (times.get(call) ?? 0) + 1);
      meanwhile(server, call, times.get(call) ?? 0);
      return { there: 0, back: 0 };
    },
  });
  for (const key of ['', 'a', 'b']) server.outside({ put: record(key) });
  return server;
}

describe('the removal of an empty key', () => {
  it('takes it alone out of the configuration', async () => {
    const server = serverWith(() => {});
    await deleteEmptyKey(server);
    expect(server.configuration).toBe(fileOf('a', 'b'));
    server.outside({ remove: '' });
    await expect(deleteEmptyKey(server)).rejects.toMatchObject({ code: 'userNotFound' });
  });

  it('starts anew where somebody changes the configuration after it was read, and keeps that change', async () => {
    const server = serverWith(({ outside }, call, time) => {
      if (call !== 'getConfig' || time !== 2) return;
      outside({ put: record('new') });
      server.configuration = fileOf('', 'a', 'b', 'new');
    });
    await deleteEmptyKey(server);
    expect(server.configuration).toBe(fileOf('a', 'b', 'new'));
  });

  it('is given up with nothing changed where somebody changes the configuration all the time', async () => {
    const server = serverWith((at, call, time) => {
      if (call === 'getConfig') at.configuration = fileOf('', 'a', 'b').replace('{', `{${' '.repeat(time)}`);
    });
    await expect(deleteEmptyKey(server)).rejects.toMatchObject({ code: 'configRefused' });
    expect(server.calls).not.toContain('putConfig');
  });

  it('is refused where the server would lose a key that its configuration has not', async () => {
    const server = serverWith(() => {});
    server.outside({ put: record('unstored') });
    await expect(deleteEmptyKey(server)).rejects.toMatchObject({
      code: 'configRefused',
      detail: expect.stringContaining('"unstored"'),
    });
    expect(server.calls).not.toContain('putConfig');
  });

  it.each([
    ['makes', { put: record('new') }, '"new"'],
    ['changes', { put: record('a', 5n) }, '"a"'],
    ['removes', { remove: 'b' }, '"b"'],
  ])('names the key that somebody %s at the moment of it', async (_, change, name) => {
    const server = serverWith(({ outside }, call) => {
      if (call === 'putConfig') outside(change);
    });
    await expect(deleteEmptyKey(server)).rejects.toThrow(`look at: ${name}`);
    expect(server.configuration).toBe(fileOf('a', 'b'));
  });
});
