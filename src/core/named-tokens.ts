import { hash } from 'node:crypto';
import { DomainError } from './errors.js';
import type { KeptRecords, RecordChange } from './kept-records.js';
import type { MaybeAsync } from './maybe-async.js';
import type { ClockPort, RandomPort } from './ports.js';
import { PRESETS, type Preset, type Principal } from './principal.js';

/** A named token without its secret. Times are milliseconds since the epoch. */
export interface NamedToken {
  readonly name: string;
  readonly may: Preset;
  readonly createdAt: number;
  /** When it expires; null for never. */
  readonly expiresAt: number | null;
  /** The name of the credential that made it. */
  readonly madeBy: string;
  /** Its maker's words for people, such as "Anna's phone"; null for none. */
  readonly label: string | null;
}

/** A request for a new token. */
export type AskedToken = Pick<NamedToken, 'name' | 'may' | 'expiresAt' | 'label'>;

export interface NamedTokensOptions {
  readonly records: KeptRecords;
  readonly clock: ClockPort;
  readonly random: RandomPort;
}

/** The prefix of every secret, by which one is recognized wherever it is found. */
const PREFIX = 'kw_';
const BEARER = `Bearer ${PREFIX}`;
const SECRET_BYTES = 32;
/** The form of a secret, which is 32 bytes as base64url. */
const SECRET = /^Bearer kw_[\w-]{43}$/;
/** Digits of a token's digest that tell it from one of the same name. */
const TOLD_APART = 16;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Names by which callers without a named token are recorded. */
const RESERVED_NAMES = ['static', 'session', 'terminal', 'open', 'others'];
/** A label is one line of at most 100 UTF-16 code units. */
const LABEL = /^[^\p{Cc}\p{Zl}\p{Zp}]{1,100}$/u;
const MADE_NAME_BYTES = 5;
const NAME_EXPECTED = `1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit, and none of ${RESERVED_NAMES.join(', ')}`;

/** A token with what a request needs of it. */
interface Known {
  readonly token: NamedToken;
  readonly digest: string;
  readonly principal: Principal;
}

/** The named tokens of a state. Their secrets are shown once, and kept as digests. */
export class NamedTokens {
  readonly #records: KeptRecords;
  readonly #clock: ClockPort;
  readonly #random: RandomPort;
  /** By the digest of the secret. */
  #known: ReadonlyMap<string, Known> = new Map();
  #byName: ReadonlyMap<string, Known> = new Map();

