import { basename } from 'node:path';
import { type ComparedScenario, changesIn } from '../../lab/compare/changes.js';
import { compareRuns, type Run } from '../../lab/compare/compare-runs.js';
import { CHANGE_KINDS, changeOf, isOfTheLines } from '../../lab/compare/line-changes.js';
import { readingScenario } from '../../lab/compare/reading-scenario.js';
import { brokenResult, comparedResult, type ScenarioResult, unplayedResult } from '../../lab/compare/result.js';
import { hasGivenState } from '../../lab/format/given-state.js';
import { exchangesOf, type Scenario } from '../../lab/format/scenario.js';
import type { TargetPlayer } from '../../lab/live/target-player.js';
import { isRegistered } from '../../lab/play/divergences.js';
import type { PlayedStep } from '../../lab/play/play.js';
import type { BrokenFile, ScenarioFile } from '../../lab/play/scenario-files.js';
import { keysUsed } from '../../lab/record/infer-given.js';
import { changeLines } from '../../lab/report/report-changes.js';
import { operationsIn } from '../../lab/report/verdict.js';
import { type FlagReading, type ParsedFlags, valueFlag } from '../../settings/flags.js';
import { operationsOf } from '../../wire/operations.js';
import type { CommandContext, ExitCode } from '../command.js';
import { defineCommand, NO_HOME } from '../define-command.js';
import { type ComparedFile, comparedAs, type RehearseSettings, rehearse } from './rehearse.js';
import {
  type FoundFiles,
  finishAll,
  meetServer,
  type Played,
  type Playing,
  runPlaying,
  sayPlan,
  whyUnjudged,
} from './run.js';
import { baseUrlOf, credentialsOf, failOnOf, lineOf, PLAY_FLAGS, readPlaySettings, revisionOf } from './settings.js';

const SIDES = ['left', 'right'] as const;
type Side = (typeof SIDES)[number];

const FLAGS = [
  valueFlag('from', 'R', 'revisions'),
  valueFlag('to', 'R', 'revisions'),
  valueFlag('fail-on', CHANGE_KINDS.join('|'), CHANGE_KINDS),
  ...SIDES.flatMap((side) => [
    valueFlag(side, 'URL'),
    valueFlag(`${side}-revision`, 'R', 'revisions'),
    valueFlag(`${side}-username`, 'NAME'),
    valueFlag(`${side}-token`, 'TOKEN'),
  ]),
  ...PLAY_FLAGS,
];

/** Flags that ask for embedded cores of two lines instead of two servers. */
const LINES = ['from', 'to', 'fail-on'] as const;

function readLines(reading: FlagReading, flags: ParsedFlags): RehearseSettings | null {
  const own = new Set<string>([...LINES, 'reporter', 'verbose', 'timeout', 'require-played']);
  const [from, to] = [revisionOf(reading, 'from'), revisionOf(reading, 'to')];
  for (const flag of ['from', 'to'] as const)
    if (reading.value(flag) === null) reading.problems.push(`--${flag}: expected a revision, such as 0.2.48`);
  for (const { flag } of FLAGS.filter(({ flag }) => !own.has(flag) && flags.values.has(flag)))
    reading.problems.push(`--${flag}: expected no --from and --to with it`);
  const failOn = failOnOf(reading, 'new');
  const rest = readPlaySettings(reading, flags);
  if (from === null || to === null) return null;
  return { ...rest, from, to, failOn, lines: { from: reading.value('from') ?? '', to: reading.value('to') ?? '' } };
}

type CompareSettings = NonNullable<ReturnType<typeof readSides>>;

function readSides(reading: FlagReading, flags: ParsedFlags, context: CommandContext) {
  const side = (name: Side) => {
    const url = baseUrlOf(reading, name);
    if (reading.value(name) === null) reading.problems.push(`--${name}: expected the base URL of a server`);
    const other = name === 'left' ? 'right-revision' : 'left-revision';
    const asked = reading.value(`${name}-revision`) === null ? other : `${name}-revision`;
    const revision = revisionOf(reading, asked);
    if (reading.value(asked) === null) reading.problems.push(`--${name}-revision: expected what the server speaks`);
    const prefix = name.toUpperCase();
    const sources = { username: `${prefix}_USERNAME`, password: `${prefix}_PASSWORD`, token: `${prefix}_TOKEN` };
    const ofSide = { ...reading, value: (flag: string) => reading.value(`${name}-${flag}`) };
    const credentials = credentialsOf(ofSide, context, sources);
    return url === null || revision === null ? null : { url, revision, credentials };
  };
  const [left, right] = [side('left'), side('right')];
  const rest = readPlaySettings(reading, flags);
  return left === null || right === null ? null : { left, right, ...rest };
}

function compareServers(settings: CompareSettings, context: CommandContext): Promise<ExitCode> {
  const revisions = [settings.left.revision, settings.right.revision];
  return runPlaying('compare', { settings, revisions, sides: SIDES }, context, async (files, playing) => {
    const players: TargetPlayer[] = [];
    try {
      const left = await meet('left', settings, context);
      players.push(left);
      const right = await meet('right', settings, context);
      players.push(right);
      return await compareAll(files, { ...playing, left, right, settings });
    } finally {
      await finishAll(players, playing);
    }
  });
}

