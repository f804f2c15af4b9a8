import { join } from 'node:path';
import { resolveRevision } from '../../revisions/index.js';
import { filesIn } from '../../src/commands/replay/run.js';
import { lineOf } from '../../src/commands/replay/settings.js';
import { isExchange } from '../../src/lab/format/scenario.js';
import { createTargetPlayer, type TargetPlayer } from '../../src/lab/live/target-player.js';
import type { ScenarioFile } from '../../src/lab/play/scenario-files.js';
import { createLook } from '../../src/lab/reads/look.js';
import { readServer } from '../../src/lab/reads/standing.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { ROOT } from '../clone.js';
import { expectationOf } from './expectations.js';
import { MODES, type Mode, type Mutation, type Site, together } from './mutation.js';
import { mutationsOfOperations } from './of-operations.js';
import { mutationsOfProtocol } from './of-protocol.js';
import { type MutatedServer, OPERATOR, startMutatedServer } from './server-in-use.js';

/** The lines whose servers are made wrong. */
export const LINES = ['0.2.48', '0.2.60', '0.2.96', '0.3.21'] as const;

export function mutationsOf(site: Site): readonly Mutation[] {
  return [...mutationsOfOperations(site), ...mutationsOfProtocol(site)];
}

/** The first thing that differs, or is said of the version, where a server is read; null for nothing. */
export async function noticedByReads(server: MutatedServer, mutation: Mutation | null): Promise<string | null> {
  const { revision, token, session } = server.site;
  const pause = async () => undefined;
  const look = createLook({ caller: server.caller(mutation), webpath: '/panel', token, session, pause });
  const { results, version } = await readServer(look, revision, [], lineOf);
  const different = results.find(({ outcome }) => outcome === 'different');
  const [first] = different?.differences ?? [];
  if (different !== undefined) return `${different.name}: ${first?.request}: ${first?.where}`;
  return version.isOwn ? null : `it reports version ${version.reported}`;
}

/** The mode in which a mutation was noticed first, and by what. */
export interface Noticed {
  readonly mode: Mode;
  readonly by: string;
}

/**
 * The first mode in which each of these mutations is noticed; by its name; of those that nobody notices nothing. Where one is not expected
 * to be, it is tried together with others: a run in which nothing is noticed speaks for all of them.
 */
export async function judge(server: MutatedServer, line: string): Promise<ReadonlyMap<string, Noticed>> {
  const noticed = new Map<string, Noticed>();
  const all = mutationsOf(server.site);
  for (const mutation of all) {
    const by = await noticedByReads(server, mutation);
    if (by !== null) noticed.set(mutation.name, { mode: 'reads', by });
  }
  for (const mode of MODES) {
    const left = all.filter((each) => !noticed.has(each.name));
    const isExpected = (each: Mutation) => expectationOf(each, server.site).mode === mode;
    const alone = left.filter(isExpected);
    for (const group of groupsOf(left.filter((each) => !isExpected(each)))) {
      if ((await noticedByPlaying(line, mode, group)) !== null) alone.push(...group);
    }
    for (const mutation of alone) {
      const by = await noticedByPlaying(line, mode, [mutation]);
      if (by !== null) noticed.set(mutation.name, { mode, by });
    }
  }
  return noticed;
}

/** Groups with one mutation of each operation at most: none of them hides another. */
function groupsOf(mutations: readonly Mutation[]): readonly (readonly Mutation[])[] {
  const groups: Map<string, Mutation>[] = [];
  for (const mutation of mutations) {
    const operation = operationOf(mutation);
    const free = groups.find((each) => !each.has(operation));
    if (free === undefined) groups.push(new Map([[operation, mutation]]));
    else free.set(operation, mutation);
  }
  return groups.map((each) => [...each.values()]);
}

function operationOf({ name }: Mutation): string {
  return name.split(': ')[0] ?? '';
}

/**
 * The first scenario that differs, or cannot be played, where this much is permitted, and does not on a server that is not
 * made wrong; null where none does. A run that cannot begin is one that tells.
 */
