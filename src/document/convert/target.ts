import { LATER_MEMBERS, type ServerFile } from '../../wire/traits/server-file.js';
import { isAbsent } from '../reading.js';
import { splice } from '../splice.js';
import { memberOf, type ValueNode } from '../tree.js';
import type { Losses } from './losses.js';
import { type Draft, edited, indexesOf, insertMembers, removeFromRoot, rootStyle, withComments } from './text.js';

/** The file that servers of a line expect. */
export type ConversionTarget = Pick<ServerFile, 'layout' | 'configVersion' | 'laterMembers'>;

/** The member that says which servers a file was written for. */
const VERSION = 'config_version';

const UNREAD = 'servers of the target pass over it; it stays';

/** Names the members that the target's servers pass over, and that others read. */
export function nameUnread({ bytes, root }: Draft, { laterMembers }: ConversionTarget, losses: Losses): void {
  for (const name of LATER_MEMBERS) {
    if (!laterMembers.includes(name) && isGiven(bytes, memberOf(root, name))) losses.add(name, UNREAD);
  }
  if (laterMembers.includes('send_from')) return;
  for (const [place, rules] of [
    ['outbound.rules', memberOf(memberOf(root, 'outbound'), 'rules')],
    ['routing.rules', memberOf(memberOf(root, 'routing'), 'rules')],
  ] as const) {
    if (rules?.kind !== 'array') continue;
    for (const [index, rule] of rules.elements.entries())
      if (!isAbsent(memberOf(rule, 'send_from'))) losses.add(`${place}[${index}].send_from`, UNREAD);
  }
}

/** Null is as good as absent, also where the value was not read. */
function isGiven(bytes: Buffer, node: ValueNode | undefined): boolean {
  return !isAbsent(node) && bytes.toString('latin1', node.start, node.end) !== 'null';
}

/** The number in a file that says which servers it was written for; null where it has none. */
export function configVersionOf({ bytes, root }: Draft): string | null {
  const node = root.members.findLast(({ name }) => name === VERSION)?.value;
  return node === undefined ? null : bytes.toString('latin1', node.start, node.end);
}

/** The file with this number, or without one; comments beside it stay. */
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