function meet(side: Side, settings: CompareSettings, context: CommandContext): Promise<TargetPlayer> {
  const { url, revision, credentials } = settings[side];
  const { ca, writes, timeoutMilliseconds } = settings;
  const options = { ...url, ca, revision, credentials, writes, timeoutMilliseconds, isCompared: true };
  return meetServer(side, options, context);
}

interface Comparing extends Playing {
  readonly left: TargetPlayer;
  readonly right: TargetPlayer;
  readonly settings: CompareSettings;
}

async function compareAll(named: FoundFiles, comparing: Comparing): Promise<Played> {
  const { left, right, settings, context } = comparing;
  for (const player of [left, right]) sayPlan(player, named, settings, context);
  // Scenarios that were named are asked for alone.
  const isNamed = settings.words.length > 0;
  const reads = isNamed ? [] : await readBoth(comparing);
  const files = isNamed ? named : [readingOf(comparing), ...named];
  comparing.begin(reads.length + files.length);
  for (const result of reads) comparing.done(result);
  const compared: ComparedScenario[] = [];
  for (const file of files) {
    if (comparing.isStopped()) break;
    const { result, differences } = await compareOne(file, comparing);
    compared.push(...comparedAs(file, { result, differences }, settings));
    comparing.done(result);
  }
  const sides = [settings.left.revision, settings.right.revision].flatMap(operationsOf).map(({ name }) => name);
  const scenarios = files.flatMap((file) => (file.kind === 'scenario' ? [file.scenario] : []));
  const asked = settings.words.length > 0 ? operationsIn(scenarios) : [...new Set(sides)];
  const unjudged = whyUnjudged([left, right], [settings.left.credentials, settings.right.credentials]);
  const lines = changeLines(changesIn(compared, sidesOf(settings)));
  const summary = lines.length === 0 ? ['No differences.'] : ['What differs (left → right), by client:', ...lines];
  return { asked, reads: null, unjudged, summary };
}

/** Each server by itself, held against its own revision. */
async function readBoth({ left, right }: Comparing): Promise<readonly ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  for (const [side, player] of [
    ['left', left],
    ['right', right],
  ] as const) {
    const read = await player.read([], lineOf);
    results.push(...read.results.map((each) => ({ ...each, name: `${side}/${each.name}` })));
  }
  return results;
}

function readingOf({ left, right, settings }: Comparing): ScenarioFile {
  const others = keysOf(right);
  return readingScenario({
    revisions: [settings.left.revision, settings.right.revision],
    keys: [...keysOf(left)].filter((key) => others.has(key)),
    hasCredential: [left, right].every(({ facts }) => facts.isLetIn),
  });
}

function keysOf({ facts }: TargetPlayer): ReadonlySet<string> {
  return new Set(facts.keys.map(({ accessKey }) => accessKey));
}

function sidesOf({ left, right }: CompareSettings) {
  return { left: left.revision, right: right.revision };
}

async function compareOne(
  file: ScenarioFile | BrokenFile,
  { left, right, settings, isStopped }: Comparing,
): Promise<ComparedFile> {
  if (file.kind === 'broken') return { result: brokenResult(file), differences: [] };
  const why = reasonOf('left', left, file) ?? reasonOf('right', right, file);
  if (why !== null) return { result: unplayedResult(file, 'skipped', why), differences: [] };
  const runs: Run[] = [];
  // In a state of the run's own its keys have the scenario's names, which others may have as well.
  const foreign = hasGivenState(file.scenario) ? null : foreignKeys(left, right);
  const others = keysOf(right);
  const shared = [...keysOf(left)].filter((key) => others.has(key));
  for (const player of [left, right, left]) {
    const steps: PlayedStep[] = [];
    const bindings = player.standIns(file.scenario, 'keyway-compare-');
    const given = runs[0] === undefined ? keysFor(file.scenario, bindings, shared) : sharedKeys(runs[0], player);
    for (const [name, key] of given) bindings.set(name, key);
    const played = await player.play(file, { onStep: (step) => steps.push(step), isStopped, bindings });
    if (played.outcome === 'broken') return { result: played, differences: [] };
    // A key that both have is shown by its number: the key itself lets in anyone who knows it.
    const named = new Set(bindings.values());
    const unnamed = shared.filter((key) => !named.has(key));
    for (const [index, key] of unnamed.entries()) bindings.set(`key:shared-${index + 1}`, key);
    runs.push({
      steps,
      bindings,
      ...(foreign === null ? {} : { foreign: player === left ? foreign.left : foreign.right }),
      base: player.target.base,
    });
  }
  const [one, other, again] = runs;
  if (one === undefined || other === undefined || again === undefined || isStopped()) {
    return { result: unplayedResult(file, 'skipped', 'interrupted'), differences: [] };
  }
  const sides = sidesOf(settings);
  const compared = compareRuns(one, other, again, sides);
  const differences = compared.differences.filter((each) => {
    if (file.register === null || isOfTheLines(each, sides)) return true;
    const steps = [one, other].flatMap((run) => run.steps.filter(({ step }) => step === each.step));
    return !isRegistered(file.register, basename(file.path, '.json'), each, steps);
  });
  const known = compared.differences.length - differences.length;
  const becauseOf = (difference: (typeof differences)[number]) => changeOf(difference, sides).because;
  return {
    result: comparedResult(file, { ...compared, differences, steps: one.steps, known, becauseOf }),
    differences,
  };
}

