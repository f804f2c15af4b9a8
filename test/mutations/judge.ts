import { join } from 'node:path';
import { resolveRevision } from '../../revisions/index.js';
import { filesIn } from '../../src/commands/replay/run.js';
import { lineOf } from '../../src/commands/replay/settings.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import { createLook } from '../../src/replay/reads/look.js';
import { readServer } from '../../src/replay/reads/standing.js';
import { isExchange } from '../../src/replay/scenario.js';
import type { ScenarioFile } from '../../src/replay/scenario-files.js';
import { createTargetPlayer, type TargetPlayer } from '../../src/replay/target-player.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { ROOT } from '../build.js';
import { MODES, type Mode, type Mutation, type Site } from './mutation.js';
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

/** The first mode in which a mutation is noticed, with what was; null where nobody notices. */
export async function judge(
  server: MutatedServer,
  line: string,
  mutation: Mutation,
): Promise<{ readonly mode: Mode; readonly by: string } | null> {
  const byReads = await noticedByReads(server, mutation);
  if (byReads !== null) return { mode: 'reads', by: byReads };
  for (const mode of MODES) {
    const by = await noticedByPlaying(line, mode, mutation.name);
    if (by !== null) return { mode, by };
  }
  return null;
}

/**
 * The first scenario that differs, or cannot be played, where this much is permitted, and does not on a server that is not
 * made wrong; null where none does. A run that cannot begin is one that tells.
 */
async function noticedByPlaying(line: string, mode: Mode, name: string): Promise<string | null> {
  const usual = await usualIn(line, mode);
  return playedOn(line, mode, name, (what) => !usual.has(what));
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
  await playedOn(line, mode, null, (what) => {
    seen.add(what);
    return false;
  });
  return seen;
}

/** What cannot be cleaned up, as the name of a scenario. */
const LEFT = 'what is left';

/** The first of these scenarios that differs, or cannot be played, on a server that is wrong in what is named. */
export async function playedOn(
  line: string,
  mode: Mode,
  name: string | null,
  tells: (scenario: string) => boolean = () => true,
): Promise<string | null> {
  const server = await startMutatedServer(line, []);
  const mutation = mutationsOf(server.site).find((each) => each.name === name) ?? null;
  try {
    const player = await playerFor(server, mode, mutation);
    const files = await scenariosFor(server.site.revision, name ?? '');
    const tried = mode === 'reads' ? null : await player.tryWithoutCredential();
    const found = tried?.outcome === 'different' ? tried.name : await firstTelling(player, files, tells);
    const [problem] = await player.finish();
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
    permissions: { writes: mode !== 'reads', destructive: mode === 'destructive' },
    timeoutMilliseconds: 10_000,
    random: systemRandom,
    keepSaved: async () => ({ place: 'nowhere', remove: async () => undefined }),
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
async function scenariosFor(revision: Revision, name: string): Promise<readonly ScenarioFile[]> {
  pack ??= allScenarios();
  const files = (await pack).filter(({ scenario }) => {
    const resolved = resolveRevision(scenario.revision);
    return resolved.ok && resolved.revision === revision;
  });
  const [method = '', path = ''] = (name.split(': ')[0] ?? '').split(' ');
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
