import { type Address, hostText } from '../address.js';
import { membersOf } from '../element.js';
import { actionNamed, isAbsent } from '../reading.js';
import { removeItems } from '../sequence.js';
import { type Splice, splice } from '../splice.js';
import { memberOf, type ObjectNode, type ValueNode } from '../tree.js';
import { type Plan, planOf } from './access-keys-plan.js';
import { renameKeys } from './keys.js';
import { type Losses, loseMembers, TAGS, TAKEN } from './losses.js';
import {
  type Draft,
  draftOf,
  edited,
  indentAt,
  indexesOf,
  insertMembers,
  itemsText,
  memberText,
  movedText,
  refuseRepeated,
  removeFromRoot,
  rootStyle,
  withComments,
} from './text.js';

/**
 * Converts a file with a root `access_keys` to the layout with inbounds. Parts without a place there are recorded in
 * `losses` and left out. Keys stay in their order, with their comments and unknown members.
 */
export function toInbounds(source: Buffer, losses: Losses): Buffer {
  const first = draftOf(source);
  refuseRepeated(first.root, '');
  refuseRepeated(memberOf(first.root, 'api'), 'api');
  refuseRepeated(memberOf(first.root, 'outbound'), 'outbound');
  const plan = planOf(first.root, losses);
  let draft = edited(first, inPlace(first, plan, losses));
  if (plan.hasApi) draft = edited(draft, prefixApi(draft, plan.bind));
  if (plan.hasOutbound) draft = edited(draft, tagOutbound(draft));
  return withComments(source, compose(draft, plan), 'inbounds');
}

/** Returns all changes of parts that stay in place: keys, rules, and the members of `api` and `outbound`. */
function inPlace(draft: Draft, plan: Plan, losses: Losses): readonly Splice[] {
  const { bytes, root } = draft;
  const keys = memberOf(root, 'access_keys');
  const api = memberOf(root, 'api');
  const outbound = memberOf(root, 'outbound');
  return [
    ...(keys?.kind === 'keys' ? renameKeys(bytes, keys.list, 'access_keys', ['access_key', 'key'], losses) : []),
    ...(plan.hasApi && api?.kind === 'object' ? stripApi(bytes, api, losses) : []),
    ...(plan.hasOutbound && outbound?.kind === 'object' ? changeOutbound(draft, outbound, losses) : []),
  ];
}

function stripApi(bytes: Buffer, api: ObjectNode, losses: Losses): readonly Splice[] {
  const taken = ['protocol', 'tag', 'listen', 'port'];
  loseMembers(api, 'api', (name) => taken.includes(name), TAKEN, losses);
  return removeItems(bytes, membersOf(api), indexesOf(api, ['enabled', 'bind', ...taken]));
}

/** `rules` and `default_action` stay, because they are read once more. */
function changeOutbound(draft: Draft, outbound: ObjectNode, losses: Losses): readonly Splice[] {
  const { bytes } = draft;
  const taken = ['tag', 'server'];
  loseMembers(outbound, 'outbound', (name) => taken.includes(name), TAKEN, losses);
  const protocol = memberOf(outbound, 'protocol');
  if (protocol?.kind !== 'string' || protocol.value !== 'socks5') {
    const text = 'only with "socks5" is routing configured in the other layout; it stays, and the API shows no rules';
    losses.add('outbound.protocol', text);
  }
  const address = outbound.members.find(({ name }) => name === 'address');
  const renamed = address === undefined ? [] : [splice(address.start, address.nameEnd, '"server"')];
  const rules = memberOf(outbound, 'rules');
  const removed = removeItems(bytes, membersOf(outbound), indexesOf(outbound, [...taken, 'enabled']));
  return [...renamed, ...removed, ...changeRules(draft, rules, losses)];
}

function changeRules(draft: Draft, rules: ValueNode | undefined, losses: Losses): readonly Splice[] {
  if (isAbsent(rules)) return [];
  if (rules.kind !== 'array') {
    losses.add('outbound.rules', 'it is no array; it is left out');
    return [];
  }
  return rules.elements.flatMap((rule, index) => {
    if (rule.kind !== 'object') return [];
    const place = `outbound.rules[${index}]`;
    const taken = loseMembers(rule, place, (name) => name === 'outbound', TAKEN, losses);
    return [
      ...nameOutbound(draft, rule, taken.length > 0),
      ...removeItems(draft.bytes, membersOf(rule), indexesOf(rule, taken)),
    ];
  });
}

/**
 * Gives a rule the outbound's name. Servers proxy by a rule without an action; in the other layout each rule names an
 * outbound.
 */
function nameOutbound(draft: Draft, rule: ObjectNode, hasTaken: boolean): readonly Splice[] {
  const actions = rule.members.filter(({ name }) => name === 'action');
  if (actions.length === 0 && !hasTaken)
    return insertMembers(
      draft.bytes,
      rule,
      rule.members.length - 1,
      [['outbound', JSON.stringify(TAGS.proxy)]],
      rootStyle(draft),
    );
  return actions.flatMap(({ start, nameEnd, value }) => {
    const isNamed = value.kind === 'string' && actionNamed(value.value) !== null;
    const named = isNamed ? [] : [splice(value.start, value.end, JSON.stringify(TAGS.proxy))];
    return [splice(start, nameEnd, '"outbound"'), ...named];
  });
}

