import { addressText } from '../address.js';
import { membersOf, styleOf } from '../element.js';
import type { Outbound, PlacedObject } from '../inbounds-layout.js';
import type { KeysNode } from '../key-list.js';
import { removeItems, type SequenceStyle } from '../sequence.js';
import { type Splice, splice } from '../splice.js';
import { lineIndent } from '../style.js';
import { memberOf, type ObjectNode } from '../tree.js';
import { otherProxy, type Parts, type Plan, partsOf, planOf } from './inbounds-plan.js';
import { renameKeys } from './keys.js';
import { type Losses, loseMembers, TAKEN } from './losses.js';
import {
  type Draft,
  draftOf,
  edited,
  indexesOf,
  insertMembers,
  memberText,
  movedText,
  refuseRepeated,
  removeFromRoot,
  rootStyle,
  withComments,
} from './text.js';

/**
 * Converts a file with inbounds to the layout with a root `access_keys`. Parts without a place there are recorded in
 * `losses` and left out. Keys stay in their order, with their comments and unknown members; those of several inbounds
 * become one list.
 */
export function toAccessKeys(source: Buffer, losses: Losses): Buffer {
  const first = draftOf(source);
  const parts = partsOf(first.root);
  for (const { node, place } of [...parts.holders, ...parts.listeners]) refuseRepeated(node, place);
  refuseRepeated(first.root, '');
  refuseRepeated(memberOf(first.root, 'routing'), 'routing');
  if (parts.proxy !== undefined) refuseRepeated(parts.proxy.node, parts.proxy.place);
  const plan = planOf(first.root, parts, losses);
  let draft = edited(first, inPlace(first, parts, losses));
  draft = edited(draft, putInFront(draft, plan));
  return withComments(source, compose(draft, plan), 'access_keys');
}

/** Returns all changes in place: keys, rules, the inbound of the listener, and the outbound that is kept. */
function inPlace({ bytes, root }: Draft, parts: Parts, losses: Losses): readonly Splice[] {
  const users = parts.holders.flatMap(({ node, place }) => {
    const list = memberOf(node, 'users');
    return list?.kind === 'keys' ? renameKeys(bytes, list.list, `${place}.users`, ['key', 'access_key'], losses) : [];
  });
  const [listener] = parts.listeners;
  return [
    ...users,
    ...(listener === undefined ? [] : stripListener(bytes, listener, losses)),
    ...(parts.proxy === undefined ? [] : stripProxy(bytes, parts.proxy, losses)),
    ...(parts.proxy === undefined ? [] : changeRules(bytes, root, parts, losses)),
  ];
}

function stripListener(bytes: Buffer, { node, place }: PlacedObject, losses: Losses): readonly Splice[] {
  const taken = ['enabled', 'bind'];
  loseMembers(node, place, (name) => taken.includes(name), TAKEN, losses);
  // The protocol stays until the end, because it identifies this inbound.
  return removeItems(bytes, membersOf(node), indexesOf(node, ['tag', 'listen', 'port', ...taken]));
}

function stripProxy(bytes: Buffer, { node, place }: Outbound, losses: Losses): readonly Splice[] {
  const taken = ['enabled', 'address', 'default_action', 'rules'];
  loseMembers(node, place, (name) => taken.includes(name), TAKEN, losses);
  const server = node.members.find(({ name }) => name === 'server');
  return [
    ...(server === undefined ? [] : [splice(server.start, server.nameEnd, '"address"')]),
    ...removeItems(bytes, membersOf(node), indexesOf(node, ['tag', ...taken])),
  ];
}

/** Makes rules name an action instead of an outbound; those whose outbound does not exist are removed. */
function changeRules(bytes: Buffer, root: ObjectNode, parts: Parts, losses: Losses): readonly Splice[] {
  const rules = memberOf(memberOf(root, 'routing'), 'rules');
  if (rules?.kind !== 'array') return [];
  const gone: number[] = [];
  const splices = rules.elements.flatMap((rule, index) => {
    if (rule.kind !== 'object') return [];
    const place = `routing.rules[${index}]`;
    const target = targetOf(rule, parts);
    if (target === undefined) {
      losses.add(`${place}.outbound`, 'no outbound has this tag; the rule is left out');
      gone.push(index);
      return [];
    }
    if (target.action === 'proxy' && target !== parts.proxy) losses.add(`${place}.outbound`, otherProxy(parts.proxy));
    const taken = loseMembers(rule, place, (name) => name === 'action', TAKEN, losses);
    const renamed = rule.members.filter(({ name }) => name === 'outbound');
    return [
      ...renamed.flatMap(({ start, nameEnd, value }) => [
        splice(start, nameEnd, '"action"'),
        splice(value.start, value.end, JSON.stringify(target.action)),
      ]),
      ...removeItems(bytes, membersOf(rule), indexesOf(rule, taken)),
    ];
  });
  const sequence = {
    open: rules.start,
    close: rules.end - 1,
    starts: rules.elements.map(({ start }) => start),
    ends: rules.elements.map(({ end }) => end),
  };
  return [...splices, ...removeItems(bytes, sequence, gone)];
}

