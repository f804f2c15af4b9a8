import { resolve } from 'node:path';
import { resolveRevision } from '../../../revisions/index.js';
import type { TargetCredentials } from '../../client/signed-in-caller.js';
import { CHANGE_KINDS, type ChangeKind } from '../../lab/compare/line-changes.js';
import type { Required } from '../../lab/report/verdict.js';
import { readTrusted } from '../../platform/trusted.js';
import { parseHostPort } from '../../settings/bind-address.js';
import { type FlagReading, type FlagShape, type ParsedFlags, switchFlag, valueFlag } from '../../settings/flags.js';
import { withoutApi } from '../../settings/kinds.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { CommandContext } from '../command.js';

/** Names the certificates that are trusted instead of the system's. */
export const CA_FLAG = valueFlag('ca', 'FILE', 'paths');

/** The certificates that `--ca` names, as a caller takes them. Rejects with an `Error` for people. */
export async function trustedBy(
  ca: string | null,
  { folder, fileSystem }: Pick<CommandContext, 'folder' | 'fileSystem'>,
): Promise<{ readonly ca?: Buffer }> {
  if (ca === null) return {};
  return { ca: await readTrusted('ca', resolve(folder, ca), fileSystem) };
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

function requiredOf(reading: FlagReading): Required | null {
  const text = reading.value('require-played');
  if (text === null) return null;
  const [, digits, percent] = /^(\d{1,6})(%?)$/.exec(text) ?? [];
  const count = Number(digits);
  const unit = percent === '%' ? 'percent' : 'operations';
  if (digits !== undefined && (unit === 'operations' || count <= 100)) return { count, unit };
  reading.problems.push(
    '--require-played: expected a number of operations, such as 12, or a share of them, such as 80%',
  );
  return null;
}

/** A server's base URL; its path is the secret web path. */
export interface BaseUrl {
  /** `http://host:port`. */
  readonly origin: string;
  readonly webpath: string;
}

export function baseUrl(text: string): BaseUrl | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url !== null && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (url === null || !plain || !/^https?:$/.test(url.protocol)) return null;
  return { origin: url.origin, webpath: decodeURIComponent(withoutApi(url)) };
}

export function baseUrlOf(reading: FlagReading, flag: string): BaseUrl | null {
  const text = reading.value(flag);
  if (text === null) return null;
  const url = baseUrl(text);
  if (url === null)
    reading.problems.push(
      `--${flag}: expected the server's base URL, such as http://127.0.0.1:9090, its web path behind it when it has one`,
    );
  return url;
}

/** The address `host:port` that a flag names; 127.0.0.1 and a free port where it names none. */
export function addressOf(reading: FlagReading, flag: string): { readonly host: string; readonly port: number } {
  try {
    return parseHostPort(reading.value(flag) ?? '127.0.0.1:0');
  } catch {
    reading.problems.push(`--${flag}: expected host:port with a port up to 65535`);
    return { host: '', port: 0 };
  }
}

/** The kind of change that `--fail-on` names, else what is given instead. */
export function failOnOf<Otherwise>(reading: FlagReading, otherwise: Otherwise): ChangeKind | Otherwise {
  const text = reading.value('fail-on');
  const kind = CHANGE_KINDS.find((each) => each === text);
  if (text !== null && kind === undefined)
    reading.problems.push(`--fail-on: expected one of ${CHANGE_KINDS.join(', ')}`);
  return kind ?? otherwise;
}

/** The line that a server package version belongs to; null for no known one. */
export function lineOf(version: string): Revision | null {
  const resolved = resolveRevision(version);
  return resolved.ok ? resolved.revision : null;
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
  /** Null where a name in the environment alone asks for no login. */
  readonly username: string | null;
  readonly password: string;
  readonly token: string;
}

/** Credentials from flags `--username` and `--token`, else from the environment. */
export function credentialsOf(
  reading: FlagReading,
  { environment }: CommandContext,
  sources: CredentialSources,
): TargetCredentials {
  const known = sources.username === null ? undefined : environment[sources.username];
  const username = reading.value('username') ?? known ?? null;
  const password = environment[sources.password];
  if (username !== null && password === undefined) {
    reading.problems.push(`${sources.password}: expected the password of ${username} in the environment`);
  }
  const operator = username === null || password === undefined ? null : { username, password };
  return { token: reading.value('token') ?? environment[sources.token] ?? null, operator };
}

export const REPORTERS = ['text', 'json', 'junit', 'github'] as const;
export type ReporterName = (typeof REPORTERS)[number];

function reporterNameOf(reading: FlagReading): ReporterName {
  const text = reading.value('reporter') ?? 'text';
  const known = REPORTERS.find((each) => each === text);
  if (known === undefined) reading.problems.push(`--reporter: expected one of ${REPORTERS.join(', ')}`);
  return known ?? 'text';
}

/** The flags that every command which plays scenarios on servers takes. */
export const PLAY_FLAGS: readonly FlagShape[] = [
  switchFlag('writes'),
  switchFlag('verbose'),
  valueFlag('reporter', 'json|junit|github', REPORTERS),
  valueFlag('require-played', 'N|N%'),
  CA_FLAG,
  valueFlag('timeout', 'SECONDS'),
];

/** The values of these flags. */
export type PlaySettings = ReturnType<typeof readPlaySettings>;

export function readPlaySettings(reading: FlagReading, { words }: ParsedFlags) {
  return {
    writes: reading.isOn('writes'),
    reporter: reporterNameOf(reading),
    isVerbose: reading.isOn('verbose'),
    timeoutMilliseconds: timeoutOf(reading),
    /** The file of certificates that are trusted; null for the system's. */
    ca: reading.value('ca'),
    /** The least that has to be seen; null for anything at all. */
    required: requiredOf(reading),
    /** The paths of scenarios; none for those that come with Keyway. */
    words,
  };
}
