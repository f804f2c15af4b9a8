import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_RESOLVER } from '../../core/dns-settings.js';
import { isBare } from '../../core/keys/key-record.js';
import type { DnsConfig, ListenerConfig, ServerConfiguration } from '../../core/model.js';
import { isPbkdf2 } from '../../core/password.js';
import {
  LATER_MEMBERS,
  neededOfDns,
  readsOfApi,
  readsPlace,
  type ServerFile,
  takesPlainKeysAlone,
} from '../../wire/traits/server-file.js';
import { renderResolver } from '../dns-section.js';
import { readDocument } from '../document.js';
import { editsOf } from '../edit.js';
import { readElement } from '../element.js';
import { inboundsOf } from '../inbounds-layout.js';
import { isAbsent } from '../reading.js';
import { withDns } from '../section-changes.js';
import { applySplices, sortSplices, splice } from '../splice.js';
import { memberOf, type ObjectNode, type ValueNode } from '../tree.js';
import { objectWith } from '../value.js';
import type { Losses } from './losses.js';
import {
  type Draft,
  draftOf,
  edited,
  indexesOf,
  insertMembers,
  removeFromRoot,
  rootStyle,
  withComments,
} from './text.js';

/** The file that servers of a line expect, or a layout whose servers are not named. */
export type ConversionTarget = ServerFile | Pick<ServerFile, 'layout' | 'configVersion' | 'laterMembers'>;

/** The member that says which servers a file was written for. */
const VERSION = 'config_version';

const UNREAD = 'servers of the target pass over it; it stays';
const EVERY_PROTOCOL = 'servers of the target pass over it: the rule is for every protocol there; it stays';

/** Records the members that other servers read and the target's ignore. */
export function nameUnread(
  { bytes, root }: Draft,
  { dns, listener }: Pick<ServerConfiguration, 'dns' | 'listener'>,
  to: ConversionTarget,
  losses: Losses,
): void {
  const { laterMembers } = to;
  for (const name of LATER_MEMBERS) {
    if (!laterMembers.includes(name) && isGiven(bytes, memberOf(root, name))) losses.add(name, UNREAD);
  }
  if (!isSurelyRead(to, 'bind_ip') && isGiven(bytes, memberOf(root, 'bind_ip'))) losses.add('bind_ip', UNREAD);
  for (const name of ['username', 'password']) {
    const place = `outbound.${name}`;
    if (!isSurelyRead(to, place) && isGiven(bytes, memberOf(memberOf(root, 'outbound'), name)))
      losses.add(place, UNREAD);
  }
  nameUnreadOfDns(dns, to, losses);
  nameUnreadOfRules(root, to, losses);
  nameUnreadOfApi(root, listener, to, losses);
}

/** Tells whether the target's servers are known, and read the member at a place. */
function isSurelyRead(to: ConversionTarget, place: string): boolean {
  return 'root' in to && readsPlace(to, place);
}

/** Records the DNS settings in force that the target's servers ignore, unless their older members say the same. */
function nameUnreadOfDns({ enabled, resolver }: DnsConfig, to: ConversionTarget, losses: Losses): void {
  if (!enabled) return;
  if ('root' in to && !readsPlace(to, 'dns')) {
    losses.add('dns', UNREAD);
    return;
  }
  if (resolver === null || isSurelyRead(to, 'dns.upstreams')) return;
  const { upstreams, lists, rewrites } = resolver;
  const said = renderResolver({
    ...DEFAULT_RESOLVER,
    upstreams: upstreams.slice(0, 1),
    lists: lists.filter((list) => list.enabled),
    rewrites: rewrites.filter(({ answer }) => isIP(answer) !== 0),
  });
  for (const [member, value] of renderResolver(resolver))
    if (!isDeepStrictEqual(value, said.get(member))) losses.add(`dns.${member}`, UNREAD);
}

/** Records the members of rules that the target's servers ignore. */
function nameUnreadOfRules(root: ObjectNode, to: ConversionTarget, losses: Losses): void {
  const home = to.layout === 'inbounds' ? 'routing' : 'outbound';
  const unread = [
    ...('root' in to && !readsPlace(to, `${home}.rules[].protocol`) ? [['protocol', EVERY_PROTOCOL] as const] : []),
    ...(to.laterMembers.includes('send_from') ? [] : [['send_from', UNREAD] as const]),
  ];
  for (const [place, rules] of [
    ['outbound.rules', memberOf(memberOf(root, 'outbound'), 'rules')],
    ['routing.rules', memberOf(memberOf(root, 'routing'), 'rules')],
  ] as const) {
    if (rules?.kind !== 'array') continue;
    for (const [index, rule] of rules.elements.entries())
      for (const [name, text] of unread)
        if (!isAbsent(memberOf(rule, name))) losses.add(`${place}[${index}].${name}`, text);
  }
}

