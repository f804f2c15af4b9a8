import { type ResolvedRevision, resolveRevision } from '../../../revisions/index.js';
import type { FileCheck } from '../../document/check/file-check.js';
import { type ParsedFlags, valueFlag } from '../../settings/flags.js';

/** Names the servers that a command is about by their package version. */
export const FOR_FLAG = valueFlag('for', 'VERSION');

/** The server that `--for` names; null without the flag, and for one that `serverProblems` refuses. */
export function serverIn(flags: ParsedFlags): ResolvedRevision | null {
  const server = namedIn(flags);
  return typeof server === 'string' ? null : server;
}

/** The problem with what `--for` names, for a command line. */
export function serverProblems(flags: ParsedFlags): readonly string[] {
  const server = namedIn(flags);
  return typeof server === 'string' ? [`--${FOR_FLAG.flag}: ${server}`] : [];
}

function namedIn({ values }: ParsedFlags): ResolvedRevision | string | null {
  const text = values.get(FOR_FLAG.flag)?.[0];
  if (text === undefined) return null;
  const answer = resolveRevision(text);
  if (!answer.ok) return answer.problem;
  const { isLater, revision } = answer;
  return isLater ? `${text} is later than ${revision.reportedVersion}, the last known version` : answer;
}

/** The reading of the file by a server of one version. */
export interface Fit {
  readonly version: string;
  /** The reasons why it does not start with all keys, in sentences without their subject. */
  readonly problems: readonly string[];
  /** True where the file describes a listener, and it serves no API all the same. */
  readonly lacksApi: boolean;
  /** True where the file has the layout that it reads. */
  readonly isItsLayout: boolean;
}

export function fitFor({ offer, configuration, layout }: FileCheck, { revision, version }: ResolvedRevision): Fit {
  const { fileReading } = revision;
  const startProblem = fileReading.startProblem(offer);
  const total = configuration.keys.length;
  const lacks = ({ keys }: { readonly keys: number }, when: string) =>
    keys < total ? [`has ${keys} of its ${total} keys ${when}`] : [];
  const atStart =
    startProblem === null ? lacks(fileReading.atStart(offer), 'at its start') : [`does not start: ${startProblem}`];
  const atLiveReload = lacks(fileReading.atLiveReload(offer, version), 'at a live reload');
  return {
    version,
    problems: [...atStart, ...atLiveReload],
    lacksApi: configuration.listener?.enabled === true && !fileReading.readsListener(offer),
    isItsLayout: fileReading.layout === layout,
  };
}

/** A fit for people, with what can be done about it. */
export function fitText(fit: Fit | null, named: string): readonly string[] {
  if (fit === null) return [];
  const { version, problems, lacksApi, isItsLayout } = fit;
  const found = problems.length === 0 ? ['starts from it, and has all of its keys'] : problems;
  const api = isItsLayout ? 'serves no API: it wants a token, or a username with a password_hash' : 'serves no API';
  return [
    '',
    ...[...found, ...(lacksApi ? [api] : [])].map((words) => `A server of ${version} ${words}.`),
    ...(isItsLayout ? [] : [`To move the file: keyway config convert ${named} --for ${version}`]),
  ];
}
