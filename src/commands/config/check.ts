import { REVISIONS } from '../../../revisions/all.js';
import type { AccessKey } from '../../core/model.js';
import { isPasswordHash } from '../../core/password.js';
import { checkFile, type FileCheck } from '../../document/check/file-check.js';
import type { UnknownMember } from '../../document/check/members.js';
import { type KeysRead, readingOf } from '../../document/check/servers.js';
import { isOn } from '../../settings/flags.js';
import { prettyJson } from '../../wire/json/json.js';
import { type Encodable, encodeJson } from '../../wire/json/write-json.js';
import { didYouMean } from '../../wire/suggest.js';
import { textTable } from '../text-table.js';
import { fileCommand, JSON_FLAG, plainText } from './file.js';
import { type Fit, FOR_FLAG, fitFor, fitText, serverIn, serverProblems } from './fit.js';

export const configCheck = fileCommand({
  name: 'config check',
  settings: [],
  flags: [FOR_FLAG, JSON_FLAG],
  problems: serverProblems,
  work: async ({ named, target, flags }, { output }) => {
    const found = checkFile(target.bytes);
    const server = serverIn(flags);
    const fit = server === null ? null : fitFor(found, server);
    if (isOn(flags, JSON_FLAG.flag)) output.line(prettyText(asJson(found, fit)));
    else for (const line of [...textOf(found, named), ...fitText(fit, named), ...keysText(fit)]) output.line(line);
    return fit === null || fit.problems.length === 0 ? 0 : 1;
  },
  help: () => `Usage: keyway config check FILE [--for VERSION] [--json]

Says what stands in a server's configuration file, and changes nothing: its layout, where its keys
are, keys that stand there twice, what is ignored because it has a wrong type, members that Keyway
does not look at, how a root access_keys differs from the inbounds, whether a server of each
line starts from it, the member that is in its way, and what it would read. Access keys are shown in
full; tokens and hashes are not.

What servers do was measured. For 0.2.0 to 0.2.30, 0.3.7 to 0.3.20 and 0.4.0 to 0.4.5 it is inferred.

A member that is not looked at may be a server's own, or misspelt. Keyway leaves it as it is.

Exit code 0 whatever it finds, 1 when the file is no configuration at all; with --for also 1 where a
server of that version would not start from it, or would not have all of its keys.

  --for VERSION  say so for servers of this package version, with the keys that they would have
  --json         print the same as JSON

  keyway config check /etc/tunnel/server.jsonc
  keyway config check /etc/tunnel/server.jsonc --for 0.2.30`,
});

function prettyText(value: Encodable): string {
  return prettyJson(Buffer.from(encodeJson(value))).toString('utf8');
}

function textOf(found: FileCheck, named: string): readonly string[] {
  const { configuration, legacyList, duplicates, unknown, warnings } = found;
  return [
    `${named} has the layout with ${found.layout}.`,
    '',
    ...summary(found),
    ...(legacyList === null ? [] : ['', ...legacyListText(legacyList, named)]),
    ...section(
      'Keys that stand there twice; the last counts:',
      duplicates.map(({ accessKey, place, counts }) => `${plainText(accessKey)}: ${place}, before ${counts}`),
    ),
    ...section('Ignored:', warnings),
    ...section('Not looked at, and left as it is:', unknown.map(unknownText)),
    ...(configuration.mode === 'server'
      ? []
      : ['', 'The mode is not "server": changes to this file are not applied live.']),
    '',
    'What a server of each line makes of it:',
    '',
    ...linesText(found),
  ];
}

function section(heading: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', heading, ...lines.map((line) => `  ${line}`)];
}

function summary({ configuration, lists }: FileCheck): readonly string[] {
  const { keys, listener, listen, outbound, dns } = configuration;
  const places = lists.map(({ place, elements }) => `${place} (${elements})`).join(', ');
  const named = keys.filter(({ name }) => name !== null).length;
  const limited = keys.filter(({ limitBytes }) => limitBytes !== null).length;
  const rules = outbound === null ? 'not configured' : `${outbound.rules.length} rules, else ${outbound.defaultAction}`;
  return [
    `  keys      ${keys.length}, of them ${named} with a name and ${limited} with a limit${places === '' ? '' : `; in ${places}`}`,
    `  listener  ${listener === null ? 'none' : listenerText(listener)}`,
    `  address   ${listen === null ? 'none for clients' : plainText(listen)}`,
    `  routing   ${rules}`,
    `  DNS       ${dns.enabled ? 'enabled' : 'not enabled'}`,
  ];
}

function listenerText(listener: NonNullable<FileCheck['configuration']['listener']>): string {
  const { enabled, bind, webpath, token, username, passwordHash } = listener;
  const login = isPasswordHash(passwordHash)
    ? 'a login'
    : 'a login that lets nobody in (its password_hash is malformed)';
  const ways = [...(token === null ? [] : ['a token']), ...(username !== '' && passwordHash !== '' ? [login] : [])];
  const credential = ways.length === 0 ? 'without a credential' : `with ${ways.join(' and ')}`;
  const path = webpath === '' ? '' : `, web path ${plainText(webpath)}`;
  return `${plainText(bind)}${path}, ${credential}${enabled ? '' : ', not enabled'}`;
}