const OPENS = 'servers of the target pass over it, and their API would be open to everyone; it stays';
const SALTED = 'servers of the target let nobody in by a salted hash; it stays';

/** Records the members of the listener that the target's servers ignore, or by which nobody could sign in there. */
function nameUnreadOfApi(
  root: ObjectNode,
  listener: ListenerConfig | null,
  to: ConversionTarget,
  losses: Losses,
): void {
  if (listener === null) return;
  const { token, username, passwordHash, webpath } = listener;
  const place = inboundsOf(root, 'api')[0]?.place ?? 'api';
  const isRead = (name: string) => !('root' in to) || readsOfApi(to, name);
  const credentials = Object.entries({ token, username, password_hash: passwordHash });
  const given = credentials.filter(([, value]) => (value ?? '') !== '');
  const isOpened = listener.enabled && !given.some(([name]) => isRead(name));
  for (const [name] of given) if (!isRead(name)) losses.add(`${place}.${name}`, isOpened ? OPENS : UNREAD);
  if (webpath !== '' && !isRead('webpath')) losses.add(`${place}.webpath`, UNREAD);
  const readsSalted = 'root' in to && to.readsPbkdf2;
  if (isPbkdf2(passwordHash) && isRead('password_hash') && !readsSalted) losses.add(`${place}.password_hash`, SALTED);
}

/** Tells whether a member is there, not null and not an empty text, even if its value was not read. */
function isGiven(bytes: Buffer, node: ValueNode | undefined): boolean {
  return !isAbsent(node) && !['null', '""'].includes(bytes.toString('latin1', node.start, node.end));
}

/** Returns the number in a file that says which servers it was written for, or null. */
export function configVersionOf({ bytes, root }: Draft): string | null {
  const node = root.members.findLast(({ name }) => name === VERSION)?.value;
  return node === undefined ? null : bytes.toString('latin1', node.start, node.end);
}

/** Returns the file with this number, or without one; comments next to it stay. */
export function withConfigVersion(draft: Draft, { configVersion: version }: ConversionTarget): Buffer {
  const { bytes, root } = draft;
  const present = root.members.find(({ name }) => name === VERSION);
  if (version === null && present === undefined) return bytes;
  if (version === null) return withComments(bytes, edited(draft, removeFromRoot(draft, [VERSION])), 'access_keys');
  if (present !== undefined) {
    const { start, end } = present.value;
    return edited(draft, [splice(start, end, String(version))]).bytes;
  }
  const [after = -1] = indexesOf(root, ['mode']);
  return edited(draft, insertMembers(bytes, root, after, [[VERSION, String(version)]], rootStyle(draft))).bytes;
}

/**
 * Adds what these servers require and others do not: plain keys if they accept no others, and the members of `dns` with
 * the settings in force.
 */
export function withNeeded(bytes: Buffer, to: ConversionTarget, losses: Losses): Buffer {
  if (!('root' in to)) return bytes;
  const plain = takesPlainKeysAlone(to) ? withPlainKeys(bytes, losses) : bytes;
  const { document, configuration } = readDocument(plain);
  const { root } = draftOf(plain);
  if (memberOf(root, 'dns')?.kind !== 'object') return plain;
  // Needed members are written only along with a change, so the present port is set again.
  const { localPort } = configuration.dns;
  const splices = editsOf(
    plain,
    root,
    objectWith(root, withDns(document, root, { localPort }, neededOfDns([{ file: to }]))),
  );
  return applySplices(plain, sortSplices(splices));
}

/** Returns the file with each key as a plain string. */
function withPlainKeys(bytes: Buffer, losses: Losses): Buffer {
  const { document, configuration } = readDocument(bytes);
  const said = configuration.keys.filter((key) => !isBare(key)).length;
  if (said > 0)
    losses.add(
      'access_keys',
      `${said} keys have a name or a limit, and servers of the target take plain keys alone; these are left out`,
    );
  const splices = document.lists.flatMap(({ starts, ends }) =>
    [...starts].flatMap((start, index) => {
      if (bytes[start] !== OPEN_OBJECT) return [];
      const key = memberOf(readElement(bytes, start), document.layout.keyMember);
      return key?.kind === 'string' ? [splice(start, ends[index] ?? start, JSON.stringify(key.value))] : [];
    }),
  );
  return applySplices(bytes, sortSplices(splices));
}

const OPEN_OBJECT = 0x7b;
