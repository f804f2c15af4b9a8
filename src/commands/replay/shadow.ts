import { resolve } from 'node:path';
import { CHANGE_KINDS } from '../../replay/compare/line-changes.js';
import { summaryOf } from '../../replay/compare/result.js';
import { readFixtureJson } from '../../replay/format/scenario.js';
import { listOf, object, shaped, TEXT } from '../../replay/format/shape.js';
import { type FlagReading, type ParsedFlags, switchFlag, valueFlag } from '../../settings/flags.js';
import type { ExpectedDifference } from '../../shadow/judge.js';
import type { SecondSettings } from '../../shadow/messages.js';
import { serveReport } from '../../shadow/ops.js';
import { Relay } from '../../shadow/relay.js';
import {
  isFailing,
  lostWords,
  reportLines,
  resultsOf,
  standingWords,
  verdictOfReport,
} from '../../shadow/report-words.js';
import type { ShadowReport } from '../../shadow/tally.js';
import { type CommandContext, type ExitCode, wordsOf } from '../command.js';
import { defineCommand, NO_HOME } from '../define-command.js';
import { readNamed } from './named-file.js';
import { createReporterNamed, sayBeside } from './run.js';
import {
  addressOf,
  baseUrlOf,
  CA_FLAG,
  credentialsOf,
  failOnOf,
  REPORTERS,
  reporterNameOf,
  revisionOf,
  timeoutOf,
  trustedBy,
} from './settings.js';
import { ReportFile, readReport } from './shadow-report-file.js';

const FLAGS = [
  valueFlag('target', 'URL'),
  valueFlag('revision', 'R', 'revisions'),
  valueFlag('token', 'TOKEN'),
  valueFlag('listen', 'ADDR'),
  valueFlag('to', 'R', 'revisions'),
  valueFlag('shadow', 'URL'),
  valueFlag('shadow-revision', 'R', 'revisions'),
  valueFlag('shadow-username', 'NAME'),
  valueFlag('shadow-token', 'TOKEN'),
  switchFlag('writes'),
  switchFlag('destructive'),
  switchFlag('prepare'),
  switchFlag('forward-credentials'),
  valueFlag('until', 'N'),
  valueFlag('for', 'TIME'),
  valueFlag('fail-on', CHANGE_KINDS.join('|'), CHANGE_KINDS),
  valueFlag('expect', 'FILE', 'paths'),
  valueFlag('save', 'DIR', 'paths'),
  valueFlag('report', 'FILE', 'paths'),
  switchFlag('status'),
  valueFlag('ops-bind', 'ADDR'),
  valueFlag('reporter', 'json|junit|tap|github', REPORTERS),
  CA_FLAG,
  valueFlag('timeout', 'SECONDS'),
];

/** Flags that ask for something of a second server, which an embedded core does not need. */
const OF_SECOND = [
  ...['shadow-revision', 'shadow-username', 'shadow-token'],
  ...['writes', 'destructive', 'prepare', 'forward-credentials'],
];

type Settings = NonNullable<ReturnType<typeof readShadow>>;

function readShadow(reading: FlagReading, flags: ParsedFlags, context: CommandContext) {
  if (flags.words.length > 0) reading.problems.push('expected flags only');
  const path = resolve(context.folder, reading.value('report') ?? 'keyway-shadow.json');
  const failOn = failOnOf(reading, null);
  const shared = { report: path, reporter: reporterNameOf(reading), failOn };
  if (reading.isOn('status')) return { ...shared, run: null };
  const target = baseUrlOf(reading, 'target');
  const listen = addressOf(reading, 'listen');
  if (reading.value('target') === null) reading.problems.push('--target: expected the base URL of the server in use');
  if (reading.value('listen') === null)
    reading.problems.push('--listen: expected the address that clients use instead');
  const shadow = shadowOf(reading, context);
  const run = {
    target,
    listen,
    shadow,
    revision: named(reading, 'revision'),
    credentials: credentialsOf(reading, context, {
      username: null,
      password: 'KEYWAY_PASSWORD',
      token: 'KEYWAY_TOKEN',
    }),
    prepares: reading.isOn('prepare'),
    until: numberOf(reading, 'until'),
    milliseconds: durationOf(reading),
    expect: reading.value('expect'),
    save: reading.value('save'),
    ops: reading.value('ops-bind') === null ? null : addressOf(reading, 'ops-bind'),
    ca: reading.value('ca'),
    timeoutMilliseconds: timeoutOf(reading),
  };
  if (target === null || shadow === null) return null;
  return { ...shared, run: { ...run, target, shadow } };
}

function named(reading: FlagReading, flag: string): string | null {
  return revisionOf(reading, flag) === null ? null : reading.value(flag);
}

type AskedShadow = { readonly line: string } | Omit<SecondSettings, 'ca' | 'timeoutMilliseconds'>;

