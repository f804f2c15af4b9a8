import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { differenceInWords } from '../../src/lab/format/json-difference.js';
import type { TargetPlayer } from '../../src/lab/live/target-player.js';
import { readScenarioFiles, type ScenarioFile } from '../../src/lab/play/scenario-files.js';
import { type ProxiedExchange, startProxy } from '../../src/lab/record/proxy.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { ROOT } from '../clone.js';
import { playerOn, SERVER_FILE, startLiveServer } from './live-server.js';

async function scenariosIn(folders: readonly string[]): Promise<readonly ScenarioFile[]> {
  const paths = folders.map((folder) => join(ROOT, 'fixtures', folder));
  const files = await readScenarioFiles(paths, createFileSystem());
  return files.flatMap((file) => (file.kind === 'scenario' ? [file] : []));
}

async function playAll(player: TargetPlayer, files: readonly ScenarioFile[]) {
  const played: string[] = [];
  const differences: string[] = [];
  for (const file of files) {
    const result = await player.play(file, {});
    if (result.outcome === 'equal') played.push(result.name);
    if (result.outcome === 'broken') differences.push(`${result.name}: ${result.reason}`);
    differences.push(...result.differences.map((each) => `${result.name} ${each.step}: ${differenceInWords(each)}`));
  }
  return { played, differences };
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Has the scenarios of some folders played on a running gateway of a revision. */
export function describePack(revision: string, folders: readonly string[]): void {
  describe(`the scenarios of ${revision} on a running gateway`, () => {
    test('without any permission send only reads and logins, and are equal', async () => {
      const server = await startLiveServer(revision);
      const passed: ProxiedExchange[] = [];
      const proxy = await startProxy({
        origin: server.origin,
        listen: { host: '127.0.0.1', port: 0 },
        onExchange: (exchange) => passed.push(exchange),
        onFailure: (reason) => expect.unreachable(reason),
      });
      onTestFinished(proxy.close);
      const keys = server.keys();
      const player = await playerOn(proxy.url, revision);
      const { played, differences } = await playAll(player, await scenariosIn(folders));
      expect((await player.finish()).left).toEqual([]);
      expect(differences).toEqual([]);
      expect(played.length).toBeGreaterThan(3);
      const others = passed.filter(({ method, path }) => !SAFE.has(method) && !path.endsWith('/login'));
      expect(others.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
      expect(server.keys()).toEqual(keys);
    });

    test('with writes touch no key of others and leave none behind', async () => {
      const server = await startLiveServer(revision);
      const keys = server.keys();
      const player = await playerOn(server.origin, revision, { writes: true });
      const { played, differences } = await playAll(player, await scenariosIn(folders));
      expect((await player.finish()).left).toEqual([]);
      expect(differences).toEqual([]);
      expect(played.length).toBeGreaterThan(15);
      expect(server.keys()).toEqual(keys);
      expect(await server.file()).toEqual(JSON.parse(SERVER_FILE));
    });
  });
}
