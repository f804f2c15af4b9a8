import { type ResolvedRevision, resolveRevision } from '../../../revisions/index.js';
import type { AccessKey } from '../../core/model.js';
import type { FileCheck } from '../../document/check/file-check.js';
import { readingOf } from '../../document/check/servers.js';
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
  /** The keys that it has after its start; null where it does not start. */
  readonly keys: readonly AccessKey[] | null;
  /** True where the file describes a listener, and it serves no API all the same. */
  readonly lacksApi: boolean;
  /** True where the file has the layout that it reads. */
  readonly isItsLayout: boolean;
}

export function fitFor(checked: FileCheck, { revision, version }: ResolvedRevision): Fit {
  const { configuration, layout } = checked;
  const { problem, atStart, atLiveReload, listener } = readingOf(checked, revision.file, version);
  const lacks = ({ keys }: { readonly keys: readonly AccessKey[] }, when: string) => {
    const had = new Set(keys.map(({ accessKey }) => accessKey));
    const [total, missing] = [
      configuration.keys.length,
      configuration.keys.filter((key) => !had.has(key.accessKey)).length,
    ];
    return missing === 0 ? [] : [`has ${total - missing} of its ${total} keys ${when}`];
  };
  return {
    version,
    problems: [
      ...(problem === null ? lacks(atStart, 'at its start') : [`does not start: ${problem}`]),
      ...lacks(atLiveReload, 'at a live reload'),
    ],
    keys: problem === null ? atStart.keys : null,
    lacksApi: configuration.listener?.enabled === true && !listener,
    isItsLayout: revision.file.layout === layout,
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
