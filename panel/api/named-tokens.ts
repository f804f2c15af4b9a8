import type { OwnInterface } from './own-interface.js';
import { garbled, listOf, objectOf, readText, readTime } from './wire.js';

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
}

export async function listTokens(own: OwnInterface): Promise<readonly NamedToken[]> {
  return listOf(await own.ask({ method: 'GET', path: '/tokens' }), 'data').map((item, index) => {
    const place = `data[${index}]`;
    const { name, may, created_at, expires_at, made_by } = objectOf(item, place);
    return {
      name: readText(name, `${place}.name`),
      may: PRESETS.find((preset) => preset === may) ?? garbled(`${place}.may`),
      createdAt: readTime(created_at, `${place}.created_at`),
      expiresAt: expires_at === null ? null : readTime(expires_at, `${place}.expires_at`),
      madeBy: readText(made_by, `${place}.made_by`),
    };
  });
}

/** Makes a token and resolves with its secret, which is told this once. */
export async function addToken(
  own: OwnInterface,
  { name, may, expiresAt }: Pick<NamedToken, 'name' | 'may' | 'expiresAt'>,
): Promise<string> {
  const body = { name, may, ...(expiresAt === null ? {} : { expires_at: new Date(expiresAt).toISOString() }) };
  const data = objectOf(await own.ask({ method: 'POST', path: '/tokens', body }), 'data');
  return readText(data.token, 'data.token');
}

export async function removeToken(own: OwnInterface, name: string): Promise<void> {
  await own.ask({ method: 'DELETE', path: `/tokens/${encodeURIComponent(name)}` });
}
