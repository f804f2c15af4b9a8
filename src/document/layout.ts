import type { ListenerConfig, OutboundRule, OutboundSettings } from '../core/model.js';
import type { Warnings } from './reading.js';
import type { Rendered } from './style.js';
import type { ObjectNode, Shape, ValueNode } from './tree.js';

/** A file is JSON but not of the required form; the message names the place and what was expected. */
export class ConfigurationShapeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConfigurationShapeError';
  }
}

/** An object that has, or may get, a member with a list. */
export interface ListHolder {
  /** The list's place, such as `inbounds[0].users`. */
  readonly place: string;
  readonly owner: ObjectNode;
  readonly member: string;
  readonly value: ValueNode | undefined;
  /** True if its absence is worth a warning. */
  readonly needed: boolean;
}

/** The object whose member `rules` has the rules. */
export interface RulesHome {
  /** Its name in the root. */
  readonly name: 'outbound' | 'routing';
  /** Null if it has to be created. */
  readonly node: ObjectNode | null;
  /** The members that a new one requires in addition to rules. */
  readonly others: readonly (readonly [string, Rendered])[];
}

/** The names of the layouts, after the member that distinguishes them. */
export type LayoutName = 'access_keys' | 'inbounds';

/** The places of things in a file, with each rule of a layout in one place. */
export interface Layout {
  readonly name: LayoutName;
  /** The member of an element that holds the key. */
  readonly keyMember: string;
  /** True if a key without name and limit is written as a bare string. */
  readonly bareStrings: boolean;
  /** The root members that this layout reads. */
  readonly shapes: Readonly<Record<string, Shape>>;
  /** Lists every object that holds keys, in order. A new key goes to the first. */
  keyHolders(root: ObjectNode): readonly ListHolder[];
  /** The message if `keyHolders` is empty and a key is to be added. */
  readonly noHolder: string;
  readListener(root: ObjectNode, warnings: Warnings): ListenerConfig | null;
  /** Returns the object that describes the listener, or null. */
  listenerOf(root: ObjectNode): ObjectNode | null;
  /** The part that an operator has to add if it is missing. */
  readonly noListener: string;
  readListen(root: ObjectNode, warnings: Warnings): string | null;
  readOutbound(root: ObjectNode, warnings: Warnings): OutboundSettings | null;
  /** Reads a rule of the file; null, with a warning, for anything else. */
  readRule(root: ObjectNode, node: ValueNode, place: string, warnings: Warnings): OutboundRule | null;
  /** Throws `ConfigurationShapeError` if outbound routing is not configured. */
  rulesHome(root: ObjectNode): RulesHome;
  /** Throws `ConfigurationShapeError` if the file cannot express the rule. */
  renderRule(root: ObjectNode, rule: OutboundRule): ReadonlyMap<string, Rendered>;
}

/** Returns the members of a rule in a file; `target` is the member that decides about its connections. */
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
