import { ROOT_SHAPE, readDocument, readRoot } from './document.js';
import { putMember } from './edit.js';
import { ConfigurationShapeError } from './layout.js';
import { applySplices } from './splice.js';

/** The operator's credentials at the listener that a file describes. */
export interface Operator {
  /** Null leaves the one in the file. */
  readonly username: string | null;
  /** The hash in the form of a file. */
  readonly passwordHash: string;
}

/**
 * Returns the file with this operator and every other byte unchanged. Throws `ConfigurationShapeError` if it describes
 * no listener, or has no username and none is given, and as `readDocument` does.
 */
export function withOperator(bytes: Buffer, { username, passwordHash }: Operator): Buffer {
  const { document, configuration } = readDocument(bytes);
  const named = put(bytes, document.layout, 'password_hash', passwordHash);
  if (username !== null) return put(named, document.layout, 'username', username);
  if ((configuration.listener?.username ?? '') === '')
    throw new ConfigurationShapeError('the file has no username to sign in with: give it with --username');
  return named;
}

/** Returns the hash of the operator's password in the file; empty without one. Throws as `readDocument` does. */
export function passwordHashIn(bytes: Buffer): string {
  return readDocument(bytes).configuration.listener?.passwordHash ?? '';
}

function put(
  bytes: Buffer,
  layout: ReturnType<typeof readDocument>['document']['layout'],
  name: string,
  value: string,
): Buffer {
  const owner = layout.listenerOf(readRoot(bytes, ROOT_SHAPE));
  if (owner === null) throw new ConfigurationShapeError(layout.noListener);
  return applySplices(bytes, putMember(bytes, owner, name, value));
}
