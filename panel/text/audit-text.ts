/** The text of an audit entry, as this page, another one or Keyway has written it. */
export interface AuditText {
  readonly text: string;
  /** A kind of credential, or the name of one; null where nobody was noted. */
  readonly by: string | null;
  /** Milliseconds since the epoch; null where the entry has a time of day alone. */
  readonly at: number | null;
}

/** A kind of credential as an entry names it: servers note nobody by themselves. */
type CredentialKind = 'session' | 'static' | 'token' | 'open';

/** The end of a text that this page writes: by what kind of credential, and when. */
export function signature(kind: CredentialKind, time: number): string {
  return ` · ${kind} · ${new Date(time).toISOString().slice(0, 19)}Z`;
}

const SIGNATURE = / · (session|static|token|open) · (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/;

/** An entry of Keyway's own, about a batch, a token or the address for clients, with its caller. */
const CALLED =
  /^(Batch|Пакет) \S+ \(([\w.-]+)\)(.*)$|^((?:Token|Токен|Clients' address|Адрес) .*?)(?: by|:) ([\w.-]+)$/;

export function readAuditText(whole: string): AuditText {
  const [signed, kind, time] = SIGNATURE.exec(whole) ?? [];
  if (signed !== undefined && kind !== undefined && time !== undefined)
    return { text: whole.slice(0, -signed.length), by: kind, at: Date.parse(time) };
  const [, batch, maker, rest, text = whole, by] = CALLED.exec(whole) ?? [];
  return { text: batch === undefined ? text : batch + rest, by: maker ?? by ?? null, at: null };
}