function shadowOf(reading: FlagReading, context: CommandContext): AskedShadow | null {
  const line = reading.value('to');
  if ((line === null) === (reading.value('shadow') === null)) {
    reading.problems.push('--to, --shadow: expected one of them, the line of an embedded core or a second server');
    return null;
  }
  if (line !== null) {
    for (const flag of OF_SECOND)
      if (reading.isOn(flag) || reading.value(flag) !== null)
        reading.problems.push(`--${flag}: expected --shadow beside it`);
    return named(reading, 'to') === null ? null : { line };
  }
  const url = baseUrlOf(reading, 'shadow');
  const ofShadow = { ...reading, value: (flag: string) => reading.value(`shadow-${flag}`) };
  const sources = ['USERNAME', 'PASSWORD', 'TOKEN'].map((each) => `KEYWAY_SHADOW_${each}`);
  const [username = '', password = '', token = ''] = sources;
  const credentials = credentialsOf(ofShadow, context, { username, password, token });
  const destructive = reading.isOn('destructive');
  if (url === null) return null;
  return {
    ...url,
    revision: named(reading, 'shadow-revision'),
    credentials,
    writes: reading.isOn('writes') || destructive,
    destructive,
    forwardsCredentials: reading.isOn('forward-credentials'),
  };
}

