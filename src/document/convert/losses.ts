import type { ValueNode } from '../tree.js';

/** Something that has no place in the other layout. */
export interface Loss {
  readonly place: string;
  /** Why, and what happens to it if the file is converted anyway. */
  readonly text: string;
}

/** The reason for a member that would mean something else in the other layout. */
export const TAKEN = 'the other layout means something else by this member; it is left out';

/** The reason for something that is left out. */
export const NO_PLACE = 'it has no place in the other layout; it is left out';

/** Tags that a conversion assigns; those of the outbounds are the actions that they mean. */
export const TAGS = { keys: 'ostp-in', listener: 'api-in', proxy: 'proxy', direct: 'direct', block: 'block' } as const;

export type Losses = ReturnType<typeof createLosses>;

/** Collects the losses of a conversion. */
export function createLosses() {
  const losses: Loss[] = [];
  return {
    add(place: string, text: string): void {
      losses.push({ place, text });
    },
    list: (): readonly Loss[] => losses,
  };
}

/**
 * Records the members of an object that mean something else in the other layout or have no place there; returns their
 * names.
 */
export function loseMembers(
  node: ValueNode | undefined,
  place: string,
  isLost: (name: string) => boolean,
  text: string,
  losses: Losses,
): readonly string[] {
  if (node?.kind !== 'object') return [];
  const names = [...new Set(node.members.map(({ name }) => name).filter(isLost))];
  for (const name of names) losses.add(place === '' ? name : `${place}.${name}`, text);
  return names;
}
