import type { OutboundAction, OutboundRule } from '../core/model.js';
import { isPasswordHash } from '../core/password.js';
import { memberOf, type ObjectNode, type ValueNode } from './tree.js';

export type Warnings = ReturnType<typeof createWarnings>;

/** The most warnings that are kept, because a file can hold a million wrong elements. */
const MAX_WARNINGS = 100;

/** Collects a sentence for each ignored thing, its place first. Beyond `MAX_WARNINGS` it only counts. */
export function createWarnings() {
  const sentences: string[] = [];
  let more = 0;
  return {
    add(place: string, text: string): void {
      if (sentences.length < MAX_WARNINGS) sentences.push(`${place}: ${text}`);
      else more += 1;
    },
    list: (): readonly string[] => (more === 0 ? sentences : [...sentences, `${more} more warnings are not shown`]),
  };
}

/** Tells whether a value is absent; null counts as absent. */
export function isAbsent(node: ValueNode | undefined): node is undefined | (ValueNode & { readonly kind: 'null' }) {
  return node === undefined || node.kind === 'null';
}

/** Reads a string; a wrong value becomes the fallback, with a warning. */
export function readString<F extends string | null>(
  node: ValueNode | undefined,
  place: string,
  fallback: F,
  warnings: Warnings,
): string | F {
  if (isAbsent(node)) return fallback;
  if (node.kind === 'string') return node.value;
  warnings.add(place, 'expected a string; it is ignored');
  return fallback;
}

/**
 * Reads the hash of the operator's password, as `readString` does. A malformed one is kept, with a warning, although it
 * admits no login.
 */
export function readPasswordHash(node: ValueNode | undefined, place: string, warnings: Warnings): string {
  const kept = readString(node, place, '', warnings);
  if (kept !== '' && !isPasswordHash(kept))
    warnings.add(place, `malformed, so that no password is right; ${HASH_FORMS}`);
  return kept;
}

const HASH_FORMS =
  'expected a SHA-256 of 64 hexadecimal digits, or pbkdf2-sha256$<iterations>$<salt>$<hash> in hexadecimal digits';

/** Reads a boolean; see `readString`. */
export function readBoolean(
  node: ValueNode | undefined,
  place: string,
  fallback: boolean,
  warnings: Warnings,
): boolean {
  if (isAbsent(node)) return fallback;
  if (node.kind === 'boolean') return node.value;
  warnings.add(place, 'expected true or false; it is ignored');
  return fallback;
}

/** Reads a port, 0 to 65535; see `readString`. */
export function readPort<F extends number | null>(
  node: ValueNode | undefined,
  place: string,
  fallback: F,
  warnings: Warnings,
): number | F {
  if (isAbsent(node)) return fallback;
  if (node.kind === 'integer' && node.value >= 0n && node.value <= 65_535n) return Number(node.value);
  warnings.add(place, 'expected an integer from 0 to 65535; it is ignored');
  return fallback;
}

/** Reads an array of strings; elements of another kind are left out. */
export function readStrings(node: ValueNode | undefined, place: string, warnings: Warnings): readonly string[] {
  return readElements(node, place, warnings).flatMap((element, index) => {
    if (element.kind === 'string') return [element.value];
    warnings.add(`${place}[${index}]`, 'expected a string; it is ignored');
    return [];
  });
}

/** Returns the elements of an array; for anything else none, with a warning. */
export function readElements(node: ValueNode | undefined, place: string, warnings: Warnings): readonly ValueNode[] {
  if (isAbsent(node)) return [];
  if (node.kind === 'array') return node.elements;
  warnings.add(place, 'expected an array; it is ignored');
  return [];
}

/** Tells whether a value is an object; if not, warns unless it is absent. */
export function isObjectHere(
  node: ValueNode | undefined,
  place: string,
  warnings: Warnings,
): node is ValueNode & { readonly kind: 'object' } {
  if (isAbsent(node)) return false;
  if (node.kind === 'object') return true;
  warnings.add(place, 'expected an object; it is ignored');
  return false;
}

export function actionNamed(text: string | null): OutboundAction | null {
  return text === 'proxy' || text === 'direct' || text === 'block' ? text : null;
}

/**
 * Reads an outbound rule, whose layout reads the action. Returns null, with a warning, for a rule without an action and
 * for anything but an object.
 */
export function readRule(
  node: ValueNode,
  place: string,
  warnings: Warnings,
  readAction: (rule: ObjectNode, place: string, warnings: Warnings) => OutboundAction | null,
): OutboundRule | null {
  if (node.kind !== 'object') {
    warnings.add(place, 'expected an object; the rule is ignored');
    return null;
  }
  const action = readAction(node, place, warnings);
  if (action === null) return null;
  const sendFrom = readString(memberOf(node, 'send_from'), `${place}.send_from`, null, warnings);
  return {
    domainSuffix: readStrings(memberOf(node, 'domain_suffix'), `${place}.domain_suffix`, warnings),
    ipCidr: readStrings(memberOf(node, 'ip_cidr'), `${place}.ip_cidr`, warnings),
    protocol: readString(memberOf(node, 'protocol'), `${place}.protocol`, null, warnings),
    action,
    ...(sendFrom === null ? {} : { sendFrom }),
  };
}