async function noticedByPlaying(line: string, mode: Mode, mutations: readonly Mutation[]): Promise<string | null> {
  const usual = await usualIn(line, mode);
  const names = mutations.map(({ name }) => name);
  return playedOn(line, mode, names, (what) => !usual.has(what));
}

const usual = new Map<string, Promise<ReadonlySet<string>>>();

function usualIn(line: string, mode: Mode): Promise<ReadonlySet<string>> {
  const id = `${line} ${mode}`;
  const known = usual.get(id) ?? playedWhole(line, mode);
  usual.set(id, known);
  return known;
}

/** The names of all scenarios that differ on a server that is not made wrong. */
async function playedWhole(line: string, mode: Mode): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  await playedOn(line, mode, [], (what) => {
    seen.add(what);
    return false;
  });
  return seen;
}

/** What cannot be cleaned up, as the name of a scenario. */
const LEFT = 'what is left';

/** The first of these scenarios that differs, or cannot be played, on a server that is wrong in all that is named. */
export async function playedOn(
  line: string,
  mode: Mode,
  names: readonly string[],
  tells: (scenario: string) => boolean = () => true,
): Promise<string | null> {
  const server = await startMutatedServer(line, { queries: [] });
  const wrong = mutationsOf(server.site).filter(({ name }) => names.includes(name));
  try {
    const player = await playerFor(server, mode, wrong.length === 0 ? null : together(wrong));
    const files = await scenariosFor(server.site.revision, wrong[0]);
    const tried = mode === 'reads' ? [] : await player.tryChanges(() => false);
    const found =
      tried.find(({ outcome, name }) => outcome === 'different' && tells(name))?.name ??
      (await firstTelling(player, files, tells));
    const [problem] = (await player.finish()).left;
    return found ?? (problem !== undefined && tells(LEFT) ? problem : null);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await server.close();
  }
}

async function playerFor(server: MutatedServer, mode: Mode, mutation: Mutation | null): Promise<TargetPlayer> {
  return createTargetPlayer({
    origin: await server.listen(mutation),
    webpath: '/panel',
    revision: server.site.revision,
    credentials: { token: server.site.token, operator: OPERATOR },
    writes: mode !== 'reads',
    timeoutMilliseconds: 10_000,
    random: systemRandom,
    pause: async () => undefined,
  });
}

async function firstTelling(
  player: TargetPlayer,
  files: readonly ScenarioFile[],
  tells: (scenario: string) => boolean,
): Promise<string | null> {
  for (const file of files) {
    const { outcome, name, reason, differences } = await player.play(file, {});
    const [first] = differences;
    if ((outcome === 'different' || outcome === 'broken') && tells(name))
      return `${name}: ${reason ?? `${first?.request}: ${first?.where}`}`;
  }
  return null;
}

let pack: Promise<readonly ScenarioFile[]> | undefined;

/** The scenarios of a line, those that ask for the operation of the mutation most at the beginning. */
async function scenariosFor(revision: Revision, mutation?: Mutation): Promise<readonly ScenarioFile[]> {
  pack ??= allScenarios();
  const files = (await pack).filter(({ scenario }) => {
    const resolved = resolveRevision(scenario.revision);
    return resolved.ok && resolved.revision === revision;
  });
  const [method = '', path = ''] = (mutation === undefined ? '' : operationOf(mutation)).split(' ');
  const pattern = new RegExp(`^${path.replace('{base}', '').replace('{key}', '[^/]+')}$`);
  const count = ({ scenario }: ScenarioFile) =>
    scenario.exchanges.filter(
      (each) => isExchange(each) && each.request.method === method && pattern.test(each.request.path),
    ).length;
  return files.toSorted((a, b) => count(b) - count(a));
}

async function allScenarios(): Promise<readonly ScenarioFile[]> {
  const folders = ['earliest', 'dns', 'current', 'lines', 'recorded'].map((each) => join(ROOT, 'fixtures', each));
  const files = await filesIn(folders, { folder: ROOT, fileSystem: createFileSystem() });
  return files.filter((each) => each.kind === 'scenario');
}
