import type { ListenerConfig, OutboundRule, OutboundSettings } from '../core/model.js';
import type { Warnings } from './reading.js';
import type { Rendered } from './style.js';
import type { ObjectNode, Shape, ValueNode } from './tree.js';

/** A file that is JSON but cannot be what it must be; the message names the place and what was expected. */
export class ConfigurationShapeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConfigurationShapeError';
  }
}

/** An object that has, or may get, a member with a list in it. */
export interface ListHolder {
  /** The list's place, such as `inbounds[0].users`. */
  readonly place: string;
  readonly owner: ObjectNode;
  readonly member: string;
  readonly value: ValueNode | undefined;
  /** Its absence is worth a warning. */
  readonly needed: boolean;
}

/** The place of the list of rules, or the member to make on the way when its owner is missing. */
export type RulesHome =
  | ListHolder
  | {
      readonly missing: ListHolder;
      readonly member: string;
      /** Further members that the owner must have. */
      readonly others: ReadonlyMap<string, Rendered>;
    };

/** The names of the layouts, after the member that tells them apart. */
export type LayoutName = 'access_keys' | 'inbounds';

/** The places of things in a file: each rule of a layout in one place. */
export interface Layout {
  readonly name: LayoutName;
  /** The member of an element that holds the key. */
  readonly keyMember: string;
  /** A key without name and limit is written as a bare string. */
  readonly bareStrings: boolean;
  /** The root members that this layout looks at. */
  readonly shapes: Readonly<Record<string, Shape>>;
  /** Every object that holds keys, in order. A new key goes to the first. */
  keyHolders(root: ObjectNode): readonly ListHolder[];
  /** The meaning of an empty `keyHolders` to somebody who wants to add a key. */
  readonly noHolder: string;
  readListener(root: ObjectNode, warnings: Warnings): ListenerConfig | null;
  /** The object that describes the listener; null where there is none. */
  listenerOf(root: ObjectNode): ObjectNode | null;
  /** The part that an operator has to add where there is none. */
  readonly noListener: string;
  readListen(root: ObjectNode, warnings: Warnings): string | null;
  readOutbound(root: ObjectNode, warnings: Warnings): OutboundSettings | null;
  /** A rule of the file, or null (with a warning) for what is none. */
  readRule(root: ObjectNode, node: ValueNode, place: string, warnings: Warnings): OutboundRule | null;
  /** Throws `ConfigurationShapeError` when outbound routing is not configured. */
  rulesHome(root: ObjectNode): RulesHome;
  /** Throws `ConfigurationShapeError` when the file cannot express the rule. */
  renderRule(root: ObjectNode, rule: OutboundRule): ReadonlyMap<string, Rendered>;
}

/** The members of a rule in a file; `target` is the one that says what happens to its connections. */
export function ruleMembers(
  { domainSuffix, ipCidr, protocol, sendFrom }: OutboundRule,
  target: readonly [string, Rendered],
): ReadonlyMap<string, Rendered> {
  return new Map<string, Rendered>([
    ['domain_suffix', domainSuffix],
    ['ip_cidr', ipCidr],
    ['protocol', protocol],
    target,
    ...(sendFrom === undefined ? [] : [['send_from', sendFrom] as const]),
  ]);
}
