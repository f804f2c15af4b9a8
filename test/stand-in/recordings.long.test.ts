import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DEFAULT_ADDRESSES } from '../../src/lab/format/addresses.js';
import type { CounterState, Scenario } from '../../src/lab/format/scenario.js';
import { type DivergenceRegister, readDivergences } from '../../src/lab/play/divergences.js';
import { type Difference, givenFile, playScenario, type Stage } from '../../src/lab/play/play.js';
import { foldersOf, readFixture, scenariosOf } from '../acceptance/pack.js';
import { PATIENT } from '../acceptance/stage.js';
import { type StandIn, startStandIn } from './stand-in.js';

const SERVERS = foldersOf('recorded').filter((name) => /^\d/.test(name));

/** Divergences of Keyway's that nobody but the recorded server itself could play. */
const MADE_UP = ['another encoder', 'recorded token'];

function registerOf(version: string): DivergenceRegister {
  const file = `recorded/divergences/${version}.json`;
  return readDivergences(readFixture(file), file);
}

describe.each(SERVERS)('the stand-in of %s', (version) => {
  test.each(
    scenariosOf(`recorded/${version}`),
  )('$name: answers as the real server did, and leaves the same file', async ({ name, scenario }) => {
    const { scenarios } = registerOf(version);
    const isMadeUp = ({ step }: Difference) => MADE_UP.includes(scenarios[name]?.[step]?.why ?? '');
    const differences = await playOn(version, scenario);
    expect(differences.filter((each) => !isMadeUp(each))).toEqual([]);
  });
});

/** A server comes to be without keys by removals alone: it does not start so. */
const STARTED = scenariosOf('lines').filter(({ name }) => !name.endsWith('status-without-keys'));

describe('the stand-in of a line of which facts are known', () => {
  test.each(STARTED)('$name: answers as they say, and leaves the same file', async ({ scenario }) => {
    expect(await playOn(scenario.revision, scenario)).toEqual([]);
  });
});

/** Plays a scenario on the stand-in of a version; resolves to where answers or the file afterwards are other than it says. */
async function playOn(version: string, scenario: Scenario): ReturnType<typeof playScenario> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-stand-in-'));
  const path = join(folder, 'server.jsonc');
  await writeFile(path, givenFile(scenario, DEFAULT_ADDRESSES) ?? '');
  const { server } = scenario.given;
  const standIn = await startStandIn({
    line: version,
    file: path,
    reloadFactor: 0,
    // The order of its hash table is that of the recordings.
    seed: 4,
    ...(server === undefined ? {} : { announced: server }),
  });
  try {
    count(standIn, scenario.given.counters ?? []);
    const target = { origin: standIn.origin, base: standIn.paths.base, apiRoot: standIn.paths.api };
    const stage = stageOf(standIn, path);
    const played = { target, stage, addresses: DEFAULT_ADDRESSES, ...PATIENT };
    return await playScenario(scenario, played);
  } finally {
    await standIn.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the scenario says that the counters are is counted as the traffic since they were zero. */
function count(standIn: StandIn, states: readonly CounterState[]): void {
  for (const { access_key, bytes_up: up, bytes_down: down, connections } of states)
    standIn.count(access_key, { up, down, connections });
}

function stageOf(standIn: StandIn, path: string): Stage {
  // A file system may count time more coarsely than a test edits.
  let edits = 0;
  const edit = async (change: () => Promise<void>) => {
    await change();
    edits += 1;
    await utimes(path, 0, edits).catch(() => undefined);
    await standIn.reload();
  };
  return {
    counters: async (states) => count(standIn, states),
    handEdit: (text) => edit(() => writeFile(path, text)),
    settle: () => standIn.reload(),
    breakFile: (reason) =>
      edit(async () => {
        await rm(path);
        if (reason === 'a folder stands where the file was') await mkdir(path);
      }),
    configText: () => readFile(path, 'utf8'),
  };
}
