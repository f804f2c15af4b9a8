import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { createCaller } from '../../src/client/caller.js';
import { createControl } from '../../src/client/signed-in-caller.js';
import { lineOf } from '../../src/commands/replay/settings.js';
import { createFixedClock } from '../../src/embedded/stage.js';
import { createLook, type Look } from '../../src/lab/reads/look.js';
import { readServer } from '../../src/lab/reads/standing.js';
import { foldersOf } from '../acceptance/pack.js';
import { folderForTest } from '../folder-for-test.js';
import { CREDENTIALS, fileOf } from '../stand-in/files.js';
import { startStandIn } from '../stand-in/stand-in.js';
import { someOf } from '../whole.js';
import { revisionNamed } from './live-server.js';

/** Those that were recorded, and those that are played by what was read of them. */
const SERVERS = [...foldersOf('recorded').filter((name) => /^\d/.test(name)), '0.4.0', '0.4.6', '0.4.7'];

/** A server that misbehaves as the real ones do, in use, and how it is looked at with all its credentials. */
async function lookAtStandIn(
  version: string,
  text = fileOf(version),
  edited: (text: string) => string = (same) => same,
): Promise<Look> {
  const file = join(await folderForTest(), 'server.jsonc');
  await writeFile(file, text);
  // Its clock goes on with every look, so that nobody waits for the uptime.
  const standIn = await startStandIn({ line: version, file, reloadFactor: 0, clock: createFixedClock() });
  onTestFinished(() => standIn.close());
  await writeFile(file, edited(text));
  standIn.count('alpha', { up: 10n, down: 20n, connections: 1n });
  const caller = createCaller({ origin: standIn.origin, timeoutMilliseconds: 10_000 });
  onTestFinished(() => caller.close());
  const { token, username, password } = CREDENTIALS;
  const target = { origin: standIn.origin, apiRoot: standIn.paths.api, base: standIn.paths.base };
  const credentials = { token: null, operator: { username, password } };
  const session = await createControl(caller, { target, revision: revisionNamed(version), credentials }).session();
  return createLook({ caller, webpath: '/panel', token, session, pause: async () => undefined });
}

/** Where a server is not what it is asked to be. */
async function differencesOf(look: Look, asked: string): Promise<readonly string[]> {
  const { results, version } = await readServer(look, revisionNamed(asked), [], lineOf);
  const different = results.flatMap(({ name, differences }) =>
    differences.map(({ request, where }) => `${name}: ${request}: ${where}`),
  );
  return version.isOwn ? different : [...different, `version ${version.reported}`];
}

describe.each(someOf(SERVERS, 1))('by reads alone a server of %s', (version) => {
  test('that is asked as its own line shows nothing that differs, and as any other line something', async () => {
    const look = await lookAtStandIn(version);
    expect(await differencesOf(look, version)).toEqual([]);
    const own = revisionNamed(version);
    for (const other of SERVERS.filter((each) => revisionNamed(each) !== own))
      expect({ other, differences: await differencesOf(look, other) }).not.toEqual({ other, differences: [] });
  });
});

test.each([
  ['0.4.0', ['current']],
  ['0.4.6', []],
  ['0.4.7', []],
])('what is read of %s without its version fits %j besides', async (version, others) => {
  const look = await lookAtStandIn(version);
  const { lines } = await readServer(look, revisionNamed(version), REVISIONS, lineOf);
  expect([lines.ownFits, lines.fitting.map(({ id }) => id)]).toEqual([true, others]);
});

describe('a server whose file was changed since its start', () => {
  test('differs by its configuration alone, with a hint, and is of its line all the same', async () => {
    const line = '0.2.96';
    const look = await lookAtStandIn(
      line,
      fileOf(line).replace('"mode"', '"outbound": { "rules": [] }, "mode"'),
      (text) => text.replace('"rules": []', '"rules": [{ "domain_suffix": [".a"], "action": "direct" }]'),
    );
    const { results, lines } = await readServer(look, revisionNamed(line), [], lineOf);
    const different = results.filter(({ outcome }) => outcome === 'different');
    expect(different.map(({ name, hint }) => ({ name, hint }))).toEqual([
      { name: 'reads/configuration', hint: expect.stringContaining('restart the server') },
    ]);
    expect(lines.ownFits).toBe(true);
  });
});
