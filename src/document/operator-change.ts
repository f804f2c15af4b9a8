import { ROOT_SHAPE, readDocument, readRoot } from './document.js';
import { ConfigurationShapeError } from './layout.js';
import { putMember } from './section-changes.js';
import { applySplices } from './splice.js';

/** The credentials of the operator at the listener that a file describes. */
export interface Operator {
  /** Null leaves the one that the file has. */
  readonly username: string | null;
  /** The hash in the form that a file holds. */
  readonly passwordHash: string;
}

/**
 * The file with this operator, every byte that it need not touch as it was. Throws `ConfigurationShapeError` when it describes
 * no listener, or no username where none is given, and as `readDocument` does.
 */
export function withOperator(bytes: Buffer, { username, passwordHash }: Operator): Buffer {
  const { document, configuration } = readDocument(bytes);
  const named = put(bytes, document.layout, 'password_hash', passwordHash);
  if (username !== null) return put(named, document.layout, 'username', username);
  if ((configuration.listener?.username ?? '') === '')
    throw new ConfigurationShapeError('the file has no username to sign in with: give it with --username');
  return named;
}

/** The hash that the file has for its operator; empty where there is none. Throws as `readDocument` does. */
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