/** Inserts the first members of the listener's inbound. */
function prefixApi(draft: Draft, bind: Address | null): readonly Splice[] {
  const api = memberOf(draft.root, 'api');
  if (api?.kind !== 'object') return [];
  const members: readonly (readonly [string, string])[] = [
    ['protocol', '"api"'],
    ['tag', JSON.stringify(TAGS.listener)],
    ...(bind === null ? [] : [['listen', JSON.stringify(bind.host)] as const, ['port', String(bind.port)] as const]),
  ];
  return insertMembers(draft.bytes, api, -1, members, rootStyle(draft));
}

/** Inserts the tag of the outbound that rules refer to. */
function tagOutbound(draft: Draft): readonly Splice[] {
  const outbound = memberOf(draft.root, 'outbound');
  if (outbound?.kind !== 'object') return [];
  const after = outbound.members.findIndex(({ name }) => name === 'protocol');
  return insertMembers(draft.bytes, outbound, after, [['tag', JSON.stringify(TAGS.proxy)]], rootStyle(draft));
}

/** Moves the parts to their places in the other layout. */
function compose(draft: Draft, plan: Plan): Draft {
  const { root } = draft;
  const routing = plan.hasOutbound ? routingText(draft, plan) : null;
  const style = rootStyle(draft);
  const inbounds = inboundsText(draft, plan);
  const put = (name: string, text: string | null): readonly Splice[] => {
    const member = root.members.find((one) => one.name === name);
    return member === undefined || text === null ? [] : [splice(member.start, member.value.end, text)];
  };
  const gone = [
    ...['listen', 'api', 'inbounds', 'outbounds', 'routing'],
    ...(plan.hasKeys ? [] : ['access_keys']),
    ...(plan.hasOutbound ? [] : ['outbound']),
  ];
  const composed = edited(draft, [
    ...put('access_keys', plan.hasKeys ? memberText('inbounds', inbounds, style) : null),
    ...put('outbound', routing),
    ...removeFromRoot(draft, gone),
  ]);
  const last = composed.root.members.length - 1;
  // No server of this layout starts without outbounds.
  return appended(composed, plan.hasKeys ? (indexesOf(composed.root, ['inbounds'])[0] ?? last) : last, [
    ...(plan.hasKeys ? [] : ([['inbounds', inbounds]] as const)),
    ...(plan.hasOutbound ? [] : ([['outbounds', '[]']] as const)),
  ]);
}

function appended(draft: Draft, after: number, members: readonly (readonly [string, string])[]): Draft {
  if (members.length === 0) return draft;
  return edited(draft, insertMembers(draft.bytes, draft.root, after, members, rootStyle(draft)));
}

function inboundsText(draft: Draft, { listen, hasApi }: Plan): string {
  const { bytes, root } = draft;
  const style = rootStyle(draft);
  const keys = memberOf(root, 'access_keys');
  const api = memberOf(root, 'api');
  const users = keys?.kind === 'keys' ? movedText(bytes, keys, indentAt(style, 2)) : '[]';
  const members = [
    memberText('protocol', '"ostp"', style),
    memberText('tag', JSON.stringify(TAGS.keys), style),
    ...(listen === null ? [] : [memberText('listen', JSON.stringify(hostText(listen)), style)]),
    ...(listen === null ? [] : [memberText('port', String(listen.port), style)]),
    memberText('users', users, style),
  ];
  const listener = hasApi && api !== undefined ? [movedText(bytes, api, indentAt(style, 1))] : [];
  const inbounds = [itemsText('{}', members, style, 1), ...listener];
  return itemsText('[]', inbounds, style, 0);
}

function routingText(draft: Draft, { defaultAction }: Plan): string {
  const { bytes, root } = draft;
  const style = rootStyle(draft);
  const outbound = memberOf(root, 'outbound');
  if (outbound?.kind !== 'object') return '';
  const rules = memberOf(outbound, 'rules');
  const rulesText = rules?.kind === 'array' ? movedText(bytes, rules, indentAt(style, 1)) : '[]';
  const without = removeItems(bytes, membersOf(outbound), indexesOf(outbound, ['rules', 'default_action']));
  const plain = (tag: string) => {
    const members = [memberText('protocol', JSON.stringify(tag), style), memberText('tag', JSON.stringify(tag), style)];
    return itemsText('{}', members, style, 1);
  };
  const outbounds = [strippedText(draft, outbound, without), plain(TAGS.direct), plain(TAGS.block)];
  const routing = [
    memberText('rules', rulesText, style),
    // No server of this layout starts without one.
    memberText('default_outbound', JSON.stringify(defaultAction ?? 'direct'), style),
  ];
  return [
    memberText('outbounds', itemsText('[]', outbounds, style, 0), style),
    memberText('routing', itemsText('{}', routing, style, 0), style),
  ].join(style.manyLines ? `,${style.eol}${style.indent}` : `,${style.gap}`);
}

/** Returns an object without some of its members, one level deeper. */
function strippedText(draft: Draft, node: ObjectNode, removals: readonly Splice[]): string {
  const stripped = edited(draft, removals);
  const value = memberOf(stripped.root, 'outbound') ?? node;
  return movedText(stripped.bytes, value, indentAt(rootStyle(draft), 1));
}
