import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { createFixedClock } from '../../src/embedded/stage.js';
import { foldersOf, scenariosOf } from '../acceptance/pack.js';
import { runHere } from '../commands/context.js';
import { folderForTest } from '../folder-for-test.js';
import { freePort } from '../free-ports.js';
import { parseConfiguration } from '../stand-in/configuration.js';
import { apiOf, CREDENTIALS, fileOf } from '../stand-in/files.js';
import { type StandIn, type StandInOptions, startStandIn } from '../stand-in/stand-in.js';

/** How much faster than servers do the stand-ins read their files; what waits for them waits so much less. */
const RELOAD_FACTOR = 50;

/** The servers that were recorded. */
export const SERVERS = foldersOf('recorded').filter((name) => /^\d/.test(name));
const { token, username, password } = CREDENTIALS;

interface Staged {
  readonly standIn: StandIn;
  readonly path: string;
  /** What of it must be the same afterwards: as it runs, as its file says, and as it starts again. */
  state(): Promise<unknown>;
}

const ROUTING = `"outbound": { "enabled": true, "default_action": "direct", "rules": [{ "domain_suffix": [".a"], "action": "proxy" }] },
  "dns": { "enabled": true, "doh_upstream": "https://dns.example/", "own": [1e3, 18446744073709551615] },`;

/** A file as an operator has it: comments, rules, DNS settings, members that nobody knows. */
const withRouting = (version: string) =>
  `// by hand\n${fileOf(version).replace('"mode": "server",', (mode) => (version.startsWith('0.3') ? mode : `${mode}\n  ${ROUTING}`))}`;

async function stage(version: string, text: string, options: Partial<StandInOptions> = {}): Promise<Staged> {
  const path = join(await folderForTest(), 'server.jsonc');
  await writeFile(path, text);
  const standIn = await startStandIn({
    line: version,
    file: path,
    port: await freePort(),
    // From 0.4.6 on keys made in bulk get counters with a look at the file, which is not to fall between two steps of a scenario.
    reloadFactor: version.startsWith('0.4.') ? 0 : RELOAD_FACTOR,
    // It goes on with every look, so that nobody waits for the uptime.
    clock: createFixedClock(),
    ...options,
  });
  onTestFinished(() => standIn.close());
  standIn.count('beta', { up: 1n, down: 2n, connections: 1n });
  const api = apiOf(standIn);
  const keys = () =>
    standIn
      .keys()
      .map(({ accessKey, name, limitBytes }) => `${accessKey} ${name} ${limitBytes}`)
      .sort();
  return {
    standIn,
    path,
    async state() {
      await standIn.reload();
      const root = parseConfiguration(await readFile(path)) as Record<string, unknown>;
      const list = (root.access_keys as unknown[] | undefined)
        ?.map((each) => JSON.stringify(whole(each), bigints))
        .sort();
      const [rules, dns] = [
        await api('GET', '/router/rules').catch(() => null),
        await api('GET', '/dns/config').catch(() => null),
      ];
      return { keys: keys(), rules, dns, root: { ...root, access_keys: list } };
    },
  };
}

const whole = (element: unknown) => (typeof element === 'string' ? { access_key: element } : element);
const bigints = (_: string, value: unknown) =>
  typeof value === 'bigint'
    ? `${value}`
    : typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort())
      : value;

function replay({ standIn }: Staged, line: string, ...flags: readonly string[]) {
  const argv = ['replay', '--target', `${standIn.origin}/panel`, '--revision', line, '--username', username, ...flags];
  return runHere(argv, {
    environment: { KEYWAY_PASSWORD: password, KEYWAY_TOKEN: token },
    async wait(milliseconds) {
      await sleep(milliseconds / RELOAD_FACTOR);
      await standIn.reload();
    },
  });
}

/** Has a stand-in asked as its own line: it is compatible, and afterwards as it was. */
export async function holdAsOwnLine(version: string, flags: readonly string[]): Promise<void> {
  const staged = await stage(version, withRouting(version));
  const before = await staged.state();
  const ended = await replay(staged, version, ...flags, '--verbose');
  expect(ended.output).not.toMatch(/^(DIFFERENT|BROKEN)/m);
  expect(ended.complaints).not.toContain('not as before');
  expect(ended.output).toContain('\ncompatible as far as seen: ');
  expect(ended.code).toBe(0);
  const recordings = ended.output.match(new RegExp(`^\\w+ +recorded/${version}/`, 'gm'));
  expect(recordings).toHaveLength(scenariosOf(`recorded/${version}`).length);
  expect(await staged.state()).toEqual(before);
  const keys = staged.standIn.keys().length;
  await staged.standIn.restart();
  expect(staged.standIn.keys()).toHaveLength(keys);
}