/** Keys that stand on one of the servers alone. */
function foreignKeys(left: TargetPlayer, right: TargetPlayer) {
  const [ofLeft, ofRight] = [keysOf(left), keysOf(right)];
  return {
    left: new Set([...ofLeft].filter((key) => !ofRight.has(key))),
    right: new Set([...ofRight].filter((key) => !ofLeft.has(key))),
  };
}

/** A key that both servers have for each that a recording's client knew and no answer told it. */
function keysFor(
  scenario: Scenario,
  bindings: ReadonlyMap<string, string>,
  shared: readonly string[],
): readonly (readonly [string, string])[] {
  const names = keysUsed(exchangesOf(scenario)).flatMap((key) => /^<(key:\d+)>$/.exec(key)?.[1] ?? []);
  const unbound = [...new Set(names)].filter((name) => !bindings.has(name));
  return unbound.flatMap((name, index) => {
    const key = shared[index];
    return key === undefined ? [] : [[name, key] as const];
  });
}

/** The keys that a recording's placeholders had in the first run, as far as this server has them, too. */
function sharedKeys(first: Run | undefined, player: TargetPlayer): readonly (readonly [string, string])[] {
  const known = keysOf(player);
  return [...(first?.bindings ?? [])].filter(([name, value]) => name.startsWith('key:') && known.has(value));
}

function reasonOf(side: Side, player: TargetPlayer, { scenario }: ScenarioFile): string | null {
  const why = player.whyNot(scenario);
  return why === null ? null : `${side}: ${why}`;
}

export const compare = defineCommand<RehearseSettings | CompareSettings, null>({
  name: 'compare',
  flags: FLAGS,
  offered: 'paths',
  ask: (reading, flags, { context }) =>
    LINES.some((flag) => flags.values.has(flag)) ? readLines(reading, flags) : readSides(reading, flags, context),
  home: NO_HOME,
  work: (_home, settings, context) =>
    'lines' in settings ? rehearse(settings, context) : compareServers(settings, context),
  failureCode: 2,
  help: () => `Usage: keyway compare --from R --to R [--fail-on reads|gone|new] [PATHS…]
       keyway compare --left URL --right URL [--left-revision R] [--right-revision R] [PATHS…]

With --from and --to no server is needed: scenarios, such as recordings of your clients, are played on
embedded cores of both lines that stand in the same state, each with the file in the layout of its line.
What a client would meet after the move is listed by its program, or by its session where it named none, and
by operation: how many of its calls meet it, and the difference between the lines that it comes from.
Without PATHS the scenarios of the line --from that come with Keyway.

With --left and --right:

Holds all that two servers show to readers against their revisions, then plays scenarios on both and
shows where they answer differently, listed as above. The left one is played twice: where it differs from
itself (times, counts, generated values), nothing is reported. Nor is what docs/revisions.md lists as a known
difference of Keyway, or the words in which a request that no operation answers is refused. PATHS are
scenario files and folders; without them the scenarios of both revisions that come with Keyway.

The same rules as in "keyway replay --target" keep both servers safe: only reads, unless --writes.
At least one revision is needed; the other side then speaks the same.

  --from R                   The line that clients know: earliest, dns, current, or a version such as 0.2.48.
  --to R                     The line that they are to meet.
  --fail-on reads|gone|new   What makes the exit code 1: reads that fail; also what is gone or refused;
                             also anything new or other. Default: new.
  --left URL                 A server's base URL, with its web path.
  --right URL                The other's.
  --left-revision R          earliest, dns, current, or a version such as 0.2.48.
  --right-revision R         The same for the right one.
  --left-username NAME       The operator (or LEFT_USERNAME); the password comes from LEFT_PASSWORD.
  --right-username NAME      The right one's (or RIGHT_USERNAME), with RIGHT_PASSWORD.
  --left-token TOKEN         The static token (or LEFT_TOKEN).
  --right-token TOKEN        The right one's (or RIGHT_TOKEN).
  --writes                   Also makes keys of its own, and removes them.
  --require-played N|N%      How many operations have to be seen, or what share of them; else exit code 3.
  --ca FILE                  Certificates in PEM that are trusted instead of the system's.
  --reporter json|junit|github
                             For programs, instead of text.
  --verbose                  Names every scenario that is not played, rather than each reason.
  --timeout SECONDS          How long one exchange may take. Default: 10.

Exit codes: 0 equal, 1 something differs or is not as it was before the run, 2 could not run or nothing
was played, 3 less was seen than --require-played asks for, or no credential was given.`,
});
