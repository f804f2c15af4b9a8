import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { resolveRevision } from '../../revisions/index.js';
import type { TargetCredentials } from '../replay/control.js';
import { writeJson } from '../replay/format.js';
import type { Reporter } from '../replay/report.js';
import { createJsonReporter, createJunitReporter, createTapReporter } from '../replay/report-machine.js';
import { createTextReporter } from '../replay/report-text.js';
import type { SavedState } from '../replay/saved-state.js';
import type { FlagShape, Offered, ParsedFlags } from '../settings-flags.js';
import type { Revision } from '../wire/revision.js';
import type { CommandContext } from './command.js';

/** A flag that takes a value. */
export function valueFlag(flag: string, placeholder: string, offered?: Offered): FlagShape {
  return { flag, placeholder, repeatable: false, offered };
}

/** A flag that is there or not. */
export function switchFlag(flag: string): FlagShape {
  return { flag, placeholder: null, repeatable: false };
}

/** The one value of a flag, or null. */
export function firstValue({ values }: ParsedFlags, flag: string): string | null {
  return values.get(flag)?.[0] ?? null;
}

/** Reads flags one by one and gathers what is wrong with them. */
export interface FlagReading {
  readonly problems: string[];
  value(flag: string): string | null;
  isOn(flag: string): boolean;
}

export function readFlags(flags: ParsedFlags): FlagReading {
  const problems: string[] = [];
  return {
    problems,
    value: (flag) => firstValue(flags, flag),
    isOn(flag) {
      const value = firstValue(flags, flag);
      if (value !== null && value !== 'true' && value !== 'false') problems.push(`--${flag}: expected no value`);
      return value === 'true';
    },
  };
}

/** Seconds, decimals allowed, as milliseconds. */
export function timeoutOf(reading: FlagReading): number {
  const text = reading.value('timeout') ?? '10';
  const seconds = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || seconds <= 0 || seconds > 86_400) {
    reading.problems.push('--timeout: expected seconds above 0 and up to 86400, such as 10 or 0.5');
    return 0;
  }
  return seconds * 1000;
}

/** A server's base URL; its path is the secret web path. */
export interface BaseUrl {
  /** `http://host:port`. */
  readonly origin: string;
  readonly webpath: string;
}

export function baseUrlOf(reading: FlagReading, flag: string): BaseUrl | null {
  const text = reading.value(flag);
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url !== null && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (url === null || !plain || !/^https?:$/.test(url.protocol)) {
    reading.problems.push(
      `--${flag}: expected the server's base URL, such as http://127.0.0.1:9090, its web path behind it when it has one`,
    );
    return null;
  }
  return { origin: url.origin, webpath: decodeURIComponent(url.pathname) };
}

/** A revision that is known, or null after the problem was noted. */
export function revisionOf(reading: FlagReading, flag: string): Revision | null {
  const text = reading.value(flag);
  if (text === null) return null;
  const resolved = resolveRevision(text);
  if (resolved.ok) return resolved.revision;
  reading.problems.push(`--${flag}: ${resolved.problem}`);
  return null;
}

/** The environment variables that one side's credentials come from; the password has no flag. */
export interface CredentialSources {
  readonly username: string;
  readonly password: string;
  readonly token: string;
}

/** Credentials from flags `--username` and `--token`, else from the environment. */
export function credentialsOf(
  reading: FlagReading,
  { environment }: CommandContext,
  sources: CredentialSources,
): TargetCredentials {
  const username = reading.value('username') ?? environment[sources.username] ?? null;
  const password = environment[sources.password];
  if (username !== null && password === undefined) {
    reading.problems.push(`${sources.password}: expected the password of ${username} in the environment`);
  }
  const operator = username === null || password === undefined ? null : { username, password };
  return { token: reading.value('token') ?? environment[sources.token] ?? null, operator };
}

/** Writes what stood on a server beside the user, readable by nobody else, until it is put back. */
export async function keepSaved(
  saved: SavedState,
  { folder, fileSystem, clock, complain }: CommandContext,
  label = '',
): Promise<() => Promise<void>> {
  const name = `keyway-saved-${label === '' ? '' : `${label}-`}${new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, '')}.json`;
  const path = join(folder, name);
  const { config, rules, dns, audit, keys } = saved;
  const content = writeJson({ config, rules, dns, audit: [...audit], keys: [...keys] }, 2);
  await fileSystem.create(path, Buffer.from(`${content}\n`), 0o600);
  await fileSystem.sync(path);
  complain(`what stood there is saved in ${path} until it is put back`);
  return () => fileSystem.remove(path);
}

/** How results can be written. */
export const REPORTERS = ['text', 'json', 'junit', 'tap'] as const;
export type ReporterName = (typeof REPORTERS)[number];

export function reporterNameOf(reading: FlagReading): ReporterName {
  const text = reading.value('reporter') ?? 'text';
  const known = REPORTERS.find((each) => each === text);
  if (known === undefined) reading.problems.push(`--reporter: expected one of ${REPORTERS.join(', ')}`);
  return known ?? 'text';
}

export function createReporter(
  name: ReporterName,
  { output }: CommandContext,
  sides?: readonly [string, string],
): Reporter {
  const line = (text: string) => output.line(text);
  switch (name) {
    case 'json':
      return createJsonReporter(line);
    case 'junit':
      return createJunitReporter(line);
    case 'tap':
      return createTapReporter(line);
    case 'text':
      return createTextReporter({ line, isTerminal: output.isTerminal, ...(sides === undefined ? {} : { sides }) });
  }
}

/** The folder of the scenarios that come with Keyway, wherever it is installed. */
export function packFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'fixtures')) && dirname(folder) !== folder) folder = dirname(folder);
  return join(folder, 'fixtures');
}

/** The paths that were asked for, or the whole pack. */
export function scenarioPaths(words: readonly string[], { folder }: CommandContext): readonly string[] {
  return words.length === 0
    ? PACK_FOLDERS.map((each) => join(packFolder(), each))
    : words.map((each) => resolve(folder, each));
}

const PACK_FOLDERS = ['earliest', 'dns', 'current', 'lines', 'recorded'];

/** Whether a scenario belongs to a revision: it names it, or a server version that speaks it. */
export function isOfRevision(scenarioRevision: string, revision: Revision): boolean {
  const resolved = resolveRevision(scenarioRevision);
  return resolved.ok && resolved.revision === revision;
}
