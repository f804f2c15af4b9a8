import { expect, it } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';

/** A home that holds a configuration, as far as replacing it goes. */
export interface ReplaceableHome {
  replace(body: Buffer): Promise<void>;
  /** Per kept version, oldest first, whether it is kept for good. */
  versions(): Promise<readonly boolean[]>;
  close(): Promise<void>;
}

export type OpenHome = (before: string, log: LogPort) => Promise<ReplaceableHome>;

const users = (count: number) => Array.from({ length: count }, (_, n) => ({ key: `k${n}` }));
const inbounds = (count: number) =>
  JSON.stringify({ mode: 'server', inbounds: [{ protocol: 'ostp', users: users(count) }] });
const rootList = (count: number) => JSON.stringify({ mode: 'server', access_keys: users(count).map(({ key }) => key) });

/** What every home does with a replacement (`src/core/replace-policy.ts`). */
export function itReplaces(open: OpenHome): void {
  it.each([
    ['few keys fewer', inbounds(12), inbounds(2), [], false],
    ['more than 10 keys fewer', inbounds(12), inbounds(1), ['warn: 11 keys were removed'], true],
    ['inbounds in place of a list', rootList(2), inbounds(2), [], false],
  ])('by one with %s: kept and logged as it should be', async (_, before, after, logged, forever) => {
    const { home, lines } = await staged(open, before);
    await home.replace(Buffer.from(after));
    expect((await home.versions()).at(-1)).toBe(forever);
    expect(lines).toEqual(logged.map((line) => expect.stringContaining(line)));
    expect(lines.every((line) => line.endsWith('the version before is kept for good'))).toBe(true);
    await home.close();
  });

  it.each([
    0, 2,
  ])('by one that has lost the inbounds, with %i keys, is refused, and nothing is kept for good or logged', async (keys) => {
    const { home, lines } = await staged(open, inbounds(2));
    await expect(home.replace(Buffer.from(rootList(keys)))).rejects.toMatchObject({
      code: 'configWriteFailed',
      detail: expect.stringMatching(/no inbound with the protocol "ostp"/),
    });
    // The first version is kept while the home is opened or after that.
    expect(await home.versions()).not.toContain(true);
    expect(lines).toEqual([]);
    await home.close();
  });

  it('by one that lacks members of the root is taken as it is, and a warning names them', async () => {
    const warnings: string[] = [];
    const log: LogPort = { debug() {}, info() {}, warn: (_, message) => warnings.push(message), error() {} };
    const before = JSON.stringify({ ...JSON.parse(rootList(2)), ...Object.fromEntries(SERVER_MEMBERS) });
    const after = JSON.stringify({ ...JSON.parse(rootList(2)), ...Object.fromEntries(SERVER_MEMBERS.slice(0, 1)) });
    const home = await open(before, log);
    await home.replace(Buffer.from(after));
    const gone = SERVER_MEMBERS.slice(1)
      .map(([name]) => name)
      .join(', ');
    const expected = `the new configuration lacks members that the one before had: ${gone}; the version before is kept`;
    expect(warnings.filter((warning) => warning.includes('lacks members'))).toEqual([expected]);
    expect((await home.versions()).length).toBeGreaterThan(0);
    await home.replace(Buffer.from(after));
    expect(warnings.filter((warning) => warning.includes('lacks members'))).toHaveLength(1);
    await home.close();
  });
}

/** Members that servers of later lines read, and an older panel does not know. */
const SERVER_MEMBERS: readonly (readonly [string, unknown])[] = [
  ['config_version', 3],
  ['domain', 'vpn.example.com'],
  ['tls', { enabled: false }],
  ['subscription', { enabled: false }],
  ['overnet', { enabled: false }],
  ['local_access', false],
];

async function staged(open: OpenHome, before: string) {
  const lines: string[] = [];
  const say = (level: string) => (_: object, message: string) => {
    if (message.includes('kept for good')) lines.push(`${level}: ${message}`);
  };
  const log: LogPort = { debug() {}, info() {}, warn: say('warn'), error: say('error') };
  return { home: await open(before, log), lines };
}
