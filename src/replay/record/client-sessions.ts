/** What assigns an exchange to a client's session. */
export interface SessionMarks {
  readonly client: string;
  readonly authorization: string | null;
  /** The token of a login that succeeded. */
  readonly newToken: string | null;
  readonly wasRefused: boolean;
}

interface Session {
  readonly id: number;
  /** Whether a credential of its own was accepted. */
  hasCredential: boolean;
}

/**
 * Tells client sessions apart: a session is a credential with all that the same client did without one. A new credential of
 * a client that has one already begins another session, unless it was refused or a login of the session gave it.
 */
export function createClientSessions(): (marks: SessionMarks) => number {
  const byCredential = new Map<string, Session>();
  const byClient = new Map<string, Session>();
  let count = 0;

  function fresh(): Session {
    count += 1;
    return { id: count, hasCredential: false };
  }

  function sessionFor({ client, authorization, wasRefused }: SessionMarks): Session {
    const known = authorization === null ? undefined : byCredential.get(authorization);
    if (known !== undefined) return known;
    const present = byClient.get(client) ?? fresh();
    if (authorization === null || wasRefused) return present;
    const session = present.hasCredential ? fresh() : present;
    session.hasCredential = true;
    byCredential.set(authorization, session);
    return session;
  }

  return (marks) => {
    const session = sessionFor(marks);
    byClient.set(marks.client, session);
    if (marks.newToken !== null) {
      session.hasCredential = true;
      byCredential.set(`Bearer ${marks.newToken}`, session);
    }
    return session.id;
  };
}