function targetOf(rule: ObjectNode, { outbounds }: Parts): Outbound | undefined {
  const tag = memberOf(rule, 'outbound');
  return outbounds.find((outbound) => outbound.tag !== null && tag?.kind === 'string' && outbound.tag === tag.value);
}

/** Inserts the members that enable the listener and the routing, and the address of the listener. */
function putInFront(draft: Draft, { bind }: Plan): readonly Splice[] {
  const { root, bytes } = draft;
  const style = rootStyle(draft);
  const parts = partsOf(root);
  const address = bind === null ? [] : [['bind', JSON.stringify(addressText(bind))] as const];
  const [listener] = parts.listeners;
  return [
    ...(listener === undefined
      ? []
      : insertMembers(bytes, listener.node, -1, [['enabled', 'true'], ...address], style)),
    ...(parts.proxy === undefined ? [] : insertMembers(bytes, parts.proxy.node, -1, [['enabled', 'true']], style)),
  ];
}

/** Moves the parts to their places in the other layout. */
function compose(draft: Draft, plan: Plan): Draft {
  const { root } = draft;
  const style = rootStyle(draft);
  const parts = partsOf(root);
  const separator = style.manyLines ? `,${style.eol}${style.indent}` : `,${style.gap}`;
  const outbound = parts.proxy === undefined ? null : outboundText(draft, parts.proxy, plan);
  const members = [
    ...(plan.listen === null ? [] : [memberText('listen', JSON.stringify(addressText(plan.listen)), style)]),
    ...keysText(draft, parts, style),
    ...parts.listeners.slice(0, 1).map(({ node }) => memberText('api', listenerText(draft, node), style)),
  ];
  const put = (name: string, texts: readonly string[]): readonly Splice[] => {
    const member = root.members.find((one) => one.name === name);
    if (member === undefined || texts.length === 0) return [];
    return [splice(member.start, member.value.end, texts.join(separator))];
  };
  const gone = [
    ...['access_keys', 'listen', 'api', 'outbound', 'routing'],
    ...(members.length === 0 ? ['inbounds'] : []),
    ...(outbound === null ? ['outbounds'] : []),
  ];
  return edited(draft, [
    ...put('inbounds', members),
    ...put('outbounds', outbound === null ? [] : [memberText('outbound', outbound, style)]),
    ...removeFromRoot(draft, gone),
  ]);
}

/** Joins the lists of all inbounds. */
function keysText(draft: Draft, { holders }: Parts, style: SequenceStyle): readonly string[] {
  const lists = holders.flatMap(({ node }) => {
    const users = memberOf(node, 'users');
    return users?.kind === 'keys' ? [users] : [];
  });
  if (lists.length === 0) return [];
  let text = '';
  lists.forEach((list, index) => {
    const isFollowed = lists.slice(index + 1).some((one) => one.list.starts.length > 0);
    text += innerText(draft, list, isFollowed, style);
  });
  return [memberText('access_keys', `[${text}]`, style)];
}

/** Returns the text between the brackets of a list, with a comma after its last element if others follow. */
function innerText(
  { bytes }: Draft,
  { list, start, end }: KeysNode,
  isFollowed: boolean,
  style: SequenceStyle,
): string {
  const last = list.ends.at(-1);
  if (last === undefined || !isFollowed) return movedText(bytes, { start, end }, style.indent).slice(1, -1);
  const text = Buffer.concat([bytes.subarray(0, last), Buffer.from(','), bytes.subarray(last)]);
  return movedText(text, { start, end: end + 1 }, style.indent).slice(1, -1);
}

function listenerText(draft: Draft, node: ObjectNode): string {
  const { bytes } = draft;
  const removals = removeItems(bytes, membersOf(node), indexesOf(node, ['protocol']));
  const stripped = edited(draft, removals);
  // Without its protocol it is found by its place.
  const inbounds = memberOf(stripped.root, 'inbounds');
  const value = inbounds?.kind === 'array' ? inbounds.elements.find(({ start }) => start === node.start) : undefined;
  return movedText(stripped.bytes, value ?? node, rootStyle(draft).indent);
}

function outboundText(draft: Draft, proxy: Outbound, { defaultAction }: Plan): string {
  const style = rootStyle(draft);
  const rules = memberOf(memberOf(draft.root, 'routing'), 'rules');
  // The whole object is moved afterwards.
  const manyLines = styleOf(draft.bytes, proxy.node, style).manyLines;
  const indent = lineIndent(draft.bytes, proxy.node.start) + (manyLines ? style.unit : '');
  const moved = rules?.kind === 'array' ? movedText(draft.bytes, rules, indent) : '[]';
  const members = [
    ...(defaultAction === null ? [] : [['default_action', JSON.stringify(defaultAction)] as const]),
    ['rules', moved] as const,
  ];
  const last = proxy.node.members.length - 1;
  const grown = edited(draft, insertMembers(draft.bytes, proxy.node, last, members, style));
  const value = partsOf(grown.root).proxy?.node ?? proxy.node;
  return movedText(grown.bytes, value, style.indent);
}
