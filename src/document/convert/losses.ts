import type { ValueNode } from '../tree.js';

/** Something that has no place in the other layout. */
export interface Loss {
  readonly place: string;
  /** Why, and what becomes of it when the file is converted all the same. */
  readonly text: string;
}

/** Why a member cannot go where another meaning waits for it. */
export const TAKEN = 'the other layout means something else by this member; it is left out';

/** Why something is not taken along. */
export const NO_PLACE = 'it has no place in the other layout; it is left out';

/** Tags that a conversion gives; those of the outbounds are the actions that they stand for. */
export const TAGS = { keys: 'ostp-in', listener: 'api-in', proxy: 'proxy', direct: 'direct', block: 'block' } as const;

export type Losses = ReturnType<typeof createLosses>;

/** The losses found on the way to another layout. */
export function createLosses() {
  const losses: Loss[] = [];
  return {
    add(place: string, text: string): void {
      losses.push({ place, text });
    },
    list: (): readonly Loss[] => losses,
  };
}

/** Names the members of an object that the other layout has another meaning or no place for; answers their names. */
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
