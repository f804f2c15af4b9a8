/** Bytes of a text that PostgreSQL can index (a third of a page of a B-tree, less its own). */
const MOST_KEY_BYTES = 2_704;

/** Why a key with this name cannot be held, naming the member, or null. */
export function textProblem(accessKey: string, name: string | null): string | null {
  if (accessKey.includes('\0')) return 'access_key: expected a text without U+0000';
  if (Buffer.byteLength(accessKey) > MOST_KEY_BYTES) return `access_key: expected at most ${MOST_KEY_BYTES} bytes`;
  return name?.includes('\0') === true ? 'name: expected a text without U+0000' : null;
}
