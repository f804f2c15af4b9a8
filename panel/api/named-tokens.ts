import type { OwnInterface } from './own-interface.js';
import { fieldsOf, itemsOf } from './wire.js';

/** The presets of a token, from the one that may least. */
export const PRESETS = ['status', 'relay', 'create', 'keys', 'all'] as const;
export type Preset = (typeof PRESETS)[number];

/** A credential with a name. Times are milliseconds since the epoch. */
export interface NamedToken {
  readonly name: string;
  readonly may: Preset;
  readonly createdAt: number;
  /** Null for never. */
  readonly expiresAt: number | null;
  readonly madeBy: string;
  /** Its maker's words for people; null for none, and of an older Keyway. */
  readonly label: string | null;
}

export async function listTokens(own: OwnInterface): Promise<readonly NamedToken[]> {
  return itemsOf(await own.ask({ path: '/tokens' }), ({ members, text, time, oneOf, orNull }) => ({
    name: text('name'),
    may: oneOf('may', PRESETS),
    createdAt: time('created_at'),
    expiresAt: orNull('expires_at', time),
    madeBy: text('made_by'),
    label: typeof members.label === 'string' ? members.label : null,
  }));
}

/** Makes a token and resolves with its secret, which is told this once. */
export async function addToken(
  own: OwnInterface,
  { name, may, expiresAt }: Pick<NamedToken, 'name' | 'may' | 'expiresAt'>,
): Promise<string> {
  const body = { name, may, ...(expiresAt === null ? {} : { expires_at: new Date(expiresAt).toISOString() }) };
  return fieldsOf(await own.ask({ method: 'POST', path: '/tokens', body })).text('token');
}

export async function removeToken(own: OwnInterface, name: string): Promise<void> {
  await own.ask({ method: 'DELETE', path: `/tokens/${encodeURIComponent(name)}` });
}