function legacyListText(list: NonNullable<FileCheck['legacyList']>, named: string): readonly string[] {
  const { elements, onlyInList, onlyInInbounds, differing, withoutKey } = list;
  const differs = differing.map(({ inInbounds, inList }) => {
    return `${plainText(inInbounds.accessKey)}: ${carriedText(inList)}; in inbounds ${carriedText(inInbounds)}`;
  });
  const without = withoutKey.map((index) => `access_keys[${index}]`);
  const same = onlyInList.length + onlyInInbounds.length + differing.length + withoutKey.length === 0;
  return [
    `The file has inbounds and a root access_keys (${elements}). Keyway reads the inbounds alone.`,
    ...(same ? ['  It says what the inbounds say.'] : []),
    ...kind('only there', onlyInList.map(keyText)),
    ...kind("only in inbounds, perhaps deleted through a server's own API", onlyInInbounds.map(keyText)),
    ...kind('in both, with another name or limit', differs),
    ...kind('elements without a key', without),
    `  To take it over: keyway config adopt ${named} [--add] [--remove] [--update]`,
  ];
}

function kind(heading: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`  ${heading}:`, ...lines.map((line) => `    ${line}`)];
}

/** A key with what it carries. */
export function keyText(key: AccessKey): string {
  return key.name === null && key.limitBytes === null
    ? plainText(key.accessKey)
    : `${plainText(key.accessKey)} (${carriedText(key)})`;
}

export function carriedText({ name, limitBytes }: AccessKey): string {
  const parts = [
    ...(name === null ? [] : [`name ${JSON.stringify(name)}`]),
    ...(limitBytes === null ? [] : [`limit ${limitBytes} bytes`]),
  ];
  return parts.length === 0 ? 'no name, no limit' : parts.join(', ');
}

function unknownText({ place, name, count, known }: UnknownMember): string {
  return `${place}${count === 1 ? '' : ` and ${count - 1} more`}${didYouMean(name, known)}`;
}

/** The lines, and where the servers of one differ in what they read, each part of it. */
const VERSIONS = REVISIONS.flatMap(({ id, from, to, file }) => {
  const { unionSince } = file;
  if (unionSince === null) return [{ id, from, to, file }];
  return [
    { id, from, to: `before ${unionSince}`, file },
    { id, from: unionSince, to, file },
  ];
});

function linesText(found: FileCheck): readonly string[] {
  const lines = VERSIONS.map(({ id, from, to, file }) => {
    const { problem, atStart, atLiveReload, listener } = readingOf(found, file, from);
    const unstarted = problem === null ? null : `does not start: ${problem}`;
    const notes = [...new Set([unstarted, atStart.note, atLiveReload.note])].filter((note) => note !== null);
    return {
      id: file.unionSince === null ? id : from,
      cells: [id, from, to ?? 'later', yesOrNo(problem === null), atStart.text, atLiveReload.text, yesOrNo(listener)],
      notes,
    };
  });
  const head = ['line', 'from', 'to', 'starts', 'at its start', 'at a live reload', 'listener'];
  const table = textTable(
    head,
    lines.map(({ cells }) => cells),
  );
  const notes = new Map<string, string[]>();
  for (const line of lines) for (const note of line.notes) notes.set(note, [...(notes.get(note) ?? []), line.id]);
  const remarks = [...notes].map(([note, ids]) => `${ids.join(', ')}: ${note}.`);
  return remarks.length === 0 ? [table] : [table, '', ...remarks];
}

function yesOrNo(is: boolean): string {
  return is ? 'yes' : 'no';
}

/** The keys that the server of `--for` has, each in full. */
function keysText(fit: Fit | null): readonly string[] {
  if (fit === null || fit.keys === null) return [];
  return section(`A server of ${fit.version} has these keys:`, fit.keys.map(keyText));
}

function readJson({ keys, text, note }: KeysRead): Encodable {
  const named = keys.filter(({ name }) => name !== null).length;
  const limited = keys.filter(({ limitBytes }) => limitBytes !== null).length;
  return { keys: keys.length, named, limited, text, note };
}

function asJson(found: FileCheck, fit: Fit | null): Encodable {
  const { configuration, legacyList } = found;
  const { mode, keys, listener, listen, outbound, dns } = configuration;
  return {
    layout: found.layout,
    mode,
    keys: keys.length,
    lists: found.lists.map(({ place, elements }) => ({ place, elements })),
    listener: listener === null ? null : { enabled: listener.enabled, bind: listener.bind, webpath: listener.webpath },
    listen,
    rules: outbound === null ? null : outbound.rules.length,
    dnsEnabled: dns.enabled,
    rootList: legacyList === null ? null : legacyListJson(legacyList),
    duplicates: found.duplicates.map(({ accessKey, place, counts }) => ({ accessKey, place, counts })),
    unknown: found.unknown.map(({ place, count }) => ({ place, count })),
    warnings: found.warnings,
    lines: VERSIONS.map(({ id, from, to, file }) => {
      const { problem, atStart, atLiveReload, listener } = readingOf(found, file, from);
      return {
        ...{ id, from, to, startProblem: problem },
        ...{ atStart: readJson(atStart), atLiveReload: readJson(atLiveReload), listener },
      };
    }),
    ...(fit === null ? {} : { for: { ...fit, keys: fit.keys?.map(keyJson) ?? null } }),
  };
}

function legacyListJson(list: NonNullable<FileCheck['legacyList']>): Encodable {
  const { elements, onlyInList, onlyInInbounds, differing, withoutKey } = list;
  return {
    elements,
    withoutKey,
    onlyInList: onlyInList.map(keyJson),
    onlyInInbounds: onlyInInbounds.map(keyJson),
    differing: differing.map(({ inList, inInbounds }) => ({
      inList: keyJson(inList),
      inInbounds: keyJson(inInbounds),
    })),
  };
}

/** A key for programs, in the words of the specification. */
export function keyJson({ accessKey, name, limitBytes }: AccessKey): Encodable {
  return { access_key: accessKey, name, limit_bytes: limitBytes };
}