function numberOf(reading: FlagReading, flag: string): number | null {
  const text = reading.value(flag);
  if (text === null) return null;
  if (!/^[1-9]\d{0,8}$/.test(text))
    reading.problems.push(`--${flag}: expected a number of compared requests, such as 10000`);
  return Number(text);
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function durationOf(reading: FlagReading): number | null {
  const text = reading.value('for');
  if (text === null) return null;
  const [, digits = '', unit = ''] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  if (digits === '') reading.problems.push('--for: expected a time, such as 90s, 30m, 24h or 7d');
  return Number(digits) * (UNITS[unit] ?? 0);
}

async function showStatus(settings: Settings, context: CommandContext): Promise<ExitCode> {
  const report = await readReport(settings.report, context);
  sayBeside(settings, context)(standingWords(report, context.clock.now()));
  return tell(report, settings, context);
}

/** The most milliseconds that a timer takes: it ends a longer time at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

async function wholeTime(milliseconds: number, { wait }: CommandContext): Promise<void> {
  for (let left = milliseconds; left > 0; left -= LONGEST_TIMER) await wait(Math.min(left, LONGEST_TIMER));
}

/** The most milliseconds that the last report may take. */
const LAST_REPORT = 5_000;
/** The most milliseconds that scenarios may take before it: whoever compares gives way to all else on the machine. */
const LAST_SAVED = 30_000;
/** Milliseconds between two looks at the keys of both servers. */
const FOLLOW_EVERY = 60_000;

async function shadowUntilStopped(
  settings: Settings,
  asked: NonNullable<Settings['run']>,
  context: CommandContext,
): Promise<ExitCode> {
  const { target, listen, timeoutMilliseconds } = asked;
  const stopped = context.untilStopped();
  const trusted = await trustedBy(asked.ca, context);
  const ca = trusted.ca ?? null;
  const expected = await expectedOf(asked.expect, context);
  const state: { report: ShadowReport | null; refused: string | null } = { report: null, refused: null };
  const file = new ReportFile(settings.report, context);
  await file.begin();
  let finish: () => void = () => undefined;
  const enough = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const ops = asked.ops === null ? null : await serveReport(asked.ops, () => state.report).catch(namedBy('--ops-bind'));
  const relay = await Relay.start({
    worker: {
      target: { ...target, revision: asked.revision, token: asked.credentials.token, ca },
      shadow: 'line' in asked.shadow ? asked.shadow : { ...asked.shadow, ca, timeoutMilliseconds },
      prepares: asked.prepares,
      expected,
      timeoutMilliseconds,
      followEvery: FOLLOW_EVERY,
      save: asked.save === null ? null : { folder: resolve(context.folder, asked.save), milliseconds: LAST_SAVED },
      date: new Date(context.clock.now()).toISOString().slice(0, 10),
    },
    ...trusted,
    listen,
    onReport(report) {
      state.report = report;
      void file.write(report);
      if (asked.until !== null && report.compared >= asked.until) finish();
    },
    onLost(why) {
      context.complain(`keyway shadow: nothing is compared any more, and clients are served on: ${why}`);
      // So many will never be compared.
      if (asked.until !== null) finish();
    },
    onRefused(why, details) {
      state.refused ??= [why, ...details].join('\n  ');
      finish();
    },
  }).catch(namedBy('--listen'));
  const path = target.webpath === '/' ? '' : target.webpath;
  sayBeside(settings, context)(`Shadowing ${target.origin}: use ${relay.url}${path} instead; Ctrl-C ends it`);
  const over = asked.milliseconds === null ? [] : [wholeTime(asked.milliseconds, context)];
  await Promise.race([stopped, enough, ...over]);
  const worker = asked.save === null ? LAST_REPORT : 2 * LAST_REPORT + LAST_SAVED;
  const report = await relay.end({ clients: LAST_REPORT, worker });
  ops?.close();
  await file.write(report);
  if (state.refused !== null) {
    context.complain(`keyway shadow: ${state.refused}`);
    return 3;
  }
  return tell(report, settings, context);
}

/** Makes an error name the flag that it comes from. */
function namedBy(flag: string): (error: unknown) => never {
  return (error) => {
    throw new Error(`${flag}: ${wordsOf(error)}`, { cause: error });
  };
}

const REGISTER = listOf(object({ operation: TEXT, where: TEXT, reason: TEXT }));

/** Reads a register of expected differences. Rejects with `ShapeError`, which names the file, the JSON path and what was expected there. */
async function expectedOf(path: string | null, context: CommandContext): Promise<readonly ExpectedDifference[]> {
  if (path === null) return [];
  const whole = resolve(context.folder, path);
  const text = await readNamed(whole, context).catch(namedBy('--expect'));
  return shaped(REGISTER, readFixtureJson(text, whole), { file: whole, path: '' });
}

function tell(report: ShadowReport, settings: Settings, context: CommandContext): ExitCode {
  // An operation of which nothing was compared has its own line, with the reasons.
  const reporter = createReporterNamed(settings.reporter, ['target', 'shadow'], context, true);
  const results = resultsOf(report);
  reporter.begin?.(results.length);
  for (const result of results) reporter.done?.(result);
  const problems = report.compared > 0 ? [] : ['nothing was compared'];
  const lost = report.lost === null ? [] : [lostWords(report.lost)];
  const ending = { summary: summaryOf(results), verdict: verdictOfReport(report), problems: [...problems, ...lost] };
  reporter.end({ results, ...ending });
  if (settings.reporter === 'text') for (const each of reportLines(report)) context.output.line(each);
  for (const problem of problems) context.complain(`keyway shadow: ${problem}`);
  if (isFailing(report, settings.failOn)) return 1;
  if (report.lost !== null) return 2;
  if (report.compared > 0) return 0;
  return report.shadow === null ? 3 : 2;
}

export const shadow = defineCommand<Settings, null>({
  name: 'shadow',
  flags: FLAGS,
  ask: (reading, flags, { context }) => readShadow(reading, flags, context),
  home: NO_HOME,
  work: (_home, settings, context) =>
    settings.run === null ? showStatus(settings, context) : shadowUntilStopped(settings, settings.run, context),
  failureCode: 2,
  help: () => `Usage: keyway shadow --target URL --listen ADDR --to R
       keyway shadow --target URL --listen ADDR --shadow URL [--writes] [--prepare]
       keyway shadow --status [--report FILE]

Stands between clients and the server that they use, and asks a second one the same: an embedded core
of another line, begun from the server's configuration, or a server of yours. What the second one
answers otherwise is counted and shown. Clients get the server's own answers, byte for byte, as soon as
they are there, whatever becomes of the second one.

  --target URL            The server in use, with its web path.
  --revision R            What it speaks; left out, its version says.
  --token TOKEN           Its static token (or KEYWAY_TOKEN). Without one, the first credential of a client
                          that it accepts is gone by, in memory alone; nothing is signed in there.
  --listen ADDR           Where clients connect to instead, host:port.
  --to R                  An embedded core of this line: earliest, dns, current, or a version such as 0.4.6.
  --shadow URL            A second server instead, with its web path.
  --shadow-revision R     What that speaks; left out, its version says.
  --shadow-token TOKEN    Its static token (or KEYWAY_SHADOW_TOKEN).
  --shadow-username NAME  Its operator (or KEYWAY_SHADOW_USERNAME); the password comes from
                          KEYWAY_SHADOW_PASSWORD.
  --writes                Also makes, changes and removes keys there, as the clients do.
  --destructive           Also replaces configuration, rules and DNS settings there.
  --prepare               Makes its keys those of the target before anything is compared.
  --forward-credentials   Sends it the clients' own credentials instead of its own.
  --until N               Ends after so many compared requests.
  --for TIME              Ends after this time: 90s, 30m, 24h, 7d.
  --fail-on reads|gone|new
                          Also makes the exit code 1 for changes that the lines explain: reads that fail;
                          also what is gone; also anything new. Default: none of them.
  --expect FILE           Differences that are expected, a JSON list of {"operation","where","reason"}.
  --save DIR              Writes the first request of each kind of difference as a scenario for "keyway replay".
  --report FILE           Where the report is kept while it runs. Default: keyway-shadow.json.
  --status                Prints that report.
  --ops-bind ADDR         Answers /report and /metrics here.
  --reporter json|junit|tap|github
                          For programs, instead of text.
  --ca FILE               Certificates in PEM that are trusted instead of the system's.
  --timeout SECONDS       How long one exchange with the second server may take. Default: 10.

Exit codes: 0 equal but for what the lines explain, 1 something differs, 2 could not run or nothing was
compared, 3 the second server is not as it has to be, or no credential came by.`,
});