  constructor({ records, clock, random }: NamedTokensOptions) {
    this.#records = records;
    this.#clock = clock;
    this.#random = random;
    this.#read();
    records.onChange('tokens', () => this.#read());
  }

  /** False if tokens end with this process. */
  get outliveProcess(): boolean {
    return this.#records.outliveProcess;
  }

  /** Returns the tokens by their names, also those that have expired. */
  list(): readonly NamedToken[] {
    return [...this.#known.values()].map(({ token }) => token).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Tells whether an `Authorization` value shows what may be a named token, without a look at it. */
  isShown(authorization: string | undefined): authorization is string {
    return authorization?.startsWith(BEARER) === true;
  }

  /**
   * Returns the holder of the token that an `Authorization` value shows; null for one that is unknown or has expired.
   * Another gateway may have made an unknown one a moment ago: it is looked for. Rejects with `backendAway` where
   * nobody can tell.
   */
  principalShown(authorization: string): MaybeAsync<Principal | null> {
    if (!this.isShown(authorization)) return null;
    const digest = digestOf(authorization.slice(BEARER.length - PREFIX.length));
    const find = () => {
      const found = this.#known.get(digest);
      return found === undefined || this.hasExpired(found.token) ? null : found.principal;
    };
    const { lookUp } = this.#records;
    if (lookUp === undefined || this.#known.has(digest) || !SECRET.test(authorization)) return find();
    return lookUp().then(find);
  }

  /** Tells whether the token of a name is still that of a principal, and has not expired. */
  isHeld(name: string, token: string): boolean {
    const held = this.#byName.get(name);
    return held?.principal.token === token && !this.hasExpired(held.token);
  }

  hasExpired({ expiresAt }: Pick<NamedToken, 'expiresAt'>): boolean {
    return expiresAt !== null && expiresAt <= this.#clock.now();
  }

  /**
   * Makes a token and resolves to its secret; null if the name is taken. Rejects with `invalidBody` for a malformed
   * name, with `notPermitted` if it would be allowed more or live longer than its maker, and as a change of records
   * does.
   */
  async add({ name, may, expiresAt, label }: AskedToken, maker: Principal): Promise<string | null> {
    if (!NAME.test(name) || RESERVED_NAMES.includes(name))
      throw new DomainError('invalidBody', `name: expected ${NAME_EXPECTED}`);
    if (this.hasExpired({ expiresAt })) throw new DomainError('invalidBody', 'expires_at: expected a time to come');
    if (label !== null && !LABEL.test(label))
      throw new DomainError('invalidBody', 'label: expected one line of 1 to 100 characters, or null');
    this.#expectNoMore({ may, expiresAt }, maker);
    const present = this.#records.of('tokens').get(name) ?? null;
    const isTaken = present !== null && !this.list().some((token) => token.name === name && this.hasExpired(token));
    if (isTaken) return null;
    const secret = PREFIX + this.#random.bytes(SECRET_BYTES).toString('base64url');
    const token = { name, may, expiresAt, label, createdAt: this.#clock.now(), madeBy: maker.name };
    const change = { kind: 'tokens', id: name, body: bodyOf(token, digestOf(secret)), expected: present } as const;
    return (await this.#records.change([change])) ? secret : null;
  }

  /** Returns a name that no token has. */
  freeName(): string {
    const name = `token-${this.#random.bytes(MADE_NAME_BYTES).toString('hex')}`;
    return this.#records.of('tokens').has(name) ? this.freeName() : name;
  }

  /** Removes a token; resolves to whether it existed. Rejects as a change of records does. */
  async remove(name: string): Promise<boolean> {
    if (!this.#records.of('tokens').has(name)) return false;
    return this.#records.change([{ kind: 'tokens', id: name, body: null }]);
  }

  #expectNoMore({ may, expiresAt }: Pick<NamedToken, 'may' | 'expiresAt'>, maker: Principal): void {
    if (maker.may !== 'all' && maker.may !== may)
      throw new DomainError('notPermitted', 'a token makes none that may more than itself');
    const own = this.list().find(({ name }) => name === maker.name)?.expiresAt ?? null;
    if (own !== null && (expiresAt === null || expiresAt > own))
      throw new DomainError(
        'notPermitted',
        `expires_at: expected ${new Date(own).toISOString()} at the latest, when its maker ends`,
      );
  }

  /** Refreshes the holders; one whose token is unchanged stays the same object. */
  #read(): void {
    const next = new Map<string, Known>();
    for (const [name, body] of this.#records.of('tokens')) {
      const read = readToken(name, body);
      if (read === null) continue;
      const { token, digest } = read;
      const before = this.#known.get(digest);
      const principal = before?.token.may === token.may && before.token.name === name ? before.principal : null;
      next.set(digest, {
        token,
        digest,
        principal: principal ?? { name, may: token.may, token: digest.slice(0, TOLD_APART) },
      });
    }
    this.#known = next;
    this.#byName = new Map([...next.values()].map((known) => [known.token.name, known]));
  }
}

export const tokenTaken = (name: string): string => `there is a token ${name} already: remove it, or take another name`;
export const noToken = (name: string): string => `there is no token ${name}`;

const digestOf = (secret: string): string => hash('sha256', secret);

function bodyOf({ may, createdAt, expiresAt, madeBy, label }: NamedToken, digest: string): string {
  const labelled = label === null ? {} : { label };
  return JSON.stringify({ digest, may, created_at: createdAt, expires_at: expiresAt, made_by: madeBy, ...labelled });
}

/**
 * Returns the records that a state's named tokens need in another place: the tokens that have not expired, and who made keys for one.
 */
export function recordsOfTokens(records: Pick<KeptRecords, 'of'>, now: number): readonly RecordChange[] {
  const tokens = [...records.of('tokens')].filter(([name, body]) => {
    const expiresAt = readToken(name, body)?.token.expiresAt ?? null;
    return expiresAt === null || expiresAt > now;
  });
  const makers = new Set(tokens.map(([name]) => JSON.stringify(name)));
  return [
    ...tokens.map(([id, body]) => ({ kind: 'tokens', id, body }) as const),
    ...[...records.of('makers')].flatMap(([id, body]) =>
      makers.has(body) ? [{ kind: 'makers', id, body } as const] : [],
    ),
  ];
}

/** Reads a token; null if it has presets that this version does not know. */
function readToken(name: string, body: string): { readonly token: NamedToken; readonly digest: string } | null {
  const { digest, may, created_at, expires_at, made_by, label }: Readonly<Record<string, unknown>> = Object(
    JSON.parse(body),
  );
  const preset = PRESETS.find((each) => each === may);
  if (typeof digest !== 'string' || preset === undefined) return null;
  const token = {
    ...{ name, may: preset, createdAt: Number(created_at), madeBy: String(made_by) },
    expiresAt: expires_at === null ? null : Number(expires_at),
    label: typeof label === 'string' ? label : null,
  };
  return { token, digest };
}
